package conformance

import (
	"fmt"
	"strings"
	"time"
)

// faultRows are what breaks, and what must come of it.
var faultRows = concat(statusRows(), []faultRow{
	{"connection drops before a head", both, "", func(c *cell) {
		c.queue(Behavior{Kind: "drop"}, 1)
		c.ask(c.caller.pair, hello).good(says)
		c.booked(0, 1)
		c.queue(Behavior{Kind: "drop"}, 1)
		c.ask(c.caller.single, hello).refused(providerError)
		c.booked(0, 1)
		c.asksAgain(c.caller.single, hello)
		c.flagged(0)
	}},
	{"no head in time: the next target", both, "headMs=700", func(c *cell) {
		c.queue(Behavior{Kind: "hang"}, 1)
		c.ask(c.caller.pair, hello).has("x-postern-attempts", "^2; ").good(says)
		c.flagged(1)
		c.asksAgain(c.caller.pair, hello)
	}},
	{"no head in time, no other target", both, "headMs=200", func(c *cell) {
		c.queue(Behavior{Kind: "hang"}, 1)
		c.ask(c.caller.single, hello).refused(providerTimeout)
		c.partly(0)
	}},
	{"no first byte in time", both, "firstByteMs=150", func(c *cell) {
		c.queue(Behavior{Kind: "silent"}, 1)
		c.ask(c.caller.single, hello).refused(providerTimeout)
		c.partly(0)
	}},
	{"no first byte in time, after keep-alives: an error event", streams, "firstByteMs=800", func(c *cell) {
		c.queue(Behavior{Kind: "silent"}, 1)
		a := c.ask(c.caller.single, hello)
		a.broken(providerTimeout)
		if !strings.Contains(string(a.body), ": keep-alive\n\n") {
			c.Errorf("no keep-alive in %s", a.body)
		}
		c.partly(0)
	}},
	{"no first byte in time, after keep-alives: the next target", streams, "firstByteMs=800", func(c *cell) {
		c.queue(Behavior{Kind: "silent"}, 1)
		c.ask(c.caller.pair, hello).good(says)
		c.upstreamSaw(2)
		c.flagged(1)
	}},
	{"all in all too long", both, "totalMs=700", func(c *cell) {
		kind := "hang"
		if c.stream {
			kind = "endless"
		}
		c.queue(Behavior{Kind: kind}, 1)
		c.ask(c.caller.single, hello).failed(providerTimeout)
		c.flagged(1)
	}},
	{"slow", both, "", func(c *cell) {
		kind := "late-head"
		if c.stream {
			kind = "slow"
		}
		c.queue(Behavior{Kind: kind, DelayMs: 120}, 1)
		c.ask(c.caller.single, hello).good(says)
		c.booked(1, 0)
		c.flagged(0)
	}},
	{"stalls", both, "idleMs=400 firstByteMs=400", brokenBy("stall", providerTimeout)},
	{"cut in half", both, "", brokenBy("truncated", providerAnswer)},
	{"connection breaks", both, "", brokenBy("broken", providerAnswer)},
	{"malformed event", streams, "", brokenBy("malformed", providerAnswer)},
	{"error event", streams, "", func(c *cell) { brokenBy("error-event", providerError)(c) }},
	{"huge event", streams, "", brokenBy("huge-event", providerAnswer)},
	{"huge answer", wholes, "", func(c *cell) {
		c.queue(Behavior{Kind: "huge-event"}, 1) // three megabytes of text are an answer like any other
		if a := c.ask(c.caller.single, hello); a.status != 200 || len(a.body) < 3_000_000 {
			c.Errorf("%d %.500s", a.status, a.body)
		}
		c.booked(1, 0)
		c.queue(Behavior{Kind: "huge"}, 1)
		c.ask(c.caller.single, "too large").refused(providerAnswer)
		c.flagged(1)
	}},
	{"error event before the content: the next target", streams, "", func(c *cell) {
		c.queue(Behavior{Kind: "error-first"}, 1)
		c.queue(Behavior{Kind: "error-head"}, 1)
		c.ask(c.caller.pair, hello).has("x-postern-attempts", "^2; ").refused(providerError)
		for _, kind := range []string{"error-first", "error-head"} {
			c.queue(Behavior{Kind: kind}, 1)
			c.ask(c.caller.pair, kind).has("x-postern-attempts", "^2; ").good(says)
		}
		c.booked(0, 2)
		c.flagged(0)
		c.upstreamSaw(6)
	}},
	{"error event before the content, no other target", streams, "", func(c *cell) {
		for _, kind := range []string{"error-first", "error-head"} {
			c.queue(Behavior{Kind: kind}, 1)
			c.ask(c.caller.single, hello).refused(providerError)
		}
		c.booked(0, 0)
		c.asksAgain(c.caller.single, hello)
	}},
	{"wrong content type", both, "", wrongType("wrong-type")},
	{"a whole answer for a stream", streams, "", wrongType("json")},
	{"everything that the framing allows", streams, "", worksWith("comment")},
	{"byte by byte", both, "", worksWith("bytewise")},
	{"no end mark", streams, "", func(c *cell) {
		if c.caller.first == "sage" {
			brokenBy("no-done", providerAnswer)(c) // its end mark is what says how the answer ended
			return
		}
		worksWith("no-done")(c)
	}},
	{"no figures", both, "", func(c *cell) {
		c.queue(Behavior{Kind: "no-usage"}, 1)
		c.ask(c.caller.single, hello).good(says)
		c.partly(1)
		c.asksAgain(c.caller.single, hello)
	}},
	{"the key's meter is unavailable", both, "", outage("KeyMeter=down")},
	{"the key's meter is overloaded", both, "", outage("KeyMeter=overloaded")},
	{"the ledger is unavailable to a cold key", both, "", outage("Ledger=down")},
	{"the ledger is overloaded for a cold key", both, "", outage("Ledger=overloaded")},
	{"the meter is reset between reserve and settle", both, "", func(c *cell) {
		a := c.held()
		c.do("fault KeyMeter=lost")
		a.release().good(says)
		c.do("fault")
		c.booked(1, 0)
		c.do("advance 1h")
		c.booked(1, 0)
	}},
	{"the isolate is gone before the settle", both, "", func(c *cell) {
		a := c.held()
		c.do("fault KeyMeter=down")
		a.release().good(says)
		c.do("fault", "evict")
		c.do("advance 1h")
		c.expired(1)
		c.do("advance 1h")
		c.expired(1)
	}},
	{"a settle is delivered twice", both, "", func(c *cell) {
		c.do("fault KeyMeter=lost Ledger=lost")
		c.ask(c.caller.single, hello).good(says)
		c.do("advance 30s", "fault", "advance 30s")
		c.booked(1, 0)
	}},
	{"KV is stale", both, "", func(c *cell) {
		c.ask(c.caller.single, hello).good(says)
		c.do("fault kv=frozen", "admin POST /api/admin/projects/$demo/keys/$live.id/deactivate", "evict")
		c.ask(c.caller.single, "again").refused(inactiveKey)
		c.upstreamSaw(1)
	}},
	{"KV is down", both, "", func(c *cell) {
		c.do("evict", "fault kv=down")
		c.ask(c.caller.single, hello).has("retry-after", "^1$").refused(unavailable)
		c.upstreamSaw(0)
		c.do("fault")
		c.booked(0, 0)
		c.ask(c.caller.single, hello).good(says)
	}},
	{"a cached answer is damaged", both, "", func(c *cell) {
		c.ask(c.caller.single, hello).good(says)
		c.ask(c.caller.single, hello).has("x-postern-cache", "^hit$").good(says)
		c.do("corrupt")
		c.ask(c.caller.single, hello).has("x-postern-cache", "^miss$").good(says)
		c.upstreamSaw(2)
	}},
	{"the caller leaves while the provider talks", streams, "", leaves(Behavior{Kind: "endless"})},
	{"the caller leaves while the provider is silent", streams, "", leaves(Behavior{Kind: "stall"})},
	{"the caller leaves", wholes, "", func(c *cell) {
		a := c.held()
		a.leave()
		<-a.ended
		c.do("release", "settle")
		c.booked(1, 0)
		c.ask(c.caller.single, hello).has("x-postern-cache", "^hit$").good(says) // it was paid for
	}},
	{"the clock jumps forward", both, "", jumps("1h")},
	{"the clock jumps back", both, "", jumps("-1h")},
	{"the instance traps", both, "", traps},
})

