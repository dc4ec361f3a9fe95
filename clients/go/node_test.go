package postern

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
)

// StartNode starts one of the repository's servers for tests. When the server is ready, it prints a JSON line, which
// StartNode reads. The server ends with the test.
func StartNode(t testing.TB, ready any, script string, variables ...string) {
	command := exec.Command("node", "../../test/clients/"+script)
	command.Env = append(os.Environ(), variables...)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		input.Close() // ends the server
		if err := command.Wait(); err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, ready) != nil {
		t.Fatalf("%s printed %q: %v", script, line, err)
	}
}
