package core_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/postern-ai/postern/"

// allowedImports are the packages outside core that the core may import. None of them does I/O or reads the time.
// None fills package variables lazily, because the arena's reset would leave those variables dangling.
var allowedImports = []string{
	"bytes", "cmp", "crypto/sha256", "errors", "math", "math/bits", "slices", "sort", "strconv", "strings", "unicode", "unicode/utf8",
	"github.com/tidwall/gjson",
}

// forbiddenImports must not be imported by the core, even if they are added to allowedImports.
var forbiddenImports = []string{"context", "encoding/json", "fmt", "net", "net/http", "os", "regexp", "sync", "syscall", "time"}

type goPackage struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
	GoFiles      []string
	Standard     bool
	Error        *struct{ Err string }
}

// largeImports must not be linked into core.wasm, even through a package that the core imports, because they would
// make it a tenth larger.
var largeImports = []string{"encoding/json", "fmt", "net/url", "reflect", "regexp", "text/template"}

// listPackages runs `go list -deps -json`. With the tag tinygo, the result includes core/wasm.
func listPackages(t *testing.T, patterns ...string) []goPackage {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-e", "-deps", "-tags", "tinygo", "-json=ImportPath,Imports,TestImports,XTestImports,GoFiles,Standard,Error"}, patterns...)...)
	command.Dir = ".."
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
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

// isInside reports whether a package is in one of the module's folders or below it.
func isInside(path, folder string) bool {
	path, ours := strings.CutPrefix(path, module)
	return ours && (path == folder || strings.HasPrefix(path, folder+"/"))
}

func TestCoreImports(t *testing.T) {
	checked := 0
	for _, p := range listPackages(t, "./core/...") {
		folder := strings.TrimPrefix(p.ImportPath, module)
		if folder == "core/catalog" {
			continue
		}
		checked++
		for _, path := range p.Imports {
			switch {
			case folder == "core/wasm" && path == "unsafe":
			case isInside(path, "core/catalog"), isInside(path, "core/wasm"):
				t.Errorf("%s imports %s", folder, path)
			case isInside(path, "core"), slices.Contains(allowedImports, path):
			default:
				t.Errorf("%s imports %s, which is not in allowedImports", folder, path)
			}
			if slices.Contains(forbiddenImports, path) {
				t.Errorf("%s imports %s", folder, path)
			}
		}
	}
	if checked < 15 {
		t.Errorf("found only %d packages", checked)
	}
}

// TestWasmMainImports: package wasm imports only the core and its codec. It is the only package with unsafe and
// exports.
func TestWasmMainImports(t *testing.T) {
	for _, p := range listPackages(t, "./core/wasm") {
		if p.ImportPath != module+"core/wasm" {
			continue
		}
		want := []string{module + "core", module + "core/abi", "unsafe"}
		if slices.Sort(p.Imports); !slices.Equal(p.Imports, want) || len(p.GoFiles) == 0 {
			t.Errorf("core/wasm imports %q, want %q", p.Imports, want)
		}
		return
	}
	t.Error("core/wasm is missing")
}

func TestLargeImports(t *testing.T) {
	workspace, err := filepath.Abs("../tools/core.work")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command("go", "list", "-deps", "-tags", "tinygo", "./wasm")
	command.Env = append(os.Environ(), "GOWORK="+workspace, "GOOS=js", "GOARCH=wasm")
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, "github.com/tidwall/gjson") {
		t.Fatalf("core.wasm does not link gjson, only %q", linked)
	}
	for _, path := range largeImports {
		if slices.Contains(linked, path) {
			t.Errorf("core.wasm links %s; go list -deps -json says which package imports it", path)
		}
	}
}

func TestPlanesDoNotImportEachOther(t *testing.T) {
	for _, p := range listPackages(t, "./...") {
		for _, path := range p.Imports {
			switch {
			case isInside(path, "conformance") && !isInside(p.ImportPath, "conformance"):
				t.Errorf("%s imports %s, which is for tests only", p.ImportPath, path)
			case isInside(path, "test") && !isInside(p.ImportPath, "test") && !isInside(p.ImportPath, "conformance"):
				t.Errorf("%s imports %s, which is for tests only", p.ImportPath, path)
			case isInside(p.ImportPath, "host") && isInside(path, "control"), isInside(p.ImportPath, "control") && isInside(path, "host"):
				t.Errorf("%s imports %s", p.ImportPath, path)
			case path == "unsafe" && !isInside(p.ImportPath, "core/wasm") && !isInside(p.ImportPath, "bench/governor"):
				t.Errorf("%s imports unsafe", p.ImportPath)
			}
		}
	}
}