func concat(lists ...[]faultRow) (all []faultRow) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// statusRows: a provider's own refusal is tried again, then elsewhere, costs nothing and is one admission.
func statusRows() (rows []faultRow) {
	for _, status := range []int{429, 500, 502, 503, 529} {
		refusal := providerError
		if status == 429 {
			refusal = providerBusy
		}
		refusal.details = fmt.Sprintf(`[{"field":"provider","message":"openai returned %d"}]`, status)
		fails := Behavior{Kind: "status", Status: status}
		rows = append(rows,
			faultRow{fmt.Sprint(status, ": again"), both, "", func(c *cell) {
				c.queue(fails, 1)
				c.ask(c.caller.single, hello).has("x-postern-attempts", "^2; ").has("ratelimit", `"day";r=999`).good(says)
				c.booked(1, 0)
			}},
			faultRow{fmt.Sprint(status, ": the next target"), both, "", func(c *cell) {
				c.queue(fails, 2)
				c.ask(c.caller.pair, hello).has("x-postern-attempts", "^3; ").has("ratelimit", `"day";r=999`).good(says)
				c.booked(0, 1)
			}},
			faultRow{fmt.Sprint(status, ": no other target"), both, "", func(c *cell) {
				c.queue(Behavior{Kind: "status", Status: status, Headers: map[string]string{"Retry-After": "30"}}, 1)
				a := c.ask(c.caller.single, hello)
				a.has("retry-after", "^30$").has("x-postern-attempts", "^1; ").has("ratelimit", `"day";r=999`).refused(refusal)
				c.booked(0, 0)
				c.flagged(0)
				c.asksAgain(c.caller.single, hello)
			}})
	}
	return rows
}

