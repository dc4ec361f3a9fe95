package postern_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	postern "github.com/postern-ai/postern/clients/go"
)

// program is a module of its own, as an outside user would create it.
type program struct{ folder string }

// newProgram builds a program in a folder that contains only the package.
func newProgram(t *testing.T, code string) program {
	p := program{t.TempDir()}
	packClient(t, p.folder)
	write(t, filepath.Join(p.folder, "hello/main.go"), code)
	p.folder = filepath.Join(p.folder, "hello")
	shell(t, p.folder, nil, `go mod init example.com/hello
		go mod edit -replace github.com/postern-ai/postern/clients/go=../clients/go
		go mod tidy
		go vet .
		go build -o hello .`)
	return p
}

func (p program) run(url, key string, args ...string) (string, bool) {
	command := exec.Command("./hello", args...)
	command.Dir = p.folder
	command.Env = []string{"POSTERN_BASE_URL=" + url, "POSTERN_API_KEY=" + key}
	output, err := command.CombinedOutput()
	return string(output), err == nil
}

// packClient copies the package's files, without its tests, to clients/go in a folder.
func packClient(t *testing.T, folder string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "go.mod") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, "clients/go", file), string(text))
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// shell runs commands in a folder and returns their output. The commands cannot download anything.
func shell(t *testing.T, folder string, variables []string, commands string) string {
	t.Helper()
	command := exec.Command("sh", "-ec", commands)
	command.Dir = folder
	command.Env = append(append(os.Environ(), "GOPROXY=off", "GOFLAGS=", "GOWORK=off"), variables...)
	var output, errors strings.Builder
	command.Stdout, command.Stderr = &output, &errors
	if err := command.Run(); err != nil {
		t.Fatalf("%s\n%v\n%s%s", commands, err, output.String(), errors.String())
	}
	return output.String()
}

// receiverProgram serves the documentation's webhook handler. It prints its address first.
const receiverProgram = `package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"

	postern "github.com/postern-ai/postern/clients/go"
)

%BLOCK%

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("http://" + listener.Addr().String())
	log.Fatal(http.Serve(listener, http.HandlerFunc(receive)))
}
`

func newReceiver(t *testing.T, b block) program {
	return newProgram(t, strings.Replace(receiverProgram, "%BLOCK%", b.code, 1))
}

func runReceiver(t *testing.T, p program) {
	secret := postern.SecretOf('a')
	command := exec.Command("./hello")
	command.Dir = p.folder
	command.Env = []string{"POSTERN_WEBHOOK_SECRET=" + secret}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(output)
	address, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	deliver(t, strings.TrimSpace(address), secret)
	_ = command.Process.Kill()
	printed, _ := io.ReadAll(lines)
	_ = command.Wait() // it was killed
	if string(printed) != "evt_1: 80% of the $10 budget is used\n" {
		t.Errorf("printed %q", printed)
	}
}

// deliver sends an event twice: once signed with the right secret, and once with another secret.
func deliver(t *testing.T, address, secret string) {
	t.Helper()
	const body = `{"type":"budget.threshold","id":"evt_1","data":{"thresholdPercent":80,"budget":{"limit":10,"used":8.5}}}`
	for sender, want := range map[string]int{secret: http.StatusNoContent, postern.SecretOf('b'): http.StatusUnauthorized} {
		request, err := http.NewRequest(http.MethodPost, address, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header = postern.Signed(body, sender)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("status %d, want %d", response.StatusCode, want)
		}
	}
}
