package conformance

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// startWorkerd runs the gateway's test bundle and the control Worker in workerd and returns the URL.
func startWorkerd(t *testing.T, env map[string]string) string {
	for _, needed := range []string{"../build/core-panic.wasm", "../build/control/app.wasm"} {
		if _, err := os.Stat(needed); err != nil {
			t.Fatalf("%s is not built: run ./build.sh and ./build.sh panic", needed)
		}
	}
	args := []string{"../worker/gateway/test/serve.mjs"}
	for name, value := range env {
		args = append(args, name+"="+value)
	}
	command := exec.Command("node", args...)
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // it runs until its input ends
		_ = command.Wait()
	})
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadString('\n')
		if url, ok := strings.CutPrefix(strings.TrimSpace(line), "ready "); ok {
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return url
		}
		if err != nil {
			t.Fatalf("workerd did not start: %v", err)
		}
	}
}

func TestWorkerd(t *testing.T) {
	upstream := NewUpstream()
	defer upstream.Close()
	url := startWorkerd(t, deployment(upstream))
	runAll(t, &Runner{URL: url, Client: http.DefaultClient, Upstream: upstream, Workerd: true})
}
