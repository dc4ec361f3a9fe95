package conformance

import (
	"fmt"
	"strings"
	"time"
)

var faultRows = concat(statusRows(), []faultRow{
	{"connection drops before a head", both, "", func(c *fixture) {
		c.queue(Behavior{Kind: "drop"}, 1)
		c.call(c.caller.pair, hello).wantText(goodText)
		c.wantBooked(0, 1)
		c.queue(Behavior{Kind: "drop"}, 1)
		c.call(c.caller.single, hello).wantError(providerError)
		c.wantBooked(0, 1)
		c.wantUncached(c.caller.single, hello)
		c.wantFlagged(0)
	}},
	{"head timeout, fallback", both, "headMs=700", func(c *fixture) {
		c.queue(Behavior{Kind: "hang"}, 1)
		c.call(c.caller.pair, hello).wantHeader("x-postern-attempts", "^2; ").wantText(goodText)
		c.wantFlagged(1)
		c.wantUncached(c.caller.pair, hello)
	}},
	{"head timeout, no other target", both, "headMs=200", func(c *fixture) {
		c.queue(Behavior{Kind: "hang"}, 1)
		c.call(c.caller.single, hello).wantError(providerTimeout)
		c.wantEstimate(0)
	}},
	{"first byte timeout", both, "firstByteMs=150", func(c *fixture) {
		c.queue(Behavior{Kind: "silent"}, 1)
		c.call(c.caller.single, hello).wantError(providerTimeout)
		c.wantEstimate(0)
	}},
	{"first byte timeout after keep-alives, error event", streams, "firstByteMs=800", func(c *fixture) {
		c.queue(Behavior{Kind: "silent"}, 1)
		a := c.call(c.caller.single, hello)
		a.wantStreamError(providerTimeout)
		if !strings.Contains(string(a.body), ": keep-alive\n\n") {
			c.Errorf("%s has no keep-alive", a.body)
		}
		c.wantEstimate(0)
	}},
	{"first byte timeout after keep-alives, fallback", streams, "firstByteMs=800", func(c *fixture) {
		c.queue(Behavior{Kind: "silent"}, 1)
		c.call(c.caller.pair, hello).wantText(goodText)
		c.wantUpstream(2)
		c.wantFlagged(1)
	}},
	{"total timeout", both, "totalMs=700", func(c *fixture) {
		kind := "hang"
		if c.stream {
			kind = "endless"
		}
		c.queue(Behavior{Kind: kind}, 1)
		c.call(c.caller.single, hello).wantFailure(providerTimeout)
		c.wantFlagged(1)
	}},
	{"slow response", both, "", func(c *fixture) {
		kind := "late-head"
		if c.stream {
			kind = "slow"
		}
		c.queue(Behavior{Kind: kind, DelayMs: 120}, 1)
		c.call(c.caller.single, hello).wantText(goodText)
		c.wantBooked(1, 0)
		c.wantFlagged(0)
	}},
	{"stalled response", both, "idleMs=400 firstByteMs=400", brokenBy("stall", providerTimeout)},
	{"truncated response", both, "", brokenBy("truncated", providerAnswer)},
	{"connection breaks", both, "", brokenBy("broken", providerAnswer)},
	{"malformed event", streams, "", brokenBy("malformed", providerAnswer)},
	{"error event", streams, "", func(c *fixture) { brokenBy("error-event", providerError)(c) }},
	{"huge event", streams, "", brokenBy("huge-event", providerAnswer)},
	{"huge response", nonStreams, "", func(c *fixture) {
		c.queue(Behavior{Kind: "huge-event"}, 1) // three megabytes of text are a valid response
		if a := c.call(c.caller.single, hello); a.status != 200 || len(a.body) < 3_000_000 {
			c.Errorf("%d %.500s", a.status, a.body)
		}
		c.wantBooked(1, 0)
		c.queue(Behavior{Kind: "huge"}, 1)
		c.call(c.caller.single, "too large").wantError(providerAnswer)
		c.wantFlagged(1)
	}},
	{"error event before the content, fallback", streams, "", func(c *fixture) {
		c.queue(Behavior{Kind: "error-first"}, 1)
		c.queue(Behavior{Kind: "error-head"}, 1)
		c.call(c.caller.pair, hello).wantHeader("x-postern-attempts", "^2; ").wantError(providerError)
		for _, kind := range []string{"error-first", "error-head"} {
			c.queue(Behavior{Kind: kind}, 1)
			c.call(c.caller.pair, kind).wantHeader("x-postern-attempts", "^2; ").wantText(goodText)
		}
		c.wantBooked(0, 2)
		c.wantFlagged(0)
		c.wantUpstream(6)
	}},
	{"error event before the content, no other target", streams, "", func(c *fixture) {
		for _, kind := range []string{"error-first", "error-head"} {
			c.queue(Behavior{Kind: kind}, 1)
			c.call(c.caller.single, hello).wantError(providerError)
		}
		c.wantBooked(0, 0)
		c.wantUncached(c.caller.single, hello)
	}},
	{"wrong content type", both, "", wrongType("wrong-type")},
	{"JSON instead of a stream", streams, "", wrongType("json")},
	{"unusual but valid framing", streams, "", worksWith("comment")},
	{"byte by byte", both, "", worksWith("bytewise")},
	{"no end marker", streams, "", func(c *fixture) {
		if c.caller.first == "sage" {
			brokenBy("no-done", providerAnswer)(c) // in this format, only the end marker has the finish reason
			return
		}
		worksWith("no-done")(c)
	}},
	{"no usage", both, "", func(c *fixture) {
		c.queue(Behavior{Kind: "no-usage"}, 1)
		c.call(c.caller.single, hello).wantText(goodText)
		c.wantEstimate(1)
		c.wantUncached(c.caller.single, hello)
	}},
	{"the key's meter is unavailable", both, "", outage("KeyMeter=down")},
	{"the key's meter is overloaded", both, "", outage("KeyMeter=overloaded")},
	{"the ledger is unavailable to a cold key", both, "", outage("Ledger=down")},
	{"the ledger is overloaded for a cold key", both, "", outage("Ledger=overloaded")},
	{"the meter is reset between reserve and settle", both, "", func(c *fixture) {
		a := c.heldCall()
		c.do("fault KeyMeter=lost")
		a.release().wantText(goodText)
		c.do("fault")
		c.wantBooked(1, 0)
		c.do("advance 1h")
		c.wantBooked(1, 0)
	}},
	{"the isolate ends before the settle", both, "", func(c *fixture) {
		a := c.heldCall()
		c.do("fault KeyMeter=down")
		a.release().wantText(goodText)
		c.do("fault", "evict")
		c.do("advance 1h")
		c.wantExpired(1)
		c.do("advance 1h")
		c.wantExpired(1)
	}},
	{"a settle is delivered twice", both, "", func(c *fixture) {
		c.do("fault KeyMeter=lost Ledger=lost")
		c.call(c.caller.single, hello).wantText(goodText)
		c.do("advance 30s", "fault", "advance 30s")
		c.wantBooked(1, 0)
	}},
	{"KV is stale", both, "", func(c *fixture) {
		c.call(c.caller.single, hello).wantText(goodText)
		c.do("fault kv=frozen", "admin POST /api/admin/projects/$demo/keys/$live.id/deactivate", "evict")
		c.call(c.caller.single, "again").wantError(inactiveKey)
		c.wantUpstream(1)
	}},
	{"KV is down", both, "", func(c *fixture) {
		c.do("evict", "fault kv=down")
		c.call(c.caller.single, hello).wantHeader("retry-after", "^1$").wantError(unavailable)
		c.wantUpstream(0)
		c.do("fault")
		c.wantBooked(0, 0)
		c.call(c.caller.single, hello).wantText(goodText)
	}},
	{"a cached response is corrupt", both, "", func(c *fixture) {
		c.call(c.caller.single, hello).wantText(goodText)
		c.call(c.caller.single, hello).wantHeader("x-postern-cache", "^hit$").wantText(goodText)
		c.do("corrupt")
		c.call(c.caller.single, hello).wantHeader("x-postern-cache", "^miss$").wantText(goodText)
		c.wantUpstream(2)
	}},
	{"disconnect while the provider sends", streams, "", disconnects(Behavior{Kind: "endless"})},
	{"disconnect while the provider stalls", streams, "", disconnects(Behavior{Kind: "stall"})},
	{"disconnect", nonStreams, "", func(c *fixture) {
		a := c.heldCall()
		a.leave()
		<-a.ended
		c.do("release", "settle")
		c.wantBooked(1, 0)
		c.call(c.caller.single, hello).wantHeader("x-postern-cache", "^hit$").wantText(goodText) // the completed response was booked and cached
	}},
	{"the clock jumps forward", both, "", jumps("1h")},
	{"the clock jumps back", both, "", jumps("-1h")},
	{trapRow, both, "", traps},
})

