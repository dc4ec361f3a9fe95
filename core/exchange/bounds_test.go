package exchange_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// padded pads a JSON object with spaces to a size in bytes.
func padded(object string, size int) string {
	return object[:len(object)-1] + strings.Repeat(" ", size-len(object)) + "}"
}

func TestMalformedContentLengthIsIgnored(t *testing.T) {
	for length, status := range map[string]uint64{"9000000": 413, "999999999999999": 413, "9999999999999999": 200, "90x": 200, "": 200} {
		h := request{path: "/v1/chat/completions", body: openaiRequest, headers: []abi.Header{{Name: "content-length", Value: length}}, provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}.run(t)
		equal(t, "status with content-length "+length, h.status(), status)
	}
}

func TestLongQueryIsIgnored(t *testing.T) {
	prefix := "projectId=prj_1&x="
	send := func(size int) uint64 {
		return request{method: "GET", path: "/api/usage", query: prefix + strings.Repeat("x", size-len(prefix))}.run(t).status()
	}
	equal(t, "status with 1,024 bytes", send(1024), 200)
	equal(t, "status with 1,025 bytes", send(1025), 400)
}

func TestIdempotencyKeyLimits(t *testing.T) {
	send := func(key string) *host {
		return request{path: "/v1/chat/completions", body: openaiRequest, headers: []abi.Header{{Name: "idempotency-key", Value: key}}, provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}.run(t)
	}
	equal(t, "status with 255 characters", send(strings.Repeat("k", 255)).status(), 200)
	for wrong, message := range map[string]string{strings.Repeat("k", 256): " characters, got 256", "é": " characters", "a\tb": " characters"} {
		h := send(wrong)
		equal(t, "status with an invalid key", h.status(), 400)
		contains(t, "response", h.responseBody(), "Idempotency-Key", "must have 1 to 255 printable ASCII"+message+`"`)
	}
}

func TestReplaySizeLimit(t *testing.T) {
	send := func(size int) *keymeter.Settle {
		return onlySettlement(t, request{path: "/v1/chat/completions", body: openaiRequest, headers: []abi.Header{{Name: "idempotency-key", Value: "order-1"}},
			provider: [][]abi.Event{wholeResponse(200, padded(openaiResponse, size))}}.run(t))
	}
	equal(t, "Oversized with 256 KiB", send(256<<10).Oversized, false)
	equal(t, "Oversized with more than 256 KiB", send(256<<10+1).Oversized, true)
}

func TestCacheEntrySizeLimit(t *testing.T) {
	stored := func(size int, seconds uint64) []abi.Action {
		h := request{path: "/v1/chat/completions", body: openaiRequest, record: func(r *doc.Record) { r.CacheTTLSeconds = seconds }, provider: [][]abi.Event{wholeResponse(200, padded(openaiResponse, size))}}.run(t)
		return h.all(abi.ActionWrite)
	}
	equal(t, "writes for a response of 1 MiB", len(stored(1<<20, 3600)), 1)
	equal(t, "writes for a longer response", len(stored(1<<20+1, 3600)), 0)
	equal(t, "stores", stored(1<<10, 1)[0].Where, abi.WhereMemory|abi.WhereColo)
}

func TestCacheEntryAge(t *testing.T) {
	entry := cacheEntry(t, request{path: "/v1/chat/completions", body: openaiRequest, provider: [][]abi.Event{wholeResponse(200, openaiResponse)}})
	look := func(afterMs uint64, control string) string {
		return request{path: "/v1/chat/completions", after: afterMs, body: openaiRequest, record: withCache, cached: entry,
			headers: []abi.Header{{Name: "cache-control", Value: control}}, provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}.run(t).header("x-postern-cache")
	}
	for _, c := range []struct {
		after   uint64
		control string
		state   string
	}{
		{3_599_999, "", "hit"}, {3_600_000, "", "miss"}, {60_000, "max-age=60", "hit"}, {60_001, "max-age=60", "miss"}, {60_001, `Max-Age="61"`, "hit"},
		{0, "no-cache", "bypass"}, {0, "max-age=0", "bypass"}, {0, "x, no-store", "bypass"}, {0, "max-age=x", "hit"}, {1000, "max-age=1", "hit"},
	} {
		equal(t, fmt.Sprintf("cache state after %d ms with %q", c.after, c.control), look(c.after, c.control), c.state)
	}
}

func TestDroppedParamsHeaderLimit(t *testing.T) {
	long := strings.Repeat("l", 500)
	equal(t, "names of 512 bytes", claudeCompletion(t, `,"`+long+`":1,"123456789012":1`).header("x-postern-dropped-params"), long+",123456789012")
	equal(t, "longer names", claudeCompletion(t, `,"`+long+`":1,"1234567890123":1`).header("x-postern-dropped-params"), long)
}