// brokenBy: an answer that goes wrong in its midst. A whole one is an error, a stream ends with one; what was
// seen is booked, flagged, and not cached.
func brokenBy(kind string, f failure) func(*cell) {
	return func(c *cell) {
		c.queue(Behavior{Kind: kind}, 1)
		a := c.ask(c.caller.single, hello)
		a.failed(f)
		if text := streamText(a.body); c.stream && (text == "" || !strings.HasPrefix(says, text)) {
			c.Errorf("it says %q before the error", text)
		}
		served := 0
		if c.stream {
			served = 1
		}
		c.partly(served)
		c.asksAgain(c.caller.single, hello)
	}
}

// wrongType: a 200 that is no answer. Of a stream nothing has gone out: the next target is asked.
func wrongType(kind string) func(*cell) {
	return func(c *cell) {
		c.queue(Behavior{Kind: kind}, 1)
		c.ask(c.caller.single, hello).refused(providerAnswer)
		c.partly(0)
		c.asksAgain(c.caller.single, hello)
		if c.stream {
			c.queue(Behavior{Kind: kind}, 1)
			c.ask(c.caller.pair, "another").good(says)
		}
	}
}

func worksWith(kind string) func(*cell) {
	return func(c *cell) {
		c.queue(Behavior{Kind: kind}, 1)
		c.ask(c.caller.single, hello).good(says)
		c.booked(1, 0)
		c.flagged(0)
	}
}

