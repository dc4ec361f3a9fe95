package usage_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/controltest"
)

func sameJSON(a, b string) bool {
	var left, right any
	return json.Unmarshal([]byte(a), &left) == nil && json.Unmarshal([]byte(b), &right) == nil && reflect.DeepEqual(left, right)
}

// raw returns the model's row in the given list of a response.
func (b *costBench) raw(got controltest.Reply, list, model string) string {
	b.Helper()
	var rows []json.RawMessage
	if err := json.Unmarshal([]byte(controltest.Field(got, list)), &rows); err != nil {
		b.Fatal(err)
	}
	for _, row := range rows {
		if strings.HasPrefix(string(row), `{"model":"`+model+`",`) {
			return string(row)
		}
	}
	return ""
}

// mixed reports usage of all kinds of models.
func (b *costBench) mixed() {
	b.use(b.live,
		ledger.Usage{
			Model: "mid", Requests: 4, Hits: 1, Prompt: 3000, Completion: 200, CostPico: 9000 * microdollar, Estimated: 1,
			PromptCache: ledger.PromptCache{Read: 1000, Written: 500, SavedPico: 1},
		},
		ledger.Usage{Model: "own", Requests: 2, Prompt: 100, Completion: 10},
		ledger.Usage{Model: "vector", Requests: 1, Prompt: 1000, CostPico: 20 * microdollar},
		ledger.Usage{Model: "gone", Requests: 1, Prompt: 1000, CostPico: 7 * microdollar},
		ledger.Usage{Model: "omni-moderation-latest", Requests: 1, Prompt: 10},
		ledger.Usage{Model: "high", Requests: 1, CostPico: 30 * microdollar, Expired: 1},
		ledger.Usage{Model: "low", Requests: 5, Hits: 5}, ledger.Usage{Model: "(unreported)", Failed: 1})
	b.use(b.test, ledger.Usage{Model: "low", Requests: 5, Prompt: 1_000_000, Completion: 1_000_000})
}

func TestCompareCosts(t *testing.T) {
	b := newCostBench(t)
	b.mixed()
	got := b.Must(200, "GET", b.path+"/costs/compare", "")
	for model, want := range map[string]string{
		"mid": `{"model":"mid","kind":"chat","served":3,"promptTokens":3000,"completionTokens":200,"promptCacheReadTokens":1000,"promptCacheWriteTokens":500,` +
			`"estimated":1,"expired":0,"cost":0.009,"listCost":0.008}`, // 3000 × 2 + 200 × 10: long-prompt prices do not apply
		"own":  `{"model":"own","kind":"chat","served":2,"promptTokens":100,"completionTokens":10,"promptCacheReadTokens":0,"promptCacheWriteTokens":0,"estimated":0,"expired":0,"cost":0,"listCost":0}`,
		"gone": `{"model":"gone","kind":null,"served":1,"promptTokens":1000,"completionTokens":0,"promptCacheReadTokens":0,"promptCacheWriteTokens":0,"estimated":0,"expired":0,"cost":0.000007,"listCost":null}`,
		"low":  "", "(unreported)": "",
	} {
		if row := b.raw(got, "traffic", model); row != want {
			t.Errorf("%s: %s, want %s", model, row, want)
		}
	}
	for model, want := range map[string]string{
		// 1600 × 0.5 + 1000 × 0.1 + 500 × 0.6 + 210 × 1
		"low":        `{"model":"low","provider":"alpha","kind":"chat","context":4000,"used":false,"cost":0.00141,"difference":-0.00659}`,
		"mid":        `{"model":"mid","provider":"alpha","kind":"chat","context":null,"used":true,"cost":0.0083,"difference":0.0003}`,
		"vector-low": `{"model":"vector-low","provider":"alpha","kind":"embedding","context":null,"used":false,"cost":0.00001,"difference":-0.00001}`,
		"own":        "", "omni-moderation-latest": "", "gone": "",
	} {
		if row := b.raw(got, "candidates", model); row != want {
			t.Errorf("%s: %s, want %s", model, row, want)
		}
	}
	want := `[{"kind":"chat","cost":0.00903,"listCost":0.008},{"kind":"embedding","cost":0.00002,"listCost":0.00002},{"kind":"moderation","cost":0,"listCost":0}]`
	if text := controltest.Field(got, "kinds"); text != want {
		t.Errorf("kinds %s", text)
	}
	caveats := controltest.Field(got, "caveats")
	for _, part := range []string{"tokens differently", "Quality differs", "List prices", "without a price", "Prompt cache tokens", "Served requests: 9. Charges with estimated tokens among them: 1. Requests without tokens, because no settlement came: 1.", "not compared: 1."} {
		if !strings.Contains(caveats, part) {
			t.Errorf("%s lacks %q", caveats, part)
		}
	}
	if text := controltest.Field(got, "priceVersion"); text != `"`+b.Config.Catalog.PriceVersion+`"` {
		t.Errorf("price version %s", text)
	}
}