func TestAttemptsHeaderLimit(t *testing.T) {
	// There are five targets with results of 75 bytes each. The result of the sixth just fits into the rest of the
	// 400 bytes, or is just too long.
	header := func(last string) string {
		var models, targets []string
		for i := range 6 {
			name := strings.Repeat(string(rune('a'+i)), 64)
			if i == 5 {
				name = last
			}
			models = append(models, `{"name":"`+name+`","provider":"openai","input":"1","output":"1","source":"made up","date":"2026-11"}`)
			targets = append(targets, `{"model":"`+name+`"}`)
		}
		overlay := `{"models":[` + strings.Join(models, ",") + `],"tiers":[{"name":"long","strategy":"ordered","targets":[` + strings.Join(targets, ",") + `]}]}`
		down := wholeResponse(500, "")
		h := request{path: "/v1/chat/completions", overlay: overlay, body: completion("long"), provider: [][]abi.Event{down, down, down, down, down, down}}.run(t)
		return h.header("x-postern-attempts")
	}
	equal(t, "length of the header with all results", len(header("fits")), len("6; ")+400)
	equal(t, "length of the header without the last result", len(header("fails")), len("6; ")+383)
}

func TestAdmissionRoundLimit(t *testing.T) {
	newer := (&host{request: &request{}, t: t}).recordAt(6)
	verdicts := slices.Repeat([]*keymeter.AdmitReply{{Verdict: keymeter.Stale, Record: newer}}, 40)
	h := request{path: "/v1/chat/completions", body: openaiRequest, verdicts: verdicts}.run(t)
	equal(t, "status", h.status(), 503)
	equal(t, "rounds", len(sentCommands[*keymeter.Admit](h)), 32)
}

func TestReportCallLimit(t *testing.T) {
	send := func(replies ...ledger.ReportReply) *host {
		return request{method: "GET", path: "/api/usage", query: "projectId=prj_1", reports: replies}.run(t)
	}
	h := send(slices.Repeat([]ledger.ReportReply{{WaitMs: 100}}, 20)...)
	equal(t, "status", h.status(), 503)
	equal(t, "reports", len(sentCommands[*ledger.Report](h)), 9)
	equal(t, "status after seven waits", send(slices.Repeat([]ledger.ReportReply{{WaitMs: 100}}, 7)...).status(), 200)
}

func TestReportWaitsASecondForOpenRequests(t *testing.T) {
	flush := ledger.ReportReply{Flush: []string{"meter-2"}}
	h := request{method: "GET", path: "/api/usage", query: "projectId=prj_1", openReservations: 1, reports: []ledger.ReportReply{flush, flush, flush, flush}}.run(t)
	equal(t, "status", h.status(), 200)
	var waits []uint64
	for _, a := range h.all(abi.ActionWait) {
		waits = append(waits, a.KeepMs)
	}
	if !slices.Equal(waits, []uint64{100, 300, 600}) {
		t.Errorf("got pauses of %v ms, want 100, 300 and 600", waits)
	}
	reports := sentCommands[*ledger.Report](h)
	equal(t, "Final of the last report", reports[len(reports)-1].Final, true)
}

func TestFlushRepliesInAnyOrder(t *testing.T) {
	// The first of two meters replies last.
	slow := func(h *host, a *abi.Action) bool { return a.Name == "meter-2" && len(h.pending) > 1 }
	h := request{method: "GET", path: "/api/usage", query: "projectId=prj_1", hold: slow, reports: []ledger.ReportReply{{Flush: []string{"meter-2", "meter-3"}}}}.run(t)
	equal(t, "status", h.status(), 200)
	equal(t, "reports", len(sentCommands[*ledger.Report](h)), 2)
	equal(t, "canceled actions", len(h.all(abi.ActionCancel)), 0)
}

func TestBackoffMustFitTheTimeLimit(t *testing.T) {
	send := func(afterMs string) *host {
		busy := wholeResponse(429, `{"error":{"message":"slow down"}}`)
		busy[0].Headers = append(slices.Clone(jsonHead), abi.Header{Name: "retry-after-ms", Value: afterMs})
		return request{path: "/v1/chat/completions", overlay: `{"routing":{"retries":1,"maxBackoffMs":60000,"requestMs":40000}}`, body: openaiRequest,
			provider: [][]abi.Event{busy, wholeResponse(200, openaiResponse)}}.run(t)
	}
	equal(t, "status after a backoff as long as the time limit", send("40000").status(), 502)
	equal(t, "status after a shorter backoff", send("30000").status(), 200)
}

