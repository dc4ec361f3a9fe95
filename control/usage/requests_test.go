package usage_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/controltest"
)

// recall stores batches of requests in the ledger, alternating among three meters.
func recall(b *controltest.Bench, path string, batches [][]ledger.Request) {
	b.Helper()
	for i, batch := range batches {
		meter := fmt.Sprint("meter", i%3)
		command := ledger.Absorb{Key: meter, KeyID: fmt.Sprint("key_", i%3), Seq: uint64(i/3) + 1, Recent: batch}
		b.Ask(abi.ClassLedger, path[strings.LastIndex(path, "/")+1:], command.Encode())
	}
}

func remembered(n uint64) ledger.Request {
	return ledger.Request{
		AtMs: 1_795_248_000_000 + n, ID: fmt.Sprintf("req_%032x", n), Model: []string{"m-a", "m-b"}[n%2], Provider: []string{"openai", "gemini", ""}[n%3],
		Status: []uint64{200, 200, 404, 502, 0}[n%5], DurationMs: n, Prompt: 2 * n, Completion: 3 * n, CostPico: int64(n) * money.Cent,
		Cache: ledger.Cache(n % 3), Stream: n%2 == 0, Estimated: n%7 == 0,
		PromptCache: ledger.PromptCache{Read: n % 4, Written: n % 2, SavedPico: int64(n%4)*money.Cent - 2*int64(n%2)*money.Cent},
	}
}

// recalled returns a bench whose ledger has n batches of three requests each.
func recalled(t *testing.T, n int) (b *controltest.Bench, path string) {
	b = controltest.New(t)
	b.Memory.Reducers = true
	path = b.Project()
	var batches [][]ledger.Request
	for i := range uint64(n) {
		batches = append(batches, []ledger.Request{remembered(3 * i), remembered(3*i + 1), remembered(3*i + 2)})
	}
	recall(b, path, batches)
	return b, path
}

func requestIDsOf(b *controltest.Bench, path, query string) (ids []string, pages int) {
	b.Helper()
	return requestIDsAfter(b, path, query, "")
}

func requestIDsAfter(b *controltest.Bench, path, query, after string) (ids []string, pages int) {
	b.Helper()
	for ; ; pages++ {
		got := b.Must(200, "GET", path+"/requests?"+query+after, "")
		for _, r := range got.Fields["requests"].([]any) {
			ids = append(ids, r.(map[string]any)["requestId"].(string))
		}
		if got.Fields["next"] == nil || pages > 5000 {
			return ids, pages + 1
		}
		after = "&after=" + got.Text("next")
	}
}

