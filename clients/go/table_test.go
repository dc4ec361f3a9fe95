package postern

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	tableFolder = "../../testdata/clients"
	tableKey    = "sk_test_tableOfBehaviors0123456789"
)

// tableCase is a case in the table of behaviors. testdata/clients/README.md describes it.
type tableCase struct {
	Name   string            `json:"name"`
	Why    string            `json:"why"`
	Not    []string          `json:"not"`
	NotWhy string            `json:"notWhy"`
	Env    map[string]string `json:"env"`
	Client map[string]any    `json:"client"`
	Calls  []tableCall       `json:"calls"`
	Server json.RawMessage   `json:"server"`
	Expect expectation       `json:"expect"`
}

type tableCall struct {
	Method  string            `json:"method"`
	Args    []json.RawMessage `json:"args"`
	Options map[string]any    `json:"options"`
	Abort   any               `json:"abort"`
	Read    *int              `json:"read"`
	Collect string            `json:"collect"`
}

type expectation struct {
	Construct       map[string]any   `json:"construct"`
	Requests        []map[string]any `json:"requests"`
	SameHeader      []string         `json:"sameHeader"`
	DifferentHeader []string         `json:"differentHeader"`
	Pauses          [][2]float64     `json:"pauses"`
	Results         []map[string]any `json:"results"`
	Logs            []any            `json:"logs"`
	Hooks           []any            `json:"hooks"`
	Absent          []string         `json:"absent"`
}

func readTable(t *testing.T) []tableCase {
	files, err := filepath.Glob(tableFolder + "/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s: %v", tableFolder, err)
	}
	var all []tableCase
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var cases []tableCase
		if err := json.Unmarshal(text, &cases); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, c := range cases {
			if !strings.HasPrefix(c.Name, strings.TrimSuffix(filepath.Base(file), ".json")+"/") {
				t.Errorf("%s: the name %s does not start with the file's", file, c.Name)
			}
		}
		all = append(all, cases...)
	}
	return all
}

// TestTable runs the behaviors that the client libraries share.
func TestTable(t *testing.T) {
	server := startScriptedServer(t)
	for i, c := range readTable(t) {
		t.Run(c.Name, func(t *testing.T) {
			if slices.Contains(c.Not, "go") {
				if c.NotWhy == "" {
					t.Error("not for Go, without a reason")
				}
				t.Skip(c.NotWhy)
			}
			runCase(t, server, server.script(t, i, c.Server), c)
		})
	}
}

func runCase(t *testing.T, server *scriptedServer, id string, c tableCase) {
	url := server.url + "/c/" + id
	c = filledCase(t, c, url)
	r := newRun(t, server, id, c)
	client, err := r.client(url)
	if construct, fails := c.Expect.Construct["error"]; fails {
		r.compare("the constructor's error", construct, wireError(err))
		r.seen(err)
	} else if err != nil {
		t.Fatal(err)
	} else {
		for i, call := range c.Calls {
			result := r.call(client, call)
			if i < len(c.Expect.Results) {
				r.compareResult(i, c.Expect.Results[i], result)
			}
		}
		if len(c.Calls) != len(c.Expect.Results) {
			t.Errorf("%d calls, but %d results are expected", len(c.Calls), len(c.Expect.Results))
		}
	}
	r.compareRequests()
	r.comparePauses()
	r.compareLogs()
	r.compareHooks()
	r.checkSecrets()
}

// filledCase replaces {url} in a case. In responses, the server replaces it.
func filledCase(t *testing.T, c tableCase, url string) tableCase {
	server := c.Server
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var filled tableCase
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "{url}", url)), &filled); err != nil {
		t.Fatal(err)
	}
	filled.Server = server
	return filled
}
