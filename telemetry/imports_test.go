package telemetry_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// TestOnlyTelemetryImportsTheLibraries checks that only package telemetry imports the libraries for metrics and
// traces. All other code uses host.Observer.
func TestOnlyTelemetryImportsTheLibraries(t *testing.T) {
	const self = "github.com/postern-ai/postern/telemetry"
	command := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	command.Dir = ".."
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, path := range p.Imports {
			if !strings.HasPrefix(path, "go.opentelemetry.io/") && !strings.HasPrefix(path, "github.com/prometheus/") {
				continue
			}
			if found = found || p.ImportPath == self; p.ImportPath != self {
				t.Errorf("%s imports %s", p.ImportPath, path)
			}
		}
	}
	if !found {
		t.Error("the test does not see the imports of package telemetry")
	}
}