func wantedIDs(from, to uint64, wanted func(n uint64, r ledger.Request) bool) (ids []string) {
	for n := to; n > from; n-- {
		if r := remembered(n - 1); wanted(n-1, r) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

func all(uint64, ledger.Request) bool { return true }

func TestRequestsArePaged(t *testing.T) {
	b, path := recalled(t, 250)
	for _, limit := range []int{1, 2, 3, 7, 50, 100} {
		ids, pages := requestIDsOf(b, path, "limit="+strconv.Itoa(limit))
		if want := wantedIDs(0, 750, all); !slices.Equal(ids, want) {
			t.Errorf("limit %d: %d requests, want %d", limit, len(ids), len(want))
		}
		if most := 750/limit + 1; pages > most {
			t.Errorf("limit %d: %d pages, want at most %d", limit, pages, most)
		}
	}
}

// The ledger keeps 1,000 batches. New ones overwrite the oldest.
func TestRequestsAreOverwritten(t *testing.T) {
	b, path := recalled(t, ledger.KeepBatches+7)
	ids, _ := requestIDsOf(b, path, "limit=100")
	if want := wantedIDs(3*7, 3*(ledger.KeepBatches+7), all); !slices.Equal(ids, want) {
		t.Errorf("%d requests, want %d: from %s to %s", len(ids), len(want), ids[0], ids[len(ids)-1])
	}
}

// Paging continues at the same place even if new requests arrive.
func TestNewRequestsBetweenPages(t *testing.T) {
	b, path := recalled(t, 9)
	first := b.Must(200, "GET", path+"/requests?limit=3", "")
	more := ledger.Absorb{Key: "other", KeyID: "key_x", Seq: 1, Recent: []ledger.Request{remembered(500)}}
	b.Ask(abi.ClassLedger, path[strings.LastIndex(path, "/")+1:], more.Encode())
	ids, _ := requestIDsAfter(b, path, "limit=3", "&after="+first.Text("next"))
	if want := wantedIDs(0, 24, all); !slices.Equal(ids, want) {
		t.Errorf("%d requests, want %d", len(ids), len(want))
	}
}

func TestRequestFilters(t *testing.T) {
	b, path := recalled(t, 600) // more than one call to the ledger can read
	status := func(n uint64) uint64 { return remembered(n).Status }
	for query, wanted := range map[string]func(n uint64, r ledger.Request) bool{
		"key=key_1":                         func(n uint64, _ ledger.Request) bool { return n/3%3 == 1 },
		"model=m-b":                         func(_ uint64, r ledger.Request) bool { return r.Model == "m-b" },
		"provider=gemini":                   func(_ uint64, r ledger.Request) bool { return r.Provider == "gemini" },
		"status=200":                        func(n uint64, _ ledger.Request) bool { return status(n) == 200 },
		"status=2xx":                        func(n uint64, _ ledger.Request) bool { return status(n) == 200 },
		"status=4xx":                        func(n uint64, _ ledger.Request) bool { return status(n) == 404 },
		"status=5xx":                        func(n uint64, _ ledger.Request) bool { return status(n) == 502 },
		"status=503":                        func(uint64, ledger.Request) bool { return false },
		"cache=hit":                         func(_ uint64, r ledger.Request) bool { return r.Cache == ledger.CacheHit },
		"cache=miss":                        func(_ uint64, r ledger.Request) bool { return r.Cache == ledger.CacheMiss },
		"cache=bypass":                      func(_ uint64, r ledger.Request) bool { return r.Cache == ledger.CacheBypass },
		"model=m-a&status=5xx&limit=10":     func(_ uint64, r ledger.Request) bool { return r.Model == "m-a" && r.Status == 502 },
		"key=key_0&cache=hit&limit=1":       func(n uint64, r ledger.Request) bool { return n/3%3 == 0 && r.Cache == ledger.CacheHit },
		"request=" + remembered(7).ID:       func(n uint64, _ ledger.Request) bool { return n == 7 },
		"request=req_" + controltest.SomeID: func(uint64, ledger.Request) bool { return false },
		"key=key_nobody":                    func(uint64, ledger.Request) bool { return false },
	} {
		ids, _ := requestIDsOf(b, path, query)
		if want := wantedIDs(0, 1800, wanted); !slices.Equal(ids, want) {
			t.Errorf("%s: %d requests, want %d", query, len(ids), len(want))
		}
	}
	rejectedQueries(b, path+"/requests", map[string][]string{
		"status=2": {"status"}, "status=99": {"status"}, "status=600": {"status"}, "key=backend": {"key"}, "status=3xx": {"status"}, "status=-1": {"status"}, "status=ok": {"status"}, "status=70000": {"status"}, "cache=HIT": {"cache"},
		"request=req_1": {"request"}, "request=" + strings.ToUpper(remembered(7).ID): {"request"}, "request=batch_1": {"request"},
		"after=req_1": {"after"}, "after=batch_": {"after"}, "after=batch_x": {"after"}, "after=batch_0": {"after"}, "after=batch_99999999999999999999": {"after"},
		"limit=0": {"limit"}, "limit=101": {"limit"}, "q=x": {"q"},
		"from=2026-11-1": {"from"}, "to=now": {"to"}, "from=1970-01-01": {"from"}, "to=20261121T093000Z": {"to"}, "from=2026-11-21T09:30:00": {"from"},
		"from=2026-11-21T09:30:00Z&to=2026-11-21T09:30:00Z": {"to"}, "from=2026-11-22&to=2026-11-21": {"to"}, "from=x&to=y": {"from", "to"},
	})
}

// rejectedQueries checks which parameters of each query are rejected. nil means that the query is accepted.
func rejectedQueries(b *controltest.Bench, path string, queries map[string][]string) {
	b.Helper()
	for query, want := range queries {
		got := b.Do("GET", path+"?"+query, "")
		if want == nil && got.Code == 200 {
			continue
		}
		b.Refused(got, fault.InvalidRequest)
		if !reflect.DeepEqual(got.Problems(), want) {
			b.Errorf("%s: %q, want %q", query, got.Problems(), want)
		}
	}
}

func TestOneRequest(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	path := b.Project()
	if got := b.Must(200, "GET", path+"/requests", ""); got.Body.String() != `{"requests":[],"next":null}` {
		t.Error(got.Body)
	}
	streamed := remembered(14)
	streamed.FirstMs = 9
	recall(b, path, [][]ledger.Request{{streamed, {AtMs: 1_795_248_000_500, ID: "req_x", Agent: "curl/8.5 (x86)"}}})
	want := `{"requests":[{"time":"2026-11-21T08:00:00.500Z","requestId":"req_x","keyId":"key_0","model":null,"provider":null,"userAgent":"curl/8.5 (x86)","status":null,` +
		`"latencyMs":0,"timeToFirstTokenMs":null,"promptTokens":0,"completionTokens":0,"cost":0,"cache":"bypass","stream":false,"estimated":false,` +
		`"promptCache":{"readTokens":0,"writeTokens":0,"saved":0},"outcome":null,"cause":null,"code":null,"diagnosis":null},` +
		`{"time":"2026-11-21T08:00:00.014Z","requestId":"req_0000000000000000000000000000000e","keyId":"key_0","model":"m-a","provider":null,"userAgent":null,"status":null,` +
		`"latencyMs":14,"timeToFirstTokenMs":9,"promptTokens":28,"completionTokens":42,"cost":0.14,"cache":"hit","stream":true,"estimated":true,` +
		`"promptCache":{"readTokens":2,"writeTokens":0,"saved":0.02},"outcome":null,"cause":null,"code":null,"diagnosis":null}],"next":null}`
	if got := b.Must(200, "GET", path+"/requests", ""); got.Body.String() != want {
		t.Errorf("got %s\nwant %s", got.Body, want)
	}
}

// Requests that a meter has not reported yet are listed. For a busy key, only the newest 32 are listed.
func TestUnreportedRequestsAreListed(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	path := b.Project()
	made := b.Must(201, "POST", path+"/keys", `{"name":"k"}`)
	b.Request(path, made.Text("value"), "req_1", money.Cent)
	var list []reports.RequestView
	if err := json.Unmarshal([]byte(controltest.Field(b.Must(200, "GET", path+"/requests", ""), "requests")), &list); err != nil || len(list) != 1 {
		t.Fatalf("%v %+v", err, list)
	}
	if r := list[0]; r.RequestID != "req_1" || r.KeyID != made.Text("id") || *r.Provider != "openai" || *r.Status != 200 || string(r.Cost) != "0.01" {
		t.Errorf("%+v", r)
	}
	for i := range 40 {
		b.Now = b.Now.Add(1_000_000_000)
		b.Request(path, made.Text("value"), fmt.Sprint("req_busy_", i), 0)
	}
	ids, _ := requestIDsOf(b, path, "limit=100")
	if len(ids) != 1+32 || ids[0] != "req_busy_39" || ids[31] != "req_busy_8" {
		t.Errorf("%d requests: %q", len(ids), ids)
	}
}

// A request that expired and was settled later is listed only once, as settled.
func TestLateSettlementsAreListedOnce(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	path := b.Project()
	late, lost, settled := remembered(4), remembered(9), remembered(5)
	settled.ID = late.ID
	recall(b, path, [][]ledger.Request{{late, lost}, {settled}})
	var listed []string
	for _, r := range b.Must(200, "GET", path+"/requests", "").Fields["requests"].([]any) {
		r := r.(map[string]any)
		listed = append(listed, fmt.Sprint(r["requestId"], " ", r["status"]))
	}
	if want := []string{lost.ID + " <nil>", late.ID + " 200"}; !slices.Equal(listed, want) {
		t.Errorf("%q, want %q", listed, want)
	}
}
