package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/core/object"
)

const helloBody = `{"messages":[{"role":"user","content":"Say hello."}]}`

// requestSeeds are valid, invalid and malformed request bodies.
var requestSeeds = []string{
	helloBody,
	`{"messages":[{"role":"system","content":"é€😀"},{"role":"user","content":"\ud83d\ude00\u0000"}],"quality":"cheap","temperature":1.25,"maxTokens":10,"mode":"json"}`,
	`{"messages":[{"role":"user","content":"\ud800"}],"maxTokens":1e3,"temperature":0}`,
	`{"messages":[],"quality":"best","temperature":3,"maxTokens":0.5,"mode":1}`,
	`{"messages":[{"role":"robot"},{"content":1},3,{"role":"user","content":""}]}`,
	`{"messages":{"a":1},"messages":[]}`,
	`{"messages":[{"role":"user","role":"system","content":"x"}]}`,
	`{"messages":[{"role":"user","content":"x"}],"temperature":2.0000000000000001,"maxTokens":9999999.0}`,
	`{"messages":[{"role":"user","content":"x"}],"temperature":1e-320,"maxTokens":1e400}`,
	`{"messages":[{"role":"user","content":"x"}],"temperature":-0}`,
	`{"\u006dessages":[{"r\u006fle":"\u0075ser","content":"x"}],"quality":"\u0063heap"}`,
	`{"messages":[{"role":"user","content":"x"}],"extra":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}`,
	`{"messages":[{"role":"user","content":"x"}],"extra":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
	`[]`, `null`, `"`, ``, "\xff", "{\"a\":\"\xff\"}", `{"messages":[{"role":"user","content":"` + strings.Repeat("long ", 5000) + `"}]}`,
	`{"messages":[` + strings.Repeat(`{"role":"user","content":"x"},`, 40) + `{}]}`,
}

// sharedEngines returns a constructor of engine pairs. It returns the same two engines for all inputs of a fuzz
// target.
func sharedEngines(f *testing.F) func(*testing.T) *enginePair {
	native, module := newNative(f), newWasm(f)
	return func(t *testing.T) *enginePair { return &enginePair{t: t, native: native, module: module} }
}

// FuzzRequest fuzzes a request body through a complete exchange.
func FuzzRequest(f *testing.F) {
	for _, body := range requestSeeds {
		f.Add([]byte(body), "", false)
		f.Add([]byte(body), "max-age=60, no-cache", true)
	}
	f.Add([]byte(helloBody), "no-store", false)
	f.Add([]byte(helloBody), "max-age=99999999999999999999", true)
	newPair := sharedEngines(f)
	f.Fuzz(func(t *testing.T, body []byte, cacheControl string, development bool) {
		w := newWorld(newPair(t))
		env := keys.Production
		if development {
			env = keys.Development
		}
		r := completeRequest(env, string(body), abi.Header{Name: "cache-control", Value: cacheControl}, abi.Header{Name: "idempotency-key", Value: "1"})
		for range 2 { // the second is an idempotent replay, a cache hit or the same rejection
			if status := w.exchange(r); w.traps > 0 || status == 0 || status >= 500 {
				t.Errorf("%.200q: status %d, %d traps", body, status, w.traps)
			}
		}
	})
}

// FuzzHead fuzzes a request's method, path, query and headers.
func FuzzHead(f *testing.F) {
	key := testKey(keys.Production)
	f.Add("POST", "/api/ai/complete", "", key, "", "application/json")
	f.Add("GET", "/api/usage", "projectId=prj_1&period=day", "", "Bearer "+key, "")
	f.Add("GET", "/api/usage", "projectId=prj_2", key, "", "")
	f.Add("GET", "/api/usage", "projectId=&period=%64ay&&=", key, "", "")
	f.Add("GET", "/api/health", "", key[:36], "bearer  "+key+" ", "text/plain")
	f.Add("PUT", "/api/health", "", "", "Basic x", "application/json; charset=utf-8")
	f.Add("GET", "/api/admin/../health", strings.Repeat("q", 2000), "", "", "")
	f.Add("\xff", "/\x00", "\xff\xfe", "\xff", "Bearer", "\r\n")
	newPair := sharedEngines(f)
	f.Fuzz(func(t *testing.T, method, path, query, key, authorization, contentType string) {
		w := newWorld(newPair(t))
		w.exchange(testRequest{method, path, query, []abi.Header{
			{Name: "x-api-key", Value: key}, {Name: "authorization", Value: authorization}, {Name: "content-type", Value: contentType},
		}, []byte(helloBody)})
		if w.traps > 0 {
			t.Errorf("%d traps", w.traps)
		}
	})
}

// responseSeeds are provider response bodies.
var responseSeeds = []string{
	`{"choices":[{"message":{"content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`,
	`{"choices":[{"message":{"content":"[1,2"},"finish_reason":"length"}]}`,
	`{"choices":[{"message":{"content":null,"refusal":"No."},"finish_reason":"stop"}],"usage":null}`,
	`{"choices":[{"message":{"content":"\ud800\u0000é"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1e11,"completion_tokens":-1}}`,
	`{"choices":[{"message":{"content":"x"}}],"usage":{"prompt_tokens":0.5,"completion_tokens":999999999999}}`,
	`{"choices":{"0":{"message":{"content":"x"}}}}`,
	`{"choices":[],"usage":{}}`, `{"choices":[{"message":{"content":["x"]}}]}`, `{"choices":[null]}`, `{"choices":[{"message":"content"}]}`,
	`{"error":{"message":"overloaded"}}`, `{"choices":[{"message":{"content":"cut of`, `<html>`, ``, "\xff",
	`{"choices":[{"message":{"content":"` + strings.Repeat("word ", 4000) + `"},"finish_reason":"stop"}]}`,
}

// FuzzResponse fuzzes a provider response of any status through retries, fallbacks and the JSON retry.
func FuzzResponse(f *testing.F) {
	for i, body := range responseSeeds {
		f.Add(uint16(200), "application/json", []byte(body), "", i%2 == 0)
	}
	for _, status := range []uint16{0, 100, 204, 301, 400, 401, 404, 408, 413, 422, 429, 500, 503, 529, 999} {
		f.Add(status, "application/json; charset=utf-8", []byte(responseSeeds[0]), "1", false)
	}
	f.Add(uint16(200), "text/html", []byte(responseSeeds[0]), "", false)
	f.Add(uint16(429), "", []byte(nil), "1e300", true)
	f.Add(uint16(503), "", []byte(nil), " 0.0001 ", true)
	newPair := sharedEngines(f)
	f.Fuzz(func(t *testing.T, status uint16, contentType string, body []byte, retryAfter string, jsonMode bool) {
		w := newWorld(newPair(t))
		w.upstream = func(abi.Action) abi.Event {
			return abi.Event{Kind: abi.EventResponse, Code: uint64(status), Data: body, Headers: []abi.Header{
				{Name: "content-type", Value: contentType}, {Name: "retry-after", Value: retryAfter},
			}}
		}
		request := helloBody
		if jsonMode {
			request = `{"messages":[{"role":"user","content":"x"}],"mode":"json"}`
		}
		sent := w.exchange(completeRequest(keys.Production, request))
		if w.traps > 0 || sent == 0 || sent == 500 {
			t.Errorf("provider response %d %.200q: status %d, %d traps", status, body, sent, w.traps)
		}
	})
}

func TestFaultsDifferential(t *testing.T) {
	both := &enginePair{t: t, native: newNative(t), module: newWasm(t)}
	for fault := uint64(0); fault <= abi.FaultClosing+1; fault++ {
		w := newWorld(both)
		w.upstream = func(abi.Action) abi.Event { return abi.Event{Kind: abi.EventFault, Code: fault} }
		status, cut := w.exchange(completeRequest(keys.Production, helloBody)), fault == abi.FaultCut || fault == abi.FaultClosing
		if cut != (status == 503) || !cut && status != 502 && status != 504 {
			t.Errorf("fault %d: status %d, want 502 or 504, or 503 for a shutdown", fault, status)
		}
	}
}

// objectRows holds the rows of one object and runs commands on them, including commands that no host sends.
type objectRows struct {
	object.Memory
	in abi.ObjectInput
}

// apply runs one command as a host does. A command that traps does not change any row.
func (o *objectRows) apply(e Engine, command []byte) {
	o.in.Command = command
	_, _ = object.FromEncoded(e.Reads, e.Apply).Run(&o.Memory, o.in)
}

// commands encodes length-prefixed commands as one fuzz input.
func commands(list ...[]byte) []byte {
	var w abi.Writer
	for _, c := range list {
		w.Bytes(c)
	}
	return w.Buf
}

type command interface{ Encode() []byte }

var period = calendar.NewPeriod(calendar.Monthly, 0, 20778)

func meterSeed() []byte {
	record := doc.Record{Version: 3, KeyID: "key_1", ProjectID: testProject, Kind: keys.Gateway, Environment: keys.Production, Plan: "free"}
	list := [][]byte{(&keymeter.Put{Status: doc.Active, Record: record}).Encode()}
	grant := keymeter.Grant{Period: period, Epoch: 1, TotalPico: 5 * money.Dollar}
	for i, mode := range []keymeter.Mode{keymeter.ModeCheck, keymeter.ModeCount, keymeter.ModeReserve, keymeter.ModeReserve, keymeter.ModeReserve, keymeter.ModeHit} {
		admit := keymeter.Admit{
			RequestID: fmt.Sprint("req_", i), Version: 3, Mode: mode, Model: "m", AmountPico: money.Dollar, LifetimeMs: 1500, Grant: grant,
			Idempotency: fmt.Sprint("idem", i%2), BodyHash: "b",
		}
		list = append(list, admit.Encode())
	}
	for _, c := range []command{
		&keymeter.Settle{RequestID: "req_2", Outcome: keymeter.Served, Model: "m", Tokens: keymeter.Tokens{Prompt: 5, Completion: 6}, CostPico: 7, Idempotency: "idem0", Answer: []byte("a"), Attempts: []keymeter.Charge{{Model: "n", CostPico: 3}}},
		&keymeter.Settle{RequestID: "req_2", Outcome: keymeter.Released, Model: "m"},
		&keymeter.Flush{}, &keymeter.Flush{Recall: true},
	} {
		list = append(list, c.Encode())
	}
	list = append(list, nil, nil, (&keymeter.Settle{RequestID: "req_3", Outcome: keymeter.Hit, Model: "m"}).Encode(), nil)
	return commands(list...)
}

func ledgerSeed() []byte {
	usage := []ledger.Usage{{Day: 20778, Model: "m", Requests: 2, Prompt: 5, CostPico: money.Dollar}, {Day: 20779, Model: "n", Hits: 1, CostPico: -5}}
	recent := []ledger.Request{{AtMs: 5, ID: "req_1", Model: "m", Provider: "p", Status: 200, DurationMs: 7, Cache: ledger.CacheMiss}}
	alerts := doc.Alerts{URL: "https://example.com", Secret: []byte("secret")}
	daily := calendar.NewPeriod(calendar.Daily, 1, 20778)
	absorb := ledger.Absorb{Key: "00", KeyID: "key_1", Recent: recent, Seq: 1, Period: period, Epoch: 2, HeldPico: 100, LastUsedMs: 5, Usage: usage}
	next := ledger.Absorb{Key: "00", Seq: 2, Period: period, Epoch: 3, Closed: true, Usage: usage}
	return commands(
		(&ledger.Put{Version: 1, BudgetPico: 5 * money.Dollar}).Encode(),
		(&ledger.Grant{Key: "00", Period: period, Epoch: 1, NeedPico: money.Dollar, LeastPico: money.Dollar}).Encode(),
		(&ledger.Grant{Key: "00", Period: period, Epoch: 1, NeedPico: money.Dollar, LeastPico: money.Dollar}).Encode(),
		(&ledger.Grant{Key: "01", Period: period, Epoch: 1, NeedPico: 9 * money.Dollar, LeastPico: 9 * money.Dollar}).Encode(),
		(&ledger.Grant{Key: "01", Period: period, Epoch: 1, NeedPico: 9 * money.Dollar, LeastPico: money.Dollar}).Encode(),
		(&ledger.Grant{Key: "01", Period: period, Epoch: 1, NeedPico: 9 * money.Dollar, LeastPico: money.Dollar, After: "00"}).Encode(),
		absorb.Encode(), absorb.Encode(), ledger.Batch([][]byte{absorb.Encode(), next.Encode()}),
		(&ledger.Report{FirstDay: 20700, EndDay: 20800}).Encode(),
		(&ledger.Report{FirstDay: 20700, EndDay: 20800, Final: true}).Encode(),
		(&ledger.Keys{Names: []string{"00", "01"}}).Encode(),
		(&ledger.Put{Version: 2, BudgetPico: money.Dollar, Period: daily, Alerts: alerts, Policy: []byte("p")}).Encode(),
		absorb.Encode(), nil, ledger.Policy(), (&ledger.Recent{Limit: 5}).Encode(),
		(&ledger.Query{FirstDay: 20700, EndDay: 20800, By: ledger.ByKey}).Encode(),
		(&ledger.Query{FirstDay: 20700, EndDay: 20800, By: ledger.ByHour}).Encode(),
		(&abi.Posted{ID: "evt", Status: 204}).Encode(), (&ledger.Prune{FirstDay: 20779, FirstHourDay: 20779}).Encode(),
	)
}

func directorySeed() []byte {
	commit := directory.Commit{
		Writes:     []directory.Write{{Key: "p/prj_1", Value: []byte("v")}, {Key: "k/prj_1/key_1", Value: []byte("w")}},
		Deliveries: []abi.Delivery{{Class: abi.ClassKV, Name: "key/00", Data: []byte("r")}, {Class: abi.ClassKeyMeter, Name: "00"}},
	}
	commit.Republish = []string{"prj_1"}
	removal := directory.Commit{Writes: []directory.Write{{Key: "p/prj_1", Version: 1}}}
	return commands(
		commit.Encode(), commit.Encode(), (&directory.List{Prefix: "k/prj_1/", Limit: 10}).Encode(), (&directory.List{Prefix: "p/", After: "p/prj_0", Limit: 1}).Encode(),
		removal.Encode(), nil,
	)
}

// FuzzObject fuzzes a sequence of commands, 500 ms apart, on an object of any class.
func FuzzObject(f *testing.F) {
	f.Add(uint8(abi.ClassKeyMeter), meterSeed())
	f.Add(uint8(abi.ClassLedger), ledgerSeed())
	f.Add(uint8(abi.ClassDirectory), directorySeed())
	f.Add(uint8(abi.ClassKV), commands(nil, []byte{1}))
	f.Add(uint8(abi.ClassKeyMeter), commands([]byte{1}, []byte{9}, []byte{2, 0xff}))
	newPair := sharedEngines(f)
	f.Fuzz(func(t *testing.T, class uint8, list []byte) {
		both := newPair(t)
		o := objectRows{in: abi.ObjectInput{NowMs: 1_795_262_400_000, Class: abi.Class(class), Name: "00"}}
		for r := (abi.Reader{Buf: list}); len(r.Buf) > 0; {
			o.in.NowMs += 500
			o.apply(both, r.Bytes())
		}
	})
}
