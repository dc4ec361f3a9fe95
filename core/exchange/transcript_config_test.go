package exchange_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/test/pricelists"
)

// callers maps the names of API keys in transcripts to the keys.
var callers = map[string]string{
	"caller":      keys.New(keys.Gateway, keys.Production, [keys.RandomBytes]byte{1}),
	"development": keys.New(keys.Gateway, keys.Development, [keys.RandomBytes]byte{2}),
	"project":     keys.New(keys.Project, keys.Production, [keys.RandomBytes]byte{3}),
}

// projectKey is the project's own provider key, decrypted.
const projectKey = "key-of-the-project-for-openai"

var environment = []abi.Header{
	{Name: "OPENAI_API_KEY", Value: "key-of-the-deployment-for-openai"},
	{Name: "ANTHROPIC_API_KEY", Value: "key-of-the-deployment-for-anthropic"},
	{Name: "POSTERN_MASTER_KEYS", Value: "m1:bWFzdGVyLWtleS1vZi10aGUtZGVwbG95bWVudC0zMiE="},
}

// masks replaces secrets and unreadable hashes with names.
var masks = func() *strings.Replacer {
	pairs := []string{projectKey, "<project key>"}
	for name, key := range callers {
		pairs = append(pairs, key, "<"+name+">", keys.Hash(key), "<"+name+">")
	}
	for _, h := range environment {
		pairs = append(pairs, h.Value, "<"+h.Name+">")
	}
	return strings.NewReplacer(pairs...)
}()

// catalogWith returns testdata/catalog.json with changes to its routing.
func catalogWith(t *testing.T, routing map[string]uint64) []byte {
	data, err := os.ReadFile("testdata/catalog.json")
	data = []byte(pricelists.Add(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	var catalog map[string]any
	if err := json.Unmarshal(data, &catalog); err != nil {
		t.Fatalf("testdata/catalog.json: %v", err)
	}
	for name, value := range routing {
		catalog["routing"].(map[string]any)[name] = value
	}
	data, err = json.Marshal(catalog)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (s *session) configure(catalog []byte, more []abi.Header) {
	cfg, wrong := config.Parse(abi.Config{Catalog: catalog, Env: append(more, environment...)})
	if wrong != "" {
		s.t.Fatal(wrong)
	}
	s.config = cfg
}

// config [retries=1] [requestMs=…] … [control=off] [timeouts]: changes the deployment. "timeouts" shows the
// timeouts of fetches.
func (s *session) doConfig(a *args) {
	routing := map[string]uint64{}
	for _, name := range []string{"retries", "backoffMs", "maxBackoffMs", "headMs", "firstByteMs", "idleMs", "totalMs", "requestMs", "mockPauseMs"} {
		const absent = 1 << 60
		if value := a.number(name, absent); value != absent {
			routing[name] = value
		}
	}
	var more []abi.Header
	if control, ok := a.value("control"); ok {
		more = []abi.Header{{Name: "POSTERN_CONTROL", Value: control}}
	}
	s.printer.Timeouts = a.flag("timeouts")
	s.configure(catalogWith(s.t, routing), more)
	s.out.WriteString("ok\n")
}
