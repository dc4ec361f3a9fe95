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

// padded is a JSON object of exactly so many bytes.
func padded(object string, size int) string {
	return object[:len(object)-1] + strings.Repeat(" ", size-len(object)) + "}"
}

func TestContentLengthIsADecimalNumber(t *testing.T) {
	for length, status := range map[string]uint64{"9000000": 413, "999999999999999": 413, "9999999999999999": 200, "90x": 200, ":000000": 200, "/9": 200, "": 200} {
		h := request{path: "/v1/chat/completions", body: hello, headers: []abi.Header{{Name: "content-length", Value: length}}, provider: [][]abi.Event{whole(200, goodAnswer)}}.run(t)
		equal(t, "the status with content-length "+length, h.status(), status)
	}
}

func TestLongQueryIsNoQuery(t *testing.T) {
	own := "projectId=prj_1&x="
	send := func(size int) uint64 {
		return request{method: "GET", path: "/api/usage", query: own + strings.Repeat("x", size-len(own))}.run(t).status()
	}
	equal(t, "the status with 1,024 bytes", send(1024), 200)
	equal(t, "the status with more", send(1025), 400)
}

func TestIdempotencyKeyIsOf255CharactersAtMost(t *testing.T) {
	send := func(key string) *host {
		return request{path: "/v1/chat/completions", body: hello, headers: []abi.Header{{Name: "idempotency-key", Value: key}}, provider: [][]abi.Event{whole(200, goodAnswer)}}.run(t)
	}
	equal(t, "the status with 255", send(strings.Repeat("k", 255)).status(), 200)
	for _, wrong := range []string{strings.Repeat("k", 256), "é", "a\tb"} {
		h := send(wrong)
		equal(t, "the status with a wrong one", h.status(), 400)
		want(t, "the answer", h.answered(), "Idempotency-Key")
	}
}

func TestAnswerIsKeptForARepeatUpTo256KiB(t *testing.T) {
	send := func(size int) *keymeter.Settle {
		return settled(t, request{path: "/v1/chat/completions", body: hello, headers: []abi.Header{{Name: "idempotency-key", Value: "order-1"}},
			provider: [][]abi.Event{whole(200, padded(goodAnswer, size))}}.run(t))
	}
	equal(t, "whether one of 256 KiB is oversized", send(256<<10).Oversized, false)
	equal(t, "whether a longer one is", send(256<<10+1).Oversized, true)
}

func TestAnswerIsStoredUpToAMebibyte(t *testing.T) {
	stored := func(size int, seconds uint64) []abi.Action {
		h := request{path: "/v1/chat/completions", body: hello, record: func(r *doc.Record) { r.CacheTTLSeconds = seconds }, provider: [][]abi.Event{whole(200, padded(goodAnswer, size))}}.run(t)
		return h.all(abi.ActionWrite)
	}
	equal(t, "writes for an answer of 1 MiB", len(stored(1<<20, 3600)), 1)
	equal(t, "writes for a longer one", len(stored(1<<20+1, 3600)), 0)
	equal(t, "where one stands for a minute", stored(1<<10, 60)[0].Where, abi.WhereMemory|abi.WhereKV)
	equal(t, "where one stands for less", stored(1<<10, 59)[0].Where, abi.WhereMemory)
}

func TestCachedAnswerHasAnAge(t *testing.T) {
	entry := cacheEntry(t, request{path: "/v1/chat/completions", body: hello, provider: [][]abi.Event{whole(200, goodAnswer)}})
	look := func(afterMs uint64, control string) string {
		return request{path: "/v1/chat/completions", after: afterMs, body: hello, record: caching, stored: entry,
			headers: []abi.Header{{Name: "cache-control", Value: control}}, provider: [][]abi.Event{whole(200, goodAnswer)}}.run(t).header("x-postern-cache")
	}
	for _, c := range []struct {
		after   uint64
		control string
		state   string
	}{
		{3_599_999, "", "hit"}, {3_600_000, "", "miss"}, {60_000, "max-age=60", "hit"}, {60_001, "max-age=60", "miss"}, {60_001, `Max-Age="61"`, "hit"},
		{0, "no-cache", "bypass"}, {0, "max-age=0", "bypass"}, {0, "x, no-store", "bypass"}, {0, "max-age=x", "hit"}, {1000, "max-age=1", "hit"},
	} {
		equal(t, fmt.Sprintf("the cache's state after %d ms with %q", c.after, c.control), look(c.after, c.control), c.state)
	}
}

