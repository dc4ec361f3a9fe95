package usage_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/controltest"
)

const microdollar = money.Dollar / 1_000_000

// costBench is a bench with a project that was created on October 1 and has a key for each environment.
type costBench struct {
	*controltest.Bench
	path, live, test string
	meters           int
}

func newCostBench(t *testing.T) *costBench {
	b := &costBench{Bench: controltest.New(t)}
	b.Memory.Reducers = true
	b.Configure(func(c *kernel.Config) {
		c.Catalog = controltest.ParseCatalog(`{"providers":[{"name":"alpha","wire":"openai","baseUrl":"https://alpha.example/v1","keyEnv":"ALPHA_KEY"}],
		"plans":[{"name":"free","perSecond":10,"perDay":1000,"budget":"5"}],
		"models":[
			{"name":"mid","provider":"alpha","input":"2","output":"10","longAbove":1000,"longInput":"4","longOutput":"20","source":"x","date":"2026-01-01"},
			{"name":"low","provider":"alpha","input":"0.5","cached":"0.1","write":"0.6","output":"1","context":4000,"source":"x","date":"2026-01-01"},
			{"name":"high","provider":"alpha","input":"75","output":"75","source":"x","date":"2026-01-01"},
			{"name":"own","provider":"alpha","input":"0","output":"0","source":"x","date":"2026-01-01"},
			{"name":"vector","provider":"alpha","kind":"embedding","input":"0.02","source":"x","date":"2026-01-01"},
			{"name":"vector-low","provider":"alpha","kind":"embedding","input":"0.01","source":"x","date":"2026-01-01"}]}`)
	})
	now := b.Now
	b.Now = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	b.path = b.Project()
	b.live = b.Must(201, "POST", b.path+"/keys", `{"name":"live"}`).Text("id")
	b.test = b.Must(201, "POST", b.path+"/keys", `{"name":"test","environment":"development"}`).Text("id")
	b.Now = now
	return b
}

// use reports usage of the given key. Each row is the usage of one model.
func (b *costBench) use(key string, rows ...ledger.Usage) {
	b.Helper()
	b.meters++
	for i := range rows {
		if rows[i].Day == 0 {
			rows[i].Day = controltest.Today
		}
	}
	command := ledger.Absorb{Key: fmt.Sprint("meter ", b.meters), KeyID: key, Seq: 1, Usage: rows}
	b.Ask(abi.ClassLedger, strings.TrimPrefix(b.path, kernel.ProjectsPath+"/"), command.Encode())
}

// shows checks fields of a response. want maps a path such as "totals.saved" to the expected JSON.
func (b *costBench) shows(got controltest.Reply, want map[string]string) {
	b.Helper()
	for path, text := range want {
		var value any = got.Fields
		for _, name := range strings.Split(path, ".") {
			object, _ := value.(map[string]any)
			value = object[name]
		}
		have, err := kernel.Encode(value)
		if err != nil || !sameJSON(string(have), text) {
			b.Errorf("%s is %s, want %s", path, have, text)
		}
	}
}

func TestCostsOfCaches(t *testing.T) {
	b := newCostBench(t)
	b.use(b.live,
		ledger.Usage{Model: "mid", Requests: 7, Hits: 4, Prompt: 30, Completion: 3, CostPico: 100}, // 4 × 100/3, rounded up
		ledger.Usage{Model: "low", Requests: 2, Hits: 2},                                           // served in October
		ledger.Usage{Model: "gone", Requests: 3, Hits: 3},                                          // never served
		ledger.Usage{Model: "high", Requests: 1, Prompt: 5, CostPico: 50, PromptCache: ledger.PromptCache{Written: 5, SavedPico: -20}},
		ledger.Usage{Day: controltest.Today - 30, Model: "low", Requests: 5, Prompt: 5, CostPico: 20},
		ledger.Usage{Day: controltest.Today - 120, Model: "gone", Requests: 5, Prompt: 5, CostPico: 20})
	got := b.Must(200, "GET", b.path+"/costs", "")
	b.shows(got, map[string]string{
		"from": `"2026-11-01"`, "to": `"2026-11-30"`, "development": "0",
		"totals.requests": "13", "totals.hits": "9", "totals.cost": "0.00000000015",
		"totals.saved": `{"cache":0.000000000142,"promptCache":-0.00000000002,"total":0.000000000122,"unknownHits":3}`,
	})
	for model, want := range map[string]string{
		"mid":  `"saved":{"cache":0.000000000134,"promptCache":0,"total":0.000000000134,"unknownHits":0}`,
		"low":  `"saved":{"cache":0.000000000008,"promptCache":0,"total":0.000000000008,"unknownHits":0}`,
		"gone": `"saved":{"cache":0,"promptCache":0,"total":0,"unknownHits":3}`,
		"high": `"saved":{"cache":0,"promptCache":-0.00000000002,"total":-0.00000000002,"unknownHits":0}`,
	} {
		if row := b.raw(got, "models", model); !strings.Contains(row, want) {
			t.Errorf("%s: %s, want %s", model, row, want)
		}
	}
	for model, want := range map[string]string{
		"mid": `"meanCost":0.000000000034,"meanFrom":"2026-11-01"`, "low": `"meanCost":0.000000000004,"meanFrom":"2026-08-03"`, "gone": `"meanCost":null,"meanFrom":null`,
	} {
		if row := b.raw(got, "models", model); !strings.Contains(row, want) {
			t.Errorf("%s: %s, want %s", model, row, want)
		}
	}
}