// outage: nothing goes to the provider without the objects.
func outage(fault string) func(*cell) {
	return func(c *cell) {
		c.do("fault " + fault)
		c.ask(c.caller.single, hello).has("retry-after", "^1$").refused(unavailable)
		c.upstreamSaw(0)
		c.do("fault")
		c.booked(0, 0)
		c.ask(c.caller.single, hello).good(says)
		c.booked(1, 0)
	}
}

// held is a request that the provider holds.
func (c *cell) held() *asked {
	c.Helper()
	c.queue(Behavior{Kind: "hold"}, 1)
	a := c.begin(c.caller.single, hello)
	c.do("held 1")
	return a
}

func (a *asked) release() *asked {
	a.c.Helper()
	a.c.do("release")
	a.end()
	a.c.do("settle")
	return a
}

// expired: a reservation was booked as it stood, with tokens that nobody knows.
func (c *cell) expired(requests int) {
	c.Helper()
	u := c.usage()
	m := u.Get("models." + c.caller.first)
	if int(m.Get("requests").Int()) != requests || m.Get("cost").Num <= firstCost || !near(m.Get("cost").Num, u.Get("budget.used").Num) {
		c.Errorf("the ledger has %s", u.Raw)
	}
}

// leaves: the caller leaves a stream; the provider is cut off within a second, and what was seen is booked.
func leaves(b Behavior) func(*cell) {
	return func(c *cell) {
		c.queue(b, 1)
		a := c.begin(c.caller.single, hello)
		c.await("the first of the text", a.begun)
		left := time.Now()
		a.leave()
		c.cutOff(left)
		for end := time.Now().Add(30 * time.Second); c.usage().Get("budget.used").Num == 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				c.Fatal("nothing was booked within 30 seconds")
			}
		}
		c.do("settle")
		c.partly(1)
		c.asksAgain(c.caller.single, hello)
	}
}

// cutOff: the provider's first request was left within a second.
func (c *cell) cutOff(since time.Time) {
	c.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		seen := c.Upstream.Seen()[0]
		switch {
		case seen.Disconnected && seen.DisconnectedAt.Sub(since) > time.Second:
			c.Errorf("the provider was cut off after %v", seen.DisconnectedAt.Sub(since))
			return
		case seen.Disconnected:
			return
		case time.Now().After(end):
			c.Fatal("the provider was not cut off")
		}
	}
}

// jumps: the clock jumps while an answer is under way. It is booked once, as it was, and no window opens.
func jumps(d string) func(*cell) {
	return func(c *cell) {
		var a *asked
		if c.stream {
			c.queue(Behavior{Kind: "slow", DelayMs: 80}, 1)
			a = c.begin(c.caller.single, hello)
			c.await("the first of the text", a.begun)
			c.do("advance " + d + " inflight")
			a.end().good(says)
		} else {
			a = c.held()
			c.do("advance " + d + " inflight")
			a.release().good(says)
		}
		c.do("settle", "advance 2s")
		c.ask(c.caller.single, "again").has("ratelimit", `"day";r=998`).good(says)
		c.do("advance 2h")
		c.booked(2, 0)
	}
}

// traps: the core traps in the midst of an answer. That one ends with an error, others go on, the next is
// served, and the provider is cut off.
func traps(c *cell) {
	other := c.held()
	var a *asked
	if c.stream {
		c.queue(Behavior{Kind: "slow", DelayMs: 200, Chunks: 30}, 1)
		a = c.begin(c.caller.single, "count")
		c.await("the first of the text", a.begun)
		c.do("trap")
		a.end().broken(internalError)
	} else {
		c.do("trap")
		a = c.begin(c.caller.single, "another").end()
		if err := sameBody(a.body, nativeShape.failure(internalError)); a.status != 500 || err != nil {
			c.Errorf("%d %v", a.status, err) // in our own shape: who asks, only the core could tell
		}
	}
	c.begin(c.caller.single, "the next").end().good(says)
	other.release().good(says)
	if c.stream {
		c.do("advance 1h")
		c.expired(3)
	} else {
		c.booked(2, 0)
	}
}