func TestNamesOfDroppedMembersAreBounded(t *testing.T) {
	long := strings.Repeat("l", 500)
	equal(t, "names of 512 bytes", translated(t, `,"`+long+`":1,"123456789012":1`).header("x-postern-dropped-params"), long+",123456789012")
	equal(t, "longer ones", translated(t, `,"`+long+`":1,"1234567890123":1`).header("x-postern-dropped-params"), long)
}

func TestStoryOfTheAttemptsIsBounded(t *testing.T) {
	// Five targets whose part of the story has 75 bytes and a separator, and one that has what is left of 400, or more.
	story := func(last string) string {
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
		down := whole(500, "")
		h := request{path: "/v1/chat/completions", overlay: overlay, body: completion("long"), provider: [][]abi.Event{down, down, down, down, down, down}}.run(t)
		return h.header("x-postern-attempts")
	}
	equal(t, "the length of a story that fits", len(story("fits")), len("6; ")+400)
	equal(t, "the length of one that does not", len(story("fails")), len("6; ")+383)
}

func TestRoundsOfAdmissionAreBounded(t *testing.T) {
	newer := (&host{request: &request{}, t: t}).recordAt(6)
	verdicts := slices.Repeat([]*keymeter.AdmitReply{{Verdict: keymeter.Stale, Record: newer}}, 40)
	h := request{path: "/v1/chat/completions", body: hello, verdicts: verdicts}.run(t)
	equal(t, "the status", h.status(), 503)
	equal(t, "rounds", len(told[*keymeter.Admit](h)), 32)
}

func TestReportsAreBounded(t *testing.T) {
	send := func(replies ...ledger.ReportReply) *host {
		return request{method: "GET", path: "/api/usage", query: "projectId=prj_1", reports: replies}.run(t)
	}
	h := send(slices.Repeat([]ledger.ReportReply{{WaitMs: 100}}, 20)...)
	equal(t, "the status", h.status(), 503)
	equal(t, "reports", len(told[*ledger.Report](h)), 9)
	equal(t, "the status after seven waits", send(slices.Repeat([]ledger.ReportReply{{WaitMs: 100}}, 7)...).status(), 200)
}

func TestReportWaitsASecondForOpenRequests(t *testing.T) {
	flush := ledger.ReportReply{Flush: []string{"meter-2"}}
	h := request{method: "GET", path: "/api/usage", query: "projectId=prj_1", underWay: 1, reports: []ledger.ReportReply{flush, flush, flush, flush}}.run(t)
	equal(t, "the status", h.status(), 200)
	var waits []uint64
	for _, a := range h.all(abi.ActionWait) {
		waits = append(waits, a.KeepMs)
	}
	if !slices.Equal(waits, []uint64{100, 300, 600}) {
		t.Errorf("the report waits %v ms", waits)
	}
	reports := told[*ledger.Report](h)
	equal(t, "whether the last report is final", reports[len(reports)-1].Final, true)
}

func TestNewsArriveInAnyOrder(t *testing.T) {
	// The first of two meters answers last.
	slow := func(h *host, a *abi.Action) bool { return a.Name == "meter-2" && len(h.open) > 1 }
	h := request{method: "GET", path: "/api/usage", query: "projectId=prj_1", hold: slow, reports: []ledger.ReportReply{{Flush: []string{"meter-2", "meter-3"}}}}.run(t)
	equal(t, "the status", h.status(), 200)
	equal(t, "reports", len(told[*ledger.Report](h)), 2)
	equal(t, "answers that nobody waits for", len(h.all(abi.ActionCancel)), 0)
}

func TestWaitMustEndInTime(t *testing.T) {
	send := func(afterMs string) *host {
		busy := whole(429, `{"error":{"message":"slow down"}}`)
		busy[0].Headers = append(slices.Clone(jsonHead), abi.Header{Name: "retry-after-ms", Value: afterMs})
		return request{path: "/v1/chat/completions", overlay: `{"routing":{"retries":1,"maxBackoffMs":60000,"requestMs":40000}}`, body: hello,
			provider: [][]abi.Event{busy, whole(200, goodAnswer)}}.run(t)
	}
	equal(t, "the status after a wait that leaves no time", send("40000").status(), 502)
	equal(t, "the status after a shorter one", send("30000").status(), 200)
}

