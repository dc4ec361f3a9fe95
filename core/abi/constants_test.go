package abi

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const constantsFile = "../../testdata/abi/constants.json"

// constants returns this package's exported constants by name, as the compiler sees them.
func constants(t *testing.T) map[string]any {
	t.Helper()
	set := token.NewFileSet()
	var files []*ast.File
	names, _ := filepath.Glob("*.go")
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	config := types.Config{Error: func(error) {}} // imports cannot be resolved, but constants do not need them
	checked, _ := config.Check("abi", set, files, nil)
	all := map[string]any{}
	for _, name := range checked.Scope().Names() {
		if c, ok := checked.Scope().Lookup(name).(*types.Const); ok && c.Exported() {
			all[name] = constant.Val(c.Val())
		}
	}
	return all
}

// TestConstantsFile: testdata/abi/constants.json contains all exported constants. The Workers host is tested against
// it.
func TestConstantsFile(t *testing.T) {
	want, err := json.MarshalIndent(constants(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *rewrite {
		if err := os.WriteFile(constantsFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(constantsFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("testdata/abi/constants.json is not what wire.schema says; if the change is meant, run make generate")
	}
}

// TestEveryConstantIsCompared: the generated values of some known constants match the values with which this package
// is compiled.
func TestEveryConstantIsCompared(t *testing.T) {
	all := constants(t)
	for name, want := range map[string]any{
		"Version": int64(Version), "FaultClosing": int64(FaultClosing), "OutcomeJoined": int64(OutcomeJoined), "FlightAlone": int64(FlightAlone),
		"ClassDirectory": int64(ClassDirectory), "ActionResume": int64(ActionResume), "EventFlight": int64(EventFlight), "CallStep": CallStep,
		"MemoryCeilingBytes": int64(MemoryCeilingBytes), "OutboxEnd": OutboxEnd, "PostTimeoutMs": int64(PostTimeoutMs),
	} {
		if all[name] != want {
			t.Errorf("%s is %v in the file, but %v in this package", name, all[name], want)
		}
	}
}
