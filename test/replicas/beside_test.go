package replicas

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/postern-ai/postern/test/pgtest"
)

// beforeGroups is the last commit without groups.
const beforeGroups = "6cf6c310"

// buildEarlier builds the program of an earlier commit. It skips the test if the clone does not have the commit.
func buildEarlier(t *testing.T, commit string) string {
	t.Helper()
	archive := exec.Command("git", "archive", commit)
	archive.Dir = "../.."
	packed, err := archive.Output()
	if err != nil {
		t.Skipf("this clone does not have the commit %s: %v", commit, err)
	}
	source := t.TempDir()
	if err := unpack(packed, source); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "postern")
	build := exec.Command("go", "build", "-o", binary, "./cmd/postern")
	build.Dir = source
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return binary
}

func unpack(packed []byte, folder string) error {
	files := tar.NewReader(bytes.NewReader(packed))
	for {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(folder, filepath.FromSlash(file.Name))
		switch file.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o700)
		case tar.TypeReg:
			var data []byte
			if data, err = io.ReadAll(files); err == nil {
				err = os.WriteFile(path, data, 0o600)
			}
		}
		if err != nil {
			return err
		}
	}
}

// serveEarlier starts the earlier program on the deployment's database and waits until it listens.
func (d *deployment) serveEarlier(binary string) (url string) {
	d.Helper()
	catalog, err := os.ReadFile("../../testdata/conformance/overlay.json")
	if err != nil {
		d.Fatal(err)
	}
	address := freeAddress(d.T)
	process := exec.Command(binary, "serve")
	process.Env = []string{
		"POSTERN_LISTEN=" + address, "POSTERN_OPS_LISTEN=off", "POSTERN_DATA=" + d.TempDir(), "POSTERN_ENGINE=native",
		"POSTERN_DATABASE=" + pgtest.URLAt(d.postgres.Address(), d.database) + pgtest.WithClock, "POSTERN_ADMIN_TOKEN=" + adminToken, "POSTERN_CATALOG=" + string(catalog),
		"OPENAI_BASE_URL=" + d.upstream.URL + "/v1", "OPENAI_API_KEY=sk-upstream",
	}
	var said bytes.Buffer
	process.Stdout, process.Stderr = &said, &said
	if err := process.Start(); err != nil {
		d.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = process.Wait(); close(ended) }()
	d.Cleanup(func() {
		_ = process.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(patience):
			_ = process.Process.Kill()
		}
		if d.Failed() {
			d.Log(said.String())
		}
	})
	d.eventually("the earlier version listens", func() error {
		select {
		case <-ended:
			d.Fatalf("the earlier version has ended: %s", said.String())
		default:
		}
		got, err := d.client.Get("http://" + address + "/")
		if err == nil {
			_ = got.Body.Close()
		}
		return err
	})
	return "http://" + address
}

// TestBesideEarlierVersion runs a server of the last version without groups beside two of this version on one database
// without groups. Changes and requests alternate between them. Limits and budgets are as exact as with one version.
func TestBesideEarlierVersion(t *testing.T) {
	binary := buildEarlier(t, beforeGroups)
	s := pgtest.Start(t)
	d := deploy(t, s, newDatabase(t, s), s.Address(), longTimeout)
	d.urls = append(d.urls, d.serveEarlier(binary))
	project, key, reader := d.keysBeside()
	const perDay = 30
	admitted := 0
	for range 2 * perDay {
		if got := d.complete(key, false); got.status == http.StatusOK {
			admitted++
		} else if got.status != http.StatusTooManyRequests {
			t.Fatalf("got %s", got)
		}
	}
	if admitted != perDay {
		t.Errorf("%d requests were admitted, want %d", admitted, perDay)
	}
	// Every server reports the same spend: one cost for each request.
	d.eventually("all servers show the spend", func() error {
		var used []string
		for _, url := range d.urls {
			used = append(used, d.sendTo(url, "GET", "/api/usage?projectId="+project, "X-Api-Key", reader, "").get("budget.used").Raw)
		}
		if used[0] != used[1] || used[0] != used[2] || used[0] == "0" || used[0] == "" { // the keys report a few seconds later
			return fmt.Errorf("used %q", used)
		}
		return nil
	})
	d.spendsBeside()
}

// keysBeside creates a project and two keys with alternating servers.
func (d *deployment) keysBeside() (project, limited, reader string) {
	d.Helper()
	project = d.newProject("main")
	keys := "projects/" + project + "/keys"
	limited = d.mustAdmin("POST", keys, `{"name":"limited","limits":{"requestsPerSecond":null,"requestsPerDay":30,"tokensPerMinute":null}}`).get("value").Str
	reader = d.mustAdmin("POST", keys, `{"name":"reader","kind":"project"}`).get("value").Str
	return project, limited, reader
}

// spendsBeside spends a budget with all servers. After each change of the budget on one server, the others have it.
func (d *deployment) spendsBeside() {
	d.Helper()
	project := d.newProject("budgeted")
	key := d.mustAdmin("POST", "projects/"+project+"/keys", `{"name":"spends"}`).get("value").Str
	for round, url := range d.urls {
		set := func(budget string) {
			got := d.sendTo(url, "PATCH", "/api/admin/projects/"+project, "Authorization", "Bearer "+adminToken, `{"budget":`+budget+`}`)
			if got.status != http.StatusOK {
				d.Fatalf("round %d: %s", round, got)
			}
		}
		set("0")
		for range d.urls {
			if got := d.complete(key, false); got.status != http.StatusPaymentRequired {
				d.Errorf("round %d without a budget: %s", round, got)
			}
		}
		set("100")
		for range d.urls {
			if got := d.complete(key, false); got.status != http.StatusOK {
				d.Errorf("round %d with a budget: %s", round, got)
			}
		}
	}
}