// Requests of development keys, even deleted ones, cost nothing and would lower every mean.
func TestCostsLeaveDevelopmentOut(t *testing.T) {
	b := newCostBench(t)
	b.use(b.live, ledger.Usage{Model: "mid", Requests: 2, Hits: 1, Prompt: 10, CostPico: 100})
	b.use(b.test, ledger.Usage{Model: "mid", Requests: 9, Hits: 5, Prompt: 1000, Completion: 9})
	b.use("key_deleted", ledger.Usage{Model: "mid", Requests: 3, Prompt: 10})
	b.use("key_deleted2", ledger.Usage{Model: "own", Requests: 4, Prompt: 10}) // a model without a price, so it is unknown whether this was a development key
	got := b.Must(200, "GET", b.path+"/costs", "")
	b.shows(got, map[string]string{"development": "12", "totals.requests": "6", "totals.saved.cache": "0.0000000001"})
}

func TestCostsFlagged(t *testing.T) {
	b := newCostBench(t)
	b.use(b.live,
		ledger.Usage{Model: "mid", Requests: 2, Prompt: 10, CostPico: 100, Estimated: 1},
		ledger.Usage{Day: controltest.Today - 1, Model: "mid", Requests: 2, Prompt: 10, CostPico: 1000},
		ledger.Usage{Model: "low", Requests: 2, CostPico: 20, Expired: 2})
	got := b.Must(200, "GET", b.path+"/costs", "")
	b.shows(got, map[string]string{"totals.flagged": `{"estimated":1,"expired":2,"costAtMost":0.00000000012}`, "totals.cost": "0.00000000112"})
}

func TestCostsWithoutUsage(t *testing.T) {
	b := newCostBench(t)
	got := b.Must(200, "GET", b.path+"/costs?from=2026-11-20&to=2026-11-21", "")
	b.shows(got, map[string]string{
		"models": "[]", "development": "0", "forecast": `{"days":7,"dailyMean":0,"spend":0,"runsOut":null}`,
		"totals": `{"requests":0,"hits":0,"cost":0,"saved":{"cache":0,"promptCache":0,"total":0,"unknownHits":0},"flagged":{"estimated":0,"expired":0,"costAtMost":0}}`,
	})
}

// Amounts that are too large saturate, like all other sums of amounts.
func TestCostsThatDoNotFit(t *testing.T) {
	b := newCostBench(t)
	b.use(b.live, ledger.Usage{Model: "mid", Requests: 1 << 40, Hits: 1<<40 - 1, Prompt: 1, CostPico: money.Max})
	got := b.Must(200, "GET", b.path+"/costs", "")
	b.shows(got, map[string]string{"totals.saved.total": "9223372.036854775807", "totals.cost": "9223372.036854775807"})
}

