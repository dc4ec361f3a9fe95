package conformance

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// workerInputs are the folders and files that Node reads for the Workers. By accessing them, the test tells the go
// command that its result depends on them.
var workerInputs = []string{
	"../build/core-panic.wasm", "../build/control/app.wasm", "../core/catalog/catalog.bin", "../node_modules/.package-lock.json",
	"../worker/gateway", "../worker/gateway/src", "../worker/gateway/test", "../worker/control", "../build/control/assets",
}

// bundleWorker builds the gateway's test bundle once, before several servers start at the same time.
var bundleWorker = sync.OnceValue(func() error {
	for _, needed := range workerInputs {
		if info, err := os.Stat(needed); err != nil {
			return fmt.Errorf("%w: run ./build.sh and ./build.sh panic", err)
		} else if info.IsDir() {
			if _, err := os.ReadDir(needed); err != nil {
				return err
			}
		}
	}
	if out, err := exec.Command("node", "../worker/gateway/test/serve.mjs", "--bundle").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
})

// startWorkerd runs the gateway's test bundle and the control Worker in workerd, with options for serve.mjs, and
// returns the URL.
func startWorkerd(t *testing.T, env map[string]string, options ...string) string {
	if err := bundleWorker(); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"../worker/gateway/test/serve.mjs"}, options...)
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

// newWorkerd starts the gateway in workerd.
func newWorkerd(t *testing.T, upstream *Upstream) *Runner {
	t.Helper()
	return &Runner{URL: startWorkerd(t, deployment(upstream)), Client: newClient(), Upstream: upstream, Workerd: true}
}

func TestWorkerd(t *testing.T) { runAll(t, newWorkerd) }