func concat(lists ...[]faultRow) (all []faultRow) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// trapRow needs a core that can trap.
const trapRow = "the instance traps"

// statusRows test a provider's error status. The request is retried, then the next target is called. The failed
// attempts cost nothing, and the request counts as one admission.
func statusRows() (rows []faultRow) {
	for _, status := range []int{429, 500, 502, 503, 529} {
		refusal := providerError
		if status == 429 {
			refusal = providerBusy
		}
		refusal.did = fmt.Sprint("returned ", status)
		fails := Behavior{Kind: "status", Status: status}
		rows = append(rows,
			faultRow{fmt.Sprint(status, ": retry"), both, "", func(c *fixture) {
				c.queue(fails, 1)
				c.call(c.caller.single, hello).wantHeader("x-postern-attempts", "^2; ").wantHeader("ratelimit", `"day";r=999`).wantText(goodText)
				c.wantBooked(1, 0)
			}},
			faultRow{fmt.Sprint(status, ": fallback"), both, "", func(c *fixture) {
				c.queue(fails, 2)
				c.call(c.caller.pair, hello).wantHeader("x-postern-attempts", "^3; ").wantHeader("ratelimit", `"day";r=999`).wantText(goodText)
				c.wantBooked(0, 1)
			}},
			faultRow{fmt.Sprint(status, ": no other target"), both, "", func(c *fixture) {
				c.queue(Behavior{Kind: "status", Status: status, Headers: map[string]string{"Retry-After": "30"}}, 1)
				a := c.call(c.caller.single, hello)
				a.wantHeader("retry-after", "^30$").wantHeader("x-postern-attempts", "^1; ").wantHeader("ratelimit", `"day";r=999`).wantError(refusal)
				c.wantBooked(0, 0)
				c.wantFlagged(0)
				c.wantUncached(c.caller.single, hello)
			}})
	}
	return rows
}