func TestForecast(t *testing.T) {
	const left = `"2026-11-25"`
	for name, c := range map[string]struct {
		daily, today money.Pico
		created      time.Time
		want         string
	}{
		// 9 days, 15 hours, 51 minutes and 52.994 seconds are left, which is 9.661030023… days.
		"not reached":    {money.Cent, 0, time.Time{}, `{"days":7,"dailyMean":0.01,"spend":0.296610300232,"runsOut":null}`},
		"runs out":       {money.Dollar / 5, money.Dollar / 10, time.Time{}, `{"days":7,"dailyMean":0.2,"spend":6.03220600463,"runsOut":` + left + `}`},
		"is used up":     {0, 5 * money.Dollar, time.Time{}, `{"days":7,"dailyMean":0,"spend":5,"runsOut":"2026-11-21"}`},
		"young":          {money.Cent, 0, time.Date(2026, 11, 18, 23, 0, 0, 0, time.UTC), `{"days":2,"dailyMean":0.01,"spend":0.296610300232,"runsOut":null}`},
		"no day is full": {money.Cent, 0, time.Date(2026, 11, 20, 1, 0, 0, 0, time.UTC), `{"days":0,"dailyMean":null,"spend":null,"runsOut":null}`},
		"does not fit":   {money.Max / 25, 0, time.Time{}, `{"days":7,"dailyMean":368934.881474191032,"spend":9223372.036854775807,"runsOut":"2026-11-21"}`},
	} {
		b := newCostBench(t)
		if !c.created.IsZero() {
			now := b.Now
			b.Now = c.created
			b.path = b.Project()
			b.Now = now
		}
		rows := []ledger.Usage{{Model: "mid", Requests: 1, CostPico: c.today}}
		for day := range uint64(20) {
			rows = append(rows, ledger.Usage{Day: controltest.Today - 1 - day, Model: "mid", Requests: 1, CostPico: c.daily})
		}
		b.use(b.live, rows...)
		if text := controltest.Field(b.Must(200, "GET", b.path+"/costs?from=2026-11-21&to=2026-11-21", ""), "forecast"); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

func TestCostsQueriesAndRights(t *testing.T) {
	b := controltest.NewKeyBench(t)
	b.Viewer = "token-of-a-viewer-1"
	_, value := b.NewKey(`"kind":"project"`)
	costs, compare := b.Project+"/costs", b.Project+"/costs/compare"
	for query, want := range map[string][]string{
		costs + "?from=2026-11-22&to=2026-11-21": {"from"}, costs + "?to=x": {"to"}, costs + "?by=day": {"by"}, costs + "?from=2020-01-01": {"from"},
		compare + "?model=nobody": {"model"}, compare + "?model=llama3.2": {"model"}, compare + "?from=1&to=2&x=1": {"x"}, compare + "?from=1": {"from"},
		compare + "?of=" + strings.Repeat("m", 201): {"of"}, compare + "?model=" + strings.Repeat("m", 201): {"model"},
	} {
		got := b.Do("GET", query, "")
		b.Refused(got, fault.InvalidRequest)
		if !reflect.DeepEqual(got.Problems(), want) {
			t.Errorf("%s: %q, want %q", query, got.Problems(), want)
		}
	}
	for _, path := range []string{costs, compare} {
		b.Must(200, "GET", path, "")
		if got := b.Do("GET", path, "", "Authorization", "Bearer "+b.Viewer); got.Code != 200 {
			t.Errorf("a viewer gets %d from %s", got.Code, path)
		}
		b.Refused(b.With(value, "GET", path, ""), fault.MissingAdmin)
		b.Refused(b.With("", "GET", path, ""), fault.MissingAdmin)
		b.Refused(b.Do("POST", path, ""), fault.MethodNotAllowed)
		b.Refused(b.Do("GET", strings.Replace(path, b.Project, "/api/admin/projects/proj_nobody", 1), ""), fault.NotFound)
	}
}

// Usage that meters have not reported yet is included. If the ledger is unavailable, the response is a 503.
func TestCostsCollectUnreportedUsage(t *testing.T) {
	b := controltest.NewKeyBench(t)
	_, value := b.NewKey(`"kind":"gateway"`)
	b.Request(b.Project, value, "req_1", 2*money.Cent)
	if text := controltest.Field(b.Must(200, "GET", b.Project+"/costs", ""), "totals"); !strings.HasPrefix(text, `{"requests":1,"hits":0,"cost":0.02,`) {
		t.Error(text)
	}
	b.Request(b.Project, value, "req_2", 2*money.Cent)
	if text := controltest.Field(b.Must(200, "GET", b.Project+"/costs/compare", ""), "traffic"); !strings.HasPrefix(text, `[{"model":"m","kind":null,"served":2,`) {
		t.Error(text)
	}
	b.Memory.FailAll(abi.ClassLedger)
	for _, path := range []string{"/costs", "/costs/compare"} {
		if got := b.Do("GET", b.Project+path, ""); got.Code != 503 {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}