func TestContextTooSmallForTheMinimumResponse(t *testing.T) {
	limited := func(context int) string {
		overlay := fmt.Sprintf(`{"models":[{"name":"tiny","provider":"local","input":"1","output":"1","context":%d,"source":"made up","date":"2026-11"}]}`, context)
		return maxTokensSeen(request{path: "/v1/chat/completions", overlay: overlay, body: chatCompletion("tiny", 1, ""), provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}.run(t))
	}
	equal(t, "max tokens if the minimum response fits", limited(10+4096), "4096/4096")
	equal(t, "max tokens if it does not fit", limited(10+4095), "none/")
}

func TestHeldOutputLimit(t *testing.T) {
	opened := func(size int) int {
		first := chunk(`{"role":"assistant","content":""}`, "null")
		first = first[:len(first)-3] + strings.Repeat(" ", size-len(first)) + first[len(first)-3:]
		return len(runStream(t, first).all(abi.ActionOpen))
	}
	equal(t, "heads after 2 KiB without content", opened(2048), 0)
	equal(t, "heads after more than 2 KiB", opened(2049), 1)
}

func TestLimitHeadersPreferTheFirstWindow(t *testing.T) {
	h := request{method: "GET", path: "/api/health", verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, Windows: []keymeter.Window{second, withRemaining(day, 7)}}}}.run(t)
	equal(t, "limit", h.header("x-ratelimit-limit-requests"), "10")
}

func TestNoSuggestionWithoutAllowedModels(t *testing.T) {
	h := request{path: "/v1/chat/completions", body: openaiRequest, record: func(r *doc.Record) { r.Models = []string{"vectors"} }}.run(t)
	contains(t, "response", h.responseBody(), `is not allowed for this key; see GET /v1/models"`)
}

func TestRejectedRequestHasNoProviderInItsTrace(t *testing.T) {
	h := request{path: "/v1/chat/completions", key: developmentKey, body: "{"}.run(t)
	equal(t, "provider in its trace", sentCommands[*keymeter.Admit](h)[0].Trace.Provider, "")
}

func TestControlPlaneErrorsAreLoggedAsErrors(t *testing.T) {
	for status, level := range map[uint64]string{200: "info", 404: "info", 500: "error"} {
		h := request{method: "GET", path: "/dashboard", control: status}.run(t)
		contains(t, "log", h.log(), `"level":"`+level+`"`)
		equal(t, "error code in the log action", h.one(abi.ActionLog).Code == 1, level == "error")
	}
}

// The prompt costs 6 microdollars. Each token of the response costs 10, so "Hello!" costs 20.
func TestStreamExtendsAtHalfAndIsCutAtItsReservation(t *testing.T) {
	short := &keymeter.AdmitReply{Verdict: keymeter.Short, NeedPico: 5, LeastPico: 5, Epoch: 1}
	send := func(reserved int64, events ...string) *host {
		return request{
			path: "/v1/chat/completions", body: streamRequest, provider: [][]abi.Event{streamEvents(append(events, finish+"data: [DONE]\n\n")...)},
			verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, ReservedPico: reserved}, short, short},
		}.run(t)
	}
	extensions := func(h *host) int { return len(sentCommands[*keymeter.Extend](h)) }
	equal(t, "extensions at half", extensions(send(46*microDollar+1, greeting)), 1)
	equal(t, "extensions below half", extensions(send(46*microDollar+2, greeting)), 0)
	nothing := chunk(`{}`, "null")
	contains(t, "stream that ends at its reservation", send(26*microDollar, greeting, "tick", nothing).sentText(), "data: [DONE]")
	covered := send(36*microDollar, greeting, "tick", greeting)
	contains(t, "stream whose reservation covers one more token", covered.sentText(), "data: [DONE]")
	equal(t, "tokens of it", onlySettlement(t, covered).Tokens.Completion, 3)
	cut := send(36*microDollar-1, greeting, "tick", greeting)
	contains(t, "stream whose reservation does not", cut.sentText(), `"code":"budget_exceeded"`)
	equal(t, "tokens of it", onlySettlement(t, cut).Tokens.Completion, 2)
}

func TestMockWithoutPauseInAnOpenStream(t *testing.T) {
	h := request{path: "/v1/chat/completions", body: strings.Replace(streamRequest, `"gpt"`, `"echo"`, 1), provider: [][]abi.Event{streamEvents("tick", "end")}}.run(t)
	equal(t, "heads", len(h.all(abi.ActionOpen)), 1)
	contains(t, "stream", h.sentText(), "data: [DONE]")
	for _, a := range h.all(abi.ActionWait) {
		if a.KeepMs == 0 {
			t.Error("the mock waits for 0 ms")
		}
	}
}
