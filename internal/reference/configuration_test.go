package reference_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/server/settings"
)

// configured are the folders whose programs read variables.
var configured = []string{"core", "control", "compliance", "server", "telemetry", "cmd", "internal", "worker", "clients", "tools/dev"}

var (
	variable = regexp.MustCompile(`(?:['"]|env\.)((?:POSTERN|OTEL)_[A-Z]+(?:_[A-Z]+)*)\b`)
	binding  = regexp.MustCompile(`(?m)^(?:binding|name) = "([A-Z_]+)"$|^# binding = "([A-Z_]+)"$`)
	section  = regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\| (gateway|control|both) \\|")
)

// TestVariablesOfThePrograms checks that configuration.md has every variable that the source names.
func TestVariablesOfThePrograms(t *testing.T) {
	page, checked := pages(t)["configuration.md"], 0
	for _, folder := range configured {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && slices.Contains([]string{"testdata", "test", "tests", "node_modules", "dist"}, entry.Name()):
				return filepath.SkipDir
			case entry.IsDir(), strings.HasSuffix(path, "_test.go"), !slices.Contains([]string{".go", ".ts", ".mjs", ".py"}, filepath.Ext(path)):
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, found := range variable.FindAllStringSubmatch(string(text), -1) {
				if checked++; !strings.Contains(page, "`"+found[1]+"`") {
					t.Errorf("%s: configuration.md lacks %s", path, found[1])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked < 100 {
		t.Errorf("found only %d variables", checked)
	}
}

// TestVariablesOfProviders checks that configuration.md has every variable that the catalog names.
func TestVariablesOfProviders(t *testing.T) {
	names := settings.ProviderVariables("")
	for _, name := range names {
		if !strings.Contains(pages(t)["configuration.md"], "`"+name+"`") {
			t.Errorf("configuration.md lacks %s", name)
		}
	}
	if len(names) < 40 {
		t.Errorf("the catalog has only %d variables", len(names))
	}
}

// TestWorkers checks that configuration.md has the bindings of each Worker and the variables that the control Worker
// reads.
func TestWorkers(t *testing.T) {
	got := map[string]string{}
	for _, found := range section.FindAllStringSubmatch(pages(t)["configuration.md"], -1) {
		got[found[1]] = found[2]
	}
	for worker, file := range map[string]string{"gateway": "wrangler.toml", "control": "worker/control/wrangler.toml"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		all := binding.FindAllStringSubmatch(string(text), -1)
		for _, found := range all {
			if name := found[1] + found[2]; got[name] != worker && got[name] != "both" {
				t.Errorf("configuration.md has %s for the Worker %q, and %s for %s", name, got[name], file, worker)
			}
		}
		if len(all) < 5 {
			t.Errorf("%s has only %d bindings", file, len(all))
		}
	}
	program, err := os.ReadFile(filepath.Join(root, "worker/control/main.go"))
	if err != nil {
		t.Fatal(err)
	}
	read := regexp.MustCompile(`(?:variable|Getenv)\((?:control|config|compliance)\.Env(\w+)\)`).FindAllString(string(program), -1)
	ofControl := 0
	for name, worker := range got {
		if strings.HasPrefix(name, "POSTERN_") && worker != "gateway" {
			ofControl++
		}
	}
	slices.Sort(read)
	if read = slices.Compact(read); len(read) != ofControl {
		t.Errorf("the control Worker reads %d variables (%q), and configuration.md has %d", len(read), read, ofControl)
	}
}