// brokenBy tests a response that fails midway. The caller gets an error, or a stream that ends with one. The
// delivered part is booked and flagged, but not cached.
func brokenBy(kind string, f failure) func(*fixture) {
	return func(c *fixture) {
		c.queue(Behavior{Kind: kind}, 1)
		a := c.call(c.caller.single, hello)
		a.wantFailure(f)
		if text := streamText(a.body); c.stream && (text == "" || !strings.HasPrefix(goodText, text)) {
			c.Errorf("the text before the error is %q", text)
		}
		served := 0
		if c.stream {
			served = 1
		}
		c.wantEstimate(served)
		c.wantUncached(c.caller.single, hello)
	}
}

// wrongType tests a 200 with an invalid response. A stream has sent nothing yet, so the request falls back to the
// next target.
func wrongType(kind string) func(*fixture) {
	return func(c *fixture) {
		c.queue(Behavior{Kind: kind}, 1)
		c.call(c.caller.single, hello).wantError(providerAnswer)
		c.wantEstimate(0)
		c.wantUncached(c.caller.single, hello)
		if c.stream {
			c.queue(Behavior{Kind: kind}, 1)
			c.call(c.caller.pair, "another").wantText(goodText)
		}
	}
}

func worksWith(kind string) func(*fixture) {
	return func(c *fixture) {
		c.queue(Behavior{Kind: kind}, 1)
		c.call(c.caller.single, hello).wantText(goodText)
		c.wantBooked(1, 0)
		c.wantFlagged(0)
	}
}

// outage checks that no provider is called while an object is unavailable.
func outage(fault string) func(*fixture) {
	return func(c *fixture) {
		c.do("fault " + fault)
		c.call(c.caller.single, hello).wantHeader("retry-after", "^1$").wantError(unavailable)
		c.wantUpstream(0)
		c.do("fault")
		c.wantBooked(0, 0)
		c.call(c.caller.single, hello).wantText(goodText)
		c.wantBooked(1, 0)
	}
}

