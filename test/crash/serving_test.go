package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/test/fakeprovider"
)

// serving is a server process with an operations listener.
type serving struct {
	*testing.T
	upstream *fakeprovider.Server
	address  string
	ops      string
	data     string
	process  *exec.Cmd
	ended    chan struct{}
	err      error // result of the process; valid after ended is closed
}

// launch starts a server. Before it runs, change edits the command.
func launch(t *testing.T, change func(*serving)) *serving {
	t.Helper()
	binary, problem := build()
	catalog, err := os.ReadFile("../../testdata/conformance/overlay.json")
	if err = errors.Join(problem, err); err != nil {
		t.Fatal(err)
	}
	s := &serving{T: t, upstream: fakeprovider.New(), address: freeAddress(t), ops: freeAddress(t), data: filepath.Join(t.TempDir(), "data"), ended: make(chan struct{})}
	t.Cleanup(s.upstream.Close)
	output := &output{}
	s.process = exec.Command(binary, "serve")
	s.process.Stdout, s.process.Stderr = output, output
	s.process.Env = []string{
		"PATH=/nonexistent", "POSTERN_DATA=" + s.data, "POSTERN_LISTEN=" + s.address, "POSTERN_OPS_LISTEN=" + s.ops, "POSTERN_ADMIN_TOKEN=" + adminToken,
		"POSTERN_CATALOG=" + string(catalog), "OPENAI_BASE_URL=" + s.upstream.URL + "/v1", "OPENAI_API_KEY=sk-upstream",
	}
	if change != nil {
		change(s)
	}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s.err = s.process.Wait()
		close(s.ended)
	}()
	t.Cleanup(func() {
		_ = s.process.Process.Kill()
		<-s.ended
		if t.Failed() {
			t.Logf("the server's output:\n%s", output)
		}
	})
	return s
}

func (s *serving) set(variables ...string) { s.process.Env = append(s.process.Env, variables...) }

// until waits until the check succeeds. If the server ends first, the test fails.
func (s *serving) until(what string, check func() error) {
	s.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-s.ended:
			s.Fatalf("%s: the server has ended: %v", what, s.err)
		default:
		}
		if time.Now().After(end) {
			s.Fatalf("%s: %v", what, err)
		}
	}
}

func (s *serving) end() error {
	s.Helper()
	select {
	case <-s.ended:
		return s.err
	case <-time.After(patience):
		s.Fatal("the server does not end")
		return nil
	}
}

func (s *serving) get(url string, header ...string) (int, string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return 0, "", err
	}
	for pair := range slices.Chunk(header, 2) {
		request.Header.Set(pair[0], pair[1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

func (s *serving) answers() {
	s.Helper()
	s.until("the server answers", func() error {
		_, _, err := s.get("http://" + s.address + "/")
		return err
	})
}

// metric returns the value of a metric without labels.
func (s *serving) metric(name string) (string, error) {
	_, body, err := s.get("http://" + s.ops + "/metrics")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(body) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("no metric %s", name)
}

var errNotYet = errors.New("not yet")
