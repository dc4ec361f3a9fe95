package fault

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the files that are derived from the table")

const generate = "make generate"

// derived checks or writes a file that is derived from the table.
func derived(t *testing.T, path string, want []byte) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs from the error table (%v): run %s", path, err, generate)
	}
}

// The words for the columns in the derived files.
var (
	places  = []string{Everywhere: "everywhere", OnGateway: "gateway", OnAdmin: "admin", InLog: "log"}
	retries = []string{NotRetried: "no", Retried: "yes", Permanent: "never"}
	origins = []string{ByCaller: "caller", ByProvider: "provider", ByGateway: "gateway"}
)

// TestGeneratedJSON: testdata/faults.json is for the tests of the dashboard and the client libraries.
func TestGeneratedJSON(t *testing.T) {
	type entry struct {
		Code   string `json:"code"`
		Status uint64 `json:"status"`
		Text   string `json:"text"`
		Place  string `json:"place"`
		Retry  string `json:"retry"`
		Origin string `json:"origin"`
	}
	var out bytes.Buffer
	out.WriteString("[\n")
	for i, f := range All() {
		line, err := json.Marshal(entry{f.Code(), f.Status(), f.Text(), places[f.Place()], retries[f.Retry()], origins[f.Origin()]})
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			out.WriteString(",\n")
		}
		fmt.Fprintf(&out, "  %s", line)
	}
	out.WriteString("\n]\n")
	derived(t, "../../testdata/faults.json", out.Bytes())
}

// TestGeneratedRemedies: the dashboard's pages about requests show what can be done about each of the gateway's
// errors.
func TestGeneratedRemedies(t *testing.T) {
	var out bytes.Buffer
	out.WriteString("{")
	seen := map[string]bool{}
	for _, f := range All() {
		if f.Place() == OnAdmin || seen[f.Code()] {
			continue
		}
		if len(seen) > 0 {
			out.WriteByte(',')
		}
		seen[f.Code()] = true
		fmt.Fprintf(&out, "\n  %q: %q", f.Code(), f.Remedy())
	}
	out.WriteString("\n}\n")
	derived(t, "../../control/web/src/remedies.json", out.Bytes())
}