// heldCall starts a request that the provider holds.
func (c *fixture) heldCall() *call {
	c.Helper()
	c.queue(Behavior{Kind: "hold"}, 1)
	a := c.begin(c.caller.single, hello)
	c.do("held 1")
	return a
}

func (a *call) release() *call {
	a.c.Helper()
	a.c.do("release")
	a.end()
	a.c.do("settle")
	return a
}

// wantExpired checks that an expired reservation was booked at its reserved amount, without token counts.
func (c *fixture) wantExpired(requests int) {
	c.Helper()
	u := c.usage()
	m := u.Get("models." + c.caller.first)
	if int(m.Get("requests").Int()) != requests || m.Get("cost").Num <= firstCost || !near(m.Get("cost").Num, u.Get("budget.used").Num) {
		c.Errorf("the ledger has %s", u.Raw)
	}
}

// disconnects tests a client disconnect during a stream: the upstream request is aborted within a second, and the delivered
// part is booked.
func disconnects(b Behavior) func(*fixture) {
	return func(c *fixture) {
		c.queue(b, 1)
		a := c.begin(c.caller.single, hello)
		c.await("the first text", a.begun)
		left := time.Now()
		a.leave()
		c.wantAborted(left)
		for end := time.Now().Add(30 * time.Second); c.usage().Get("budget.used").Num == 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				c.Fatal("no cost was booked within 30 seconds")
			}
		}
		c.do("settle")
		c.wantEstimate(1)
		c.wantUncached(c.caller.single, hello)
	}
}

// soon is one second plus the delay on a busy machine. Without the disconnect, the provider would continue until its
// timeout.
const soon = 5 * time.Second

// wantAborted checks that the first upstream request was aborted within a second.
func (c *fixture) wantAborted(since time.Time) {
	c.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		seen := c.Upstream.Seen()[0]
		switch {
		case seen.Disconnected && seen.DisconnectedAt.Sub(since) > soon:
			c.Errorf("the upstream request was aborted after %v", seen.DisconnectedAt.Sub(since))
			return
		case seen.Disconnected:
			return
		case time.Now().After(end):
			c.Fatal("the upstream request was not aborted")
		}
	}
}

// jumps tests a clock jump while a response is in flight. The request is booked once at its actual cost, and the rate
// limits are not reset.
func jumps(d string) func(*fixture) {
	return func(c *fixture) {
		var a *call
		if c.stream {
			c.queue(Behavior{Kind: "answer", Pause: true}, 1)
			a = c.begin(c.caller.single, hello)
			c.await("the first text", a.begun)
			c.do("held 1", "advance "+d+" inflight")
			a.release().wantText(goodText)
		} else {
			a = c.heldCall()
			c.do("advance " + d + " inflight")
			a.release().wantText(goodText)
		}
		c.do("settle", "advance 2s")
		c.call(c.caller.single, "again").wantHeader("ratelimit", `"day";r=998`).wantText(goodText)
		c.do("advance 2h")
		c.wantBooked(2, 0)
	}
}

// traps tests a trap of the core in the middle of a response. That response ends with an error, others continue, and
// the next request is served.
func traps(c *fixture) {
	other := c.heldCall()
	var a *call
	if c.stream {
		c.queue(Behavior{Kind: "slow", DelayMs: 200, Chunks: 30}, 1)
		a = c.begin(c.caller.single, "count")
		c.await("the first text", a.begun)
		c.do("trap")
		a.end().wantStreamError(internalError)
	} else {
		c.do("trap")
		a = c.begin(c.caller.single, "another").end()
		if err := sameBody(a.body, nativeShape.failure(internalError)); a.status != 500 || err != nil {
			c.Errorf("%d %v", a.status, err) // in the native format, because only the core knows the caller's format
		}
	}
	c.begin(c.caller.single, "the next").end().wantText(goodText)
	other.release().wantText(goodText)
	if c.stream {
		c.do("advance 1h")
		c.wantExpired(3)
	} else {
		c.wantBooked(2, 0)
	}
}
