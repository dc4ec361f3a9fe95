package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/postern-ai/postern/store/sqlite"
	"github.com/postern-ai/postern/test/faultvfs"
)

func (r *running) status(method, path, body string) int {
	r.t.Helper()
	request, _ := http.NewRequest(method, r.url+path, strings.NewReader(body))
	request.Header = http.Header{"Authorization": {"Bearer " + testToken}, "Content-Type": {"application/json"}}
	response, err := r.client.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// TestFullDisk: while the disk is full, every read through the admin API succeeds, even if some usage has not been
// reported yet. Changes and model requests get a 503. They succeed once there is space again.
func TestFullDisk(t *testing.T) {
	disk := faultvfs.New(t.TempDir(), 1)
	opened, err := sqlite.Open(t.Context(), sqlite.Config{Dir: "/data", VFS: disk.Name})
	if err != nil {
		t.Fatal(err)
	}
	p := newProvider(t)
	close(p.more)
	c := testConfig(p)
	c.Test.Store = opened
	r := start(t, c, nil)
	complete := func() int {
		response, err := r.client.Do(r.request(true, "hello"))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode
	}
	if got := complete(); got != 200 {
		t.Fatalf("a request gets %d", got)
	}
	disk.SetFault(func(op faultvfs.Op, _ string) error {
		if op == faultvfs.Write {
			return faultvfs.ErrNoSpace
		}
		return nil
	})
	project := "/api/admin/projects/" + r.project
	create := func() int { return r.status("POST", "/api/admin/projects", `{"name":"Next","plan":"free"}`) }
	if got := [2]int{complete(), create()}; got != [2]int{503, 503} {
		t.Errorf("on a full disk, a request and a new project get %v", got)
	}
	for _, path := range []string{
		"/api/admin/projects", project, project + "/keys", project + "/usage", project + "/requests", project + "/violations", project + "/routes",
		project + "/models-registry", project + "/governor", project + "/provider-keys", "/api/admin/audit", "/api/admin/catalog", "/api/admin/session",
	} {
		if got := r.status("GET", path, ""); got != 200 {
			t.Errorf("on a full disk, GET %s gets %d", path, got)
		}
	}
	disk.SetFault(nil)
	eventually(t, "working again", func() bool { return create() == 201 })
	if got := complete(); got != 200 {
		t.Errorf("with space again, a request gets %d", got)
	}
}