func TestSmallContextIsTightBelowTheLeastAnswer(t *testing.T) {
	limited := func(context int) string {
		overlay := fmt.Sprintf(`{"models":[{"name":"tiny","provider":"local","input":"1","output":"1","context":%d,"source":"made up","date":"2026-11"}]}`, context)
		return limits(request{path: "/v1/chat/completions", overlay: overlay, body: open("tiny", 1, ""), provider: [][]abi.Event{whole(200, goodAnswer)}}.run(t))
	}
	equal(t, "the limits where the least answer fits", limited(10+4096), "4096/4096")
	equal(t, "the limits where it does not", limited(10+4095), "none/")
}

func TestLittleIsHeldBackBeforeContent(t *testing.T) {
	opened := func(size int) int {
		first := chunk(`{"role":"assistant","content":""}`, "null")
		first = first[:len(first)-3] + strings.Repeat(" ", size-len(first)) + first[len(first)-3:]
		return len(stream(t, first).all(abi.ActionOpen))
	}
	equal(t, "heads after 2 KiB without content", opened(2048), 0)
	equal(t, "heads after more", opened(2049), 1)
}

func TestLimitWithTheLeastLeftIsTheFirstOfThose(t *testing.T) {
	h := request{method: "GET", path: "/api/health", verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, Windows: []keymeter.Window{second, left(day, 7)}}}}.run(t)
	equal(t, "the limit", h.header("x-ratelimit-limit-requests"), "10")
}

func TestNothingIsSaidWhereNoModelIsAllowed(t *testing.T) {
	h := request{path: "/v1/chat/completions", body: hello, record: func(r *doc.Record) { r.Models = []string{"vectors"} }}.run(t)
	want(t, "the answer", h.answered(), `is not allowed for this key; see GET /v1/models"`)
}

func TestBadRequestIsNobodysAnswer(t *testing.T) {
	h := request{path: "/v1/chat/completions", key: mockedKey, body: "{"}.run(t)
	equal(t, "the provider in its trace", told[*keymeter.Admit](h)[0].Trace.Provider, "")
}

func TestControlPlanesErrorIsOneInTheLog(t *testing.T) {
	for status, level := range map[uint64]string{200: "info", 404: "info", 500: "error"} {
		h := request{method: "GET", path: "/dashboard", control: status}.run(t)
		want(t, "the log", h.log(), `"level":"`+level+`"`)
		equal(t, "the log's code is an error's", h.one(abi.ActionLog).Code == 1, level == "error")
	}
}

// An answer of "Hello!" costs 26 millionths of a dollar so far, with its prompt.
func TestStreamGrowsAtThreeQuartersAndIsCutAtTheEnd(t *testing.T) {
	send := func(reserved int64) *host {
		nothing := chunk(`{}`, "null")
		return request{
			path: "/v1/chat/completions", body: streamed, provider: [][]abi.Event{flowing(greeting, "tick", nothing, finish+"data: [DONE]\n\n")},
			verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, ReservedPico: reserved}, {Verdict: keymeter.Short, NeedPico: 5, LeastPico: 5, Epoch: 1}},
		}.run(t)
	}
	const cost = 26 * micro
	wishes := func(h *host) int { return len(told[*keymeter.Extend](h)) }
	equal(t, "wishes at three quarters", wishes(send(cost*4/3+1)), 1)
	equal(t, "wishes just below", wishes(send(cost*4/3+2)), 0)
	want(t, "the stream that has a little left", send(cost+1).streamed(), "data: [DONE]")
	want(t, "the stream that has nothing left", send(cost).streamed(), `"code":"budget_exceeded"`)
}

func TestMockInAnOpenStreamDoesNotWaitWithoutAPause(t *testing.T) {
	h := request{path: "/v1/chat/completions", body: strings.Replace(streamed, `"gpt"`, `"echo"`, 1), provider: [][]abi.Event{flowing("tick", "end")}}.run(t)
	equal(t, "heads", len(h.all(abi.ActionOpen)), 1)
	want(t, "the stream", h.streamed(), "data: [DONE]")
	for _, a := range h.all(abi.ActionWait) {
		if a.KeepMs == 0 {
			t.Error("the mock waits for no time")
		}
	}
}
