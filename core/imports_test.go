package core_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/postern-ai/postern/"

// allowed is what the core may import besides its own folders: nothing that fills package variables lazily,
// for the arena's reset would leave those dangling, and nothing that does I/O or keeps time.
var allowed = []string{
	"bytes", "crypto/sha256", "errors", "math", "math/bits", "slices", "sort", "strconv", "strings", "unicode", "unicode/utf8",
	"github.com/tidwall/gjson",
}

// forbidden is what must not be reached by the core's own imports, whatever becomes of the list above.
var forbidden = []string{"context", "encoding/json", "fmt", "net", "net/http", "os", "regexp", "sync", "syscall", "time"}

type goPackage struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
	GoFiles      []string
	Standard     bool
	Error        *struct{ Err string }
}

// list is `go list -deps -json` of some packages. With the tag tinygo, core/wasm is among them.
func list(t *testing.T, patterns ...string) []goPackage {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-e", "-deps", "-tags", "tinygo", "-json=ImportPath,Imports,TestImports,XTestImports,GoFiles,Standard,Error"}, patterns...)...)
	command.Dir = ".."
	var complaints bytes.Buffer
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, complaints.Bytes())
	}
	var all []goPackage
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(p.ImportPath, module) {
			if p.Error != nil {
				t.Fatalf("%s: %s", p.ImportPath, p.Error.Err)
			}
			all = append(all, p)
		}
	}
}

// inside says whether a package is in a folder of the module or below it.
func inside(path, folder string) bool {
	path, ours := strings.CutPrefix(path, module)
	return ours && (path == folder || strings.HasPrefix(path, folder+"/"))
}

func TestCoreImports(t *testing.T) {
	checked := 0
	for _, p := range list(t, "./core/...") {
		own := strings.TrimPrefix(p.ImportPath, module)
		if own == "core/catalog" {
			continue
		}
		checked++
		for _, path := range p.Imports {
			switch {
			case own == "core/wasm" && path == "unsafe":
			case inside(path, "core/catalog"), inside(path, "core/wasm"):
				t.Errorf("%s imports %s", own, path)
			case inside(path, "core"), slices.Contains(allowed, path):
			default:
				t.Errorf("%s imports %s, which is not on the list", own, path)
			}
			if slices.Contains(forbidden, path) {
				t.Errorf("%s imports %s", own, path)
			}
		}
	}
	if checked < 15 {
		t.Errorf("only %d packages were found", checked)
	}
}

// TestWasmMainIsThin: the one package with unsafe and exports reaches for nothing but the core and its codec.
func TestWasmMainIsThin(t *testing.T) {
	for _, p := range list(t, "./core/wasm") {
		if p.ImportPath != module+"core/wasm" {
			continue
		}
		want := []string{module + "core", module + "core/abi", "unsafe"}
		if slices.Sort(p.Imports); !slices.Equal(p.Imports, want) || len(p.GoFiles) == 0 {
			t.Errorf("core/wasm imports %q, want %q", p.Imports, want)
		}
		return
	}
	t.Error("core/wasm was not found")
}

func TestPlanesDoNotMix(t *testing.T) {
	for _, p := range list(t, "./...") {
		for _, path := range p.Imports {
			switch {
			case inside(path, "conformance") && !inside(p.ImportPath, "conformance"):
				t.Errorf("%s imports %s: only tests may", p.ImportPath, path)
			case inside(p.ImportPath, "host") && inside(path, "control"), inside(p.ImportPath, "control") && inside(path, "host"):
				t.Errorf("%s imports %s", p.ImportPath, path)
			case path == "unsafe" && !inside(p.ImportPath, "core/wasm"):
				t.Errorf("%s imports unsafe", p.ImportPath)
			}
		}
	}
}