// Candidates are sorted by kind, and by cost within each kind.
func TestCandidatesAreSorted(t *testing.T) {
	b := newCostBench(t)
	b.mixed()
	var rows []struct {
		Kind string
		Cost json.Number
	}
	if err := json.Unmarshal([]byte(controltest.Field(b.Must(200, "GET", b.path+"/costs/compare", ""), "candidates")), &rows); err != nil {
		t.Fatal(err)
	}
	var last money.Pico
	var kinds []string
	for _, row := range rows {
		cost, ok := money.Parse(string(row.Cost), money.Dollar)
		if len(kinds) == 0 || kinds[len(kinds)-1] != row.Kind {
			kinds, last = append(kinds, row.Kind), 0
		}
		if !ok || cost < last {
			t.Errorf("%s: %d after %d", row.Kind, cost, last)
		}
		last = cost
	}
	if !slices.Equal(kinds, []string{"chat", "embedding"}) || len(rows) < 100 {
		t.Errorf("%d candidates of %q", len(rows), kinds)
	}
}

func TestCompareOneModel(t *testing.T) {
	b := newCostBench(t)
	b.mixed()
	models := func(query, list string) (names []string) {
		for _, row := range b.Must(200, "GET", b.path+"/costs/compare?"+query, "").Fields[list].([]any) {
			names = append(names, row.(map[string]any)["model"].(string))
		}
		return names
	}
	for query, want := range map[string][2][]string{
		"of=mid&model=low":             {{"mid"}, {"low"}},
		"of=vector&model=alpha/low":    {{"vector"}, nil}, // a model of another kind
		"of=vector&model=vector-low":   {{"vector"}, {"vector-low"}},
		"of=never-used&model=low":      {nil, nil},
		"of=gone":                      {{"gone"}, nil},
		"from=2026-11-01&to=2026-11-5": {nil, nil},
	} {
		query = strings.Replace(query, "-5", "-05", 1)
		if traffic, candidates := models(query, "traffic"), models(query, "candidates"); !slices.Equal(traffic, want[0]) || !slices.Equal(candidates, want[1]) {
			t.Errorf("%s: traffic %q and candidates %q, want %q", query, traffic, candidates, want)
		}
	}
}

// A candidate whose cost exceeds the range of amounts is listed last, without a cost.
func TestCandidatesThatDoNotFit(t *testing.T) {
	b := newCostBench(t)
	b.use(b.live, ledger.Usage{Model: "mid", Requests: 1, Prompt: 1_000_000_000_000, CostPico: money.Dollar})
	got := b.Must(200, "GET", b.path+"/costs/compare", "")
	if row := b.raw(got, "candidates", "high"); !strings.HasSuffix(row, `"cost":null,"difference":null}`) {
		t.Error(row)
	}
	if row := b.raw(got, "candidates", "low"); !strings.HasSuffix(row, `"cost":500000,"difference":-1500000}`) {
		t.Error(row)
	}
	rows := got.Fields["candidates"].([]any)
	if rows[len(rows)-1].(map[string]any)["cost"] != nil {
		t.Errorf("the last is %v", rows[len(rows)-1])
	}
	b.use(b.live, ledger.Usage{Model: "high", Requests: 1, Prompt: 1_000_000_000_000, CostPico: money.Dollar})
	got = b.Must(200, "GET", b.path+"/costs/compare", "")
	b.shows(got, map[string]string{"kinds": `[{"kind":"chat","cost":2,"listCost":null}]`})
	if row := b.raw(got, "candidates", "low"); !strings.HasSuffix(row, `"cost":1000000,"difference":null}`) {
		t.Error(row)
	}
}
