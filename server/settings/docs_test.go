package settings_test

import (
	"os"
	"strings"
	"testing"

	"github.com/postern-ai/postern/server/settings"
)

// TestDocs compares the table of docs/operate/selfhosting.md with the variables.
func TestDocs(t *testing.T) {
	const name, head = "../../docs/operate/selfhosting.md", "| Variable | Key in the file | Default | Description |\n|---|---|---|---|\n"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, after, found := strings.Cut(string(text), head)
	got, rest, ended := strings.Cut(after, "\n\n")
	if !found || !ended {
		t.Fatal("the table is missing")
	}
	rows := []string{}
	for _, v := range settings.Variables() {
		form := "Must be " + v.Form + "."
		if v.Secret {
			form += " Secret."
		}
		rows = append(rows, "| `"+v.Name+"` | `"+v.Key+"` | "+orNone(v.Default)+" | "+v.Help+" "+form+" |")
	}
	want := strings.Join(rows, "\n")
	if *rewrite {
		if err := os.WriteFile(name, []byte(before+head+want+"\n\n"+rest), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != want {
		t.Errorf("the table differs: run make generate\n%s", want)
	}
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return "`" + text + "`"
}
