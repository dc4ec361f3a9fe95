package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// TestFilesAreCurrent checks that the generated files match the schema.
func TestFilesAreCurrent(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, schemaFile))
	if err != nil {
		t.Fatal(err)
	}
	files, err := generate(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not generated from %s; run make generate", name, schemaFile)
		}
	}
}

const valid = `
// Version of it.
version 1

call step(In) Out

# A heading is no comment.

// Kind is a kind.
enum Kind {
	KindOne = 1: Name, Data in place
	KindTwo = 2 // without fields
}

// In goes to the core.
message In to core {
	Tail bytes apart
}

// Out has one Item.
message Out to host {
	Item Item
}

// Item is of a Kind, such as KindOne with a Name.
struct Item {
	Kind Kind
	by Kind
	Name text
	Data bytes // any
}
`

// TestGenerate checks the parts of a codec on both sides.
func TestGenerate(t *testing.T) {
	files, err := generate(valid)
	if err != nil {
		t.Fatal(err)
	}
	for name, parts := range map[string][]string{
		"core/abi/constants_gen.go": {"// Version of it.\nconst Version = 1", "KindTwo Kind = 2 // without fields", `CallStep = "step"`},
		"core/abi/messages_gen.go": {
			"// In goes to the core.\ntype In struct {", "Data []byte // any", "case KindOne:\n\t\tm.Name = r.String()\n\t\tm.Data = r.Bytes()",
			"case KindTwo:\n\tdefault:\n\t\tr.fail()",
		},
		"worker/gateway/src/abi.ts": {
			"export const KIND_ONE = 1", "such as KIND_ONE with a name.", "w.uint(m.tail.length)", "a.name = r.text()\n    a.data = r.view()", "[KIND_TWO]: () => undefined",
		},
	} {
		for _, part := range parts {
			if !strings.Contains(string(files[name]), part) {
				t.Errorf("%s does not contain %q:\n%s", name, part, files[name])
			}
		}
	}
}

// TestSchemaErrors checks that an invalid schema is rejected with the reason.
func TestSchemaErrors(t *testing.T) {
	for name, c := range map[string]struct{ old, replacement, want string }{
		"keyword":            {"enum Kind", "enumeration Kind", `line 10: unknown keyword "enumeration"`},
		"version":            {"version 1", "version one", "line 3"},
		"call":               {"step(In) Out", "step In Out", "line 5: a call is NAME(MESSAGE) MESSAGE"},
		"call with a struct": {"step(In) Out", "step(In) Item", "call step: its messages"},
		"call the wrong way": {"step(In) Out", "step(Out) In", "call step: its messages"},
		"constant":           {"KindOne = 1: Name", "KindOne 1: Name", "line 11: a constant is NAME = VALUE"},
		"unfinished list":    {"KindTwo = 2 // without fields\n}", "KindTwo = 2", "a constant is NAME = VALUE"},
		"unfinished record":  {"Data bytes // any\n}", "Data bytes", "the file ends in a record"},
		"direction":          {"message In to core", "message In", "all but a struct have a direction"},
		"brace":              {"struct Item {", "struct Item", "a declaration ends with {"},
		"field without type": {"Name text", "Name", "a field is NAME TYPE"},
		"unknown type":       {"Name text", "Name string", "Item: Name has the unknown type string"},
		"unknown modifier":   {"bytes apart", "bytes far away", `unknown word "far"`},
		"lone modifier":      {"bytes apart", "bytes if", `unknown word "if"`},
		"unknown condition":  {"Name text", "Name text if Kinds", "Name depends on Kinds"},
		"later condition":    {"Name text", "Name text if Data", "Name depends on Data"},
		"unknown kind field": {"Name, Data", "Names, Data", "KindOne has the unknown field Names"},
		"constant twice":     {"KindTwo", "KindOne", "KindOne is declared twice"},
		"record twice":       {"message Out", "message In", "In is declared twice"},
		"kinds of no enum":   {"Kind Kind\n", "Kind text\n", "Kind is not an enum"},
		"list of no struct":  {"Item Item", "Item []text", "unknown type []text"},
	} {
		_, err := generate(strings.Replace(valid, c.old, c.replacement, 1))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, want one with %q", name, err, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string][2]string{
		"ID": {"id", "ID"}, "URL": {"url", "URL"}, "NowMs": {"nowMs", "NOW_MS"}, "KVCacheSeconds": {"kvCacheSeconds", "KV_CACHE_SECONDS"},
		"RequestIDPrefix": {"requestIdPrefix", "REQUEST_ID_PREFIX"}, "OutcomeOK": {"outcomeOk", "OUTCOME_OK"}, "Key": {"key", "KEY"},
	} {
		if got := [2]string{camel(name), capitals(name)}; got != want {
			t.Errorf("%s is %s in TypeScript, want %s", name, got, want)
		}
	}
}

func TestRun(t *testing.T) {
	if err := run(nil); err == nil || !strings.HasPrefix(err.Error(), "usage:") {
		t.Errorf("without a root: %v", err)
	}
	if err := run([]string{t.TempDir()}); !os.IsNotExist(err) {
		t.Errorf("without a schema: %v", err)
	}
}
