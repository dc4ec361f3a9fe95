package explore_test

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
)

// Single flight: the environment includes the other exchanges of a flight. At every point, a follower sees everything
// that its leader can do, and a leader sees followers join and leave.

// seat is the exchange's role in a flight.
type seat uint8

const (
	apart seat = iota
	leading
	following
)

// flown is the data that a leader has published and landed.
type flown struct {
	pieces  [][]byte // pieces of a stream; empty for a non-streaming response
	landing []byte
}

// joinFlight replies to an ActionJoin. The reply is a value from memory, or the role of the exchange in the flight.
func (w *world) joinFlight(a *abi.Action) {
	if w.facts.seat != apart {
		w.violate("the exchange joins a second flight")
	}
	labels, held := []string{"not in memory, leads"}, []choice{}
	if a.Key != "" && !w.scenario.bare {
		held = w.held("cache")
	}
	for _, c := range held {
		labels = append(labels, "in memory: "+c.name)
	}
	if w.scenario.flown != nil {
		labels = append(labels, "not in memory, follows")
	}
	event := abi.Event{Kind: abi.EventStored, ID: a.ID, Code: abi.OutcomeAbsent}
	switch at := w.oracle(labels); {
	case at == 0:
		w.facts.seat = leading
		if w.scenario.unshared {
			event.Code = abi.OutcomeUnsupported
		}
	case at <= len(held):
		w.scenario.happened(&held[at-1])
		event = held[at-1].event
		event.Kind, event.ID = abi.EventStored, a.ID
		w.noteReply(&pending{action: abi.Action{Kind: abi.ActionRead}, meaning: "cache"}, &event)
	default:
		w.facts.seat, w.facts.read, event.Code = following, 0, abi.OutcomeJoined
	}
	w.atOnce(event)
}

// noteFlight records the data that a leader publishes or lands.
func (w *world) noteFlight(a *abi.Action) {
	switch {
	case w.facts.seat == apart:
		w.violate("the exchange is in no flight")
	case a.Kind == abi.ActionPublish && w.facts.seat != leading:
		w.violate("a follower publishes")
	case a.Kind == abi.ActionPublish:
		w.checkLeaks("a flight", w.join(a.Body), false)
		w.published = append(w.published, slices.Concat(w.join(a.Body), w.Content((*host)(w), a.Buffer)))
		w.publishes = a.Buffer
	default:
		w.checkLeaks("a flight", a.Data, false)
		if a.Code == abi.FlightLanded {
			w.landed = a.Data
		}
		w.facts.seat, w.facts.waiting, w.publishes = apart, 0, 0
	}
}

// flights returns the ways in which other exchanges of the isolate can affect a leader's flight.
func (w *world) flights() (options []option) {
	f := &w.facts
	if w.scenario.flown == nil || f.seat != leading {
		return nil
	}
	if f.waiting > 0 {
		return []option{{"the last follower leaves", 0, func(w *world) { w.facts.waiting = 0 }}}
	}
	if w.uses["join"] == 0 {
		options = append(options, option{"another exchange joins", 0, func(w *world) {
			w.use("join", 1)
			w.facts.waiting = 1
		}})
	}
	return options
}

// leaderDoes returns everything that the leader of the followed flight can do next.
func (w *world) leaderDoes(p *pending) (options []option) {
	id, flown, read := p.action.ID, w.scenario.flown, w.facts.read
	add := func(what string, code uint64, data []byte, then func(*world)) {
		options = append(options, option{p.label(what), id, func(w *world) {
			if code == abi.FlightMore {
				w.facts.read++
			} else {
				w.facts.seat = apart
			}
			if then != nil {
				then(w)
			}
			w.remove(id)
			w.step(abi.Event{Kind: abi.EventFlight, ID: id, Code: code, Data: data})
		}})
	}
	if read < len(flown.pieces) {
		add("piece", abi.FlightMore, flown.pieces[read], nil)
	} else {
		add("landed", abi.FlightLanded, flown.landing, nil)
	}
	if read == 0 && w.uses["retry"] == 0 {
		add("retry", abi.FlightRetry, nil, func(w *world) { w.use("retry", 1) })
		add("alone", abi.FlightAlone, nil, nil)
	}
	add("provider timeout", abi.FlightFailed, []byte("provider_timeout"), func(w *world) { w.facts.seen |= sawSlow | sawBadProvider })
	add("the leader dies", abi.FlightFailed, nil, func(w *world) { w.facts.seen |= sawOutage | sawBadProvider })
	return options
}

// checkDeserted checks a stream that has lost its caller and has no followers. The first event that shows this must
// cut the stream.
func (w *world) checkDeserted(e *abi.Event) {
	shows := e.Kind == abi.EventChunk || e.Kind == abi.EventTimer && e.ID == tickID
	if shows && w.facts.disconnected && w.facts.waiting == 0 && w.streamOpen() {
		w.violate("nobody reads the stream, but the upstream is not aborted")
	}
}

const tickID = 12

// fly runs a request with a follower to its end. It returns the data that the request has published and landed.
func fly(s *scenario) *flown {
	s.flown = &flown{}
	w := newWorld(s, s.deploy.parse())
	w.facts.waiting = 1
	w.trace = &transcript{}
	for {
		if _, any := w.advance(func([]string) int { return 0 }); !any || len(w.broken) > 0 {
			break
		}
	}
	if len(w.landed) == 0 {
		panic(s.name + " lands nothing\n" + w.trace.String())
	}
	return &flown{w.published, w.landed}
}

// shared returns requests that share a flight. There are requests that lead it and requests that follow.
func shared() []*scenario {
	sharing := func(name, path, body string, more alphabet, changes ...func(*scenario)) *scenario {
		all := alphabet{"key": {record(cached)}, "cache": {absent}, "admit": {admitted}}.with(more)
		first := post("leader of "+name, path, body, all, append(slices.Clone(changes), staysConnected)...)
		s := post(name, path, body, all, append(slices.Clone(changes), mayName("only"))...)
		s.flown = fly(first)
		return s
	}
	fetches := alphabet{"fetch": {openaiOK, down}}
	streams := alphabet{"stream": {streamed(openaiStream), down}}
	budget := alphabet{"admit": {admitted, short.only(1)}, "grant": {granted, noMore}}
	return []*scenario{
		sharing("shared completion", "/v1/chat/completions", bodyFor("only", messages), fetches),
		sharing("shared completion with a stale record", "/v1/chat/completions", bodyFor("only", messages), fetches.with(alphabet{"admit": {admitted, stale(cached).only(1)}})),
		sharing("shared completion with the budget used up", "/v1/chat/completions", bodyFor("only", messages), fetches.with(budget)),
		sharing("shared completion under a lease", "/v1/chat/completions", bodyFor("only", messages), alphabet{
			"key": {record(both(lendingPlan, cached))}, "admit": {lending}, "fetch": {openaiOK}, "report-lease": {renewed},
		}, entryOf(leasedEntry(lent, false), leaseIsUsedUp), staysConnected),
		sharing("shared stream", "/v1/chat/completions", streaming(bodyFor("only", messages)), streams),
		sharing("shared stream with the budget used up", "/v1/chat/completions", streaming(bodyFor("only", messages)), streams.with(budget)),
		sharing("shared stream of Responses", "/v1/responses", streaming(bodyFor("only", `"input":"`+promptMark+`"`)), streams),
	}
}
