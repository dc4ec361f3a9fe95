package explore_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
	events "github.com/postern-ai/postern/test/transcript"
)

// option is a possible next event.
type option struct {
	label  string
	id     uint64 // ID of the action that gets its reply; 0: none
	happen func(w *world)
}

// options returns everything that can happen next. Timers and disconnects are last.
func (w *world) options() []option {
	if !w.facts.begun {
		return []option{{"request", 0, (*world).begin}}
	}
	var now, later []option
	for i := range w.open {
		p := &w.open[i]
		switch {
		case p.reply != nil:
			now = append(now, option{p.label("available"), p.action.ID, deliverReply(p.action.ID)})
		case p.action.Kind == abi.ActionWait:
			later = append(later, w.timers(p)...)
		case p.action.Kind == abi.ActionFollow:
			now = append(now, w.leaderDoes(p)...)
		case p.script != nil:
			now = append(now, p.pieces()...)
		default:
			now = append(now, w.replies(p)...)
		}
	}
	later = append(later, w.flights()...)
	later = append(later, w.neighbors()...)
	if w.scenario.meanwhile != nil && w.uses["meanwhile"] == 0 && len(w.open) > 0 {
		later = append(later, option{"other exchanges fail", 0, (*world).changeShared})
	}
	if w.scenario.disconnects && !w.facts.disconnected && !w.responded() && len(w.open) > 0 {
		later = append(later, option{"the client disconnects", 0, (*world).disconnect})
	}
	return append(now, later...)
}

func (p *pending) label(what string) string {
	return fmt.Sprintf("%s #%d: %s", p.meaning, p.action.ID, what)
}

func (w *world) begin() {
	w.facts.begun = true
	w.step(abi.Event{Kind: abi.EventRequest, Headers: w.scenario.headers, Data: []byte("0123456789abcdef")})
}

// changeShared changes the isolate's shared state in the way that other exchanges do.
func (w *world) changeShared() {
	w.use("meanwhile", 1)
	w.shared = w.scenario.meanwhile
}

func deliverReply(id uint64) func(*world) {
	return func(w *world) {
		event := *w.find(id).reply
		w.remove(id)
		w.step(event)
	}
}

// timers returns the ways in which a wait can end. It ends on time. If the scenario has a clock, it can also end at
// the request's deadline.
func (w *world) timers(p *pending) []option {
	id, ms := p.action.ID, uint64(0)
	if w.scenario.clock && !w.streamOpen() { // ticks never stop
		ms = p.action.KeepMs
	}
	options := []option{{p.label("timer"), id, timer(id, ms)}}
	if p.action.Code != abi.WaitTimer {
		options = append(options, option{p.label("woken"), id, woken(id)})
	}
	if end := startMs + w.config.Routing.RequestMs; w.scenario.clock && w.nowMs < end {
		options = append(options, option{p.label("timer, at the deadline"), id, timer(id, end-w.nowMs)})
	}
	return options
}

// keepTimerID is the ID of the wait for a response to be stored.
const keepTimerID = 6

func timer(id, ms uint64) func(*world) {
	return func(w *world) {
		if w.nowMs += ms; w.nowMs >= startMs+w.config.Routing.RequestMs {
			w.facts.seen |= sawSlow
		}
		if w.facts.seat == following {
			w.facts.seen |= sawSlow
		}
		w.remove(id)
		if id == keepTimerID && slices.ContainsFunc(w.open, func(p pending) bool { return p.meaning == "settle" }) {
			w.noteKept(false) // too late
		}
		w.step(abi.Event{Kind: abi.EventTimer, ID: id})
	}
}

// woken ends a wait in the queue of the entry early, as a step of another exchange does.
func woken(id uint64) func(*world) {
	return func(w *world) {
		w.remove(id)
		w.step(abi.Event{Kind: abi.EventTimer, ID: id, Code: abi.TimerWoken})
	}
}

func (w *world) disconnect() {
	w.facts.disconnected = true
	w.step(abi.Event{Kind: abi.EventDisconnect})
}

// choices returns the replies that the alphabet has for an action.
func (w *world) choices(meaning string) []choice {
	for name := meaning; ; {
		if choices, ok := w.scenario.alphabet[name]; ok {
			return w.within(name, choices)
		}
		at := strings.LastIndexByte(name, ' ')
		if at < 0 {
			w.violate("the scenario has no replies to %q", meaning)
			return nil
		}
		name = name[:at]
	}
}

func (w *world) within(meaning string, choices []choice) []choice {
	var left []choice
	for _, c := range choices {
		c.meaning = meaning
		if c.times == 0 || w.uses[c.name] < c.times {
			left = append(left, c)
		}
	}
	return left
}

func (w *world) replies(p *pending) (options []option) {
	id := p.action.ID
	for _, c := range w.choices(p.meaning) {
		if c.when != nil && !c.when(events.Open(&p.action)) {
			continue
		}
		options = append(options, option{p.label(c.name), id, func(w *world) { w.reply(id, &c) }})
	}
	return options
}

func (w *world) reply(id uint64, c *choice) {
	w.scenario.happened(c)
	p := w.find(id)
	if c.event.Kind == abi.EventFault {
		w.nowMs += w.waited(&p.action, c.event.Code)
	}
	if c.times > 0 {
		w.use(c.name, 1)
	}
	event := w.eventOf(p, c)
	w.facts.clean = w.facts.clean || c.clean
	w.noteReply(p, &event)
	if c.script != nil {
		p.script, p.at = c.script, 0
		if c.script.bad {
			w.facts.seen |= sawBadProvider
		}
	} else {
		w.remove(id)
	}
	w.step(event)
}

// eventOf returns the event of a choice. It also applies the choice's effects on the host.
func (w *world) eventOf(p *pending, c *choice) abi.Event {
	event := c.event
	event.ID = p.action.ID
	event.Kind = replyKind(p.action.Kind, event.Kind)
	switch {
	case c.reply != nil:
		event.Data = c.reply(keymeter.Open(p.action.Data))
	case p.action.Kind == abi.ActionForward && event.Kind == abi.EventResponse:
		w.Forwarded((*host)(w))
	case event.Kind == abi.EventBody && event.Code == abi.OutcomeOK:
		event.Data = []byte(w.scenario.body)
		w.Buffers.Keep(p.action.Buffer, event.Data)
	case event.Kind == abi.EventResponse:
		w.Buffers.Keep(p.action.Buffer, event.Data)
	}
	return event
}

func replyKind(a abi.ActionKind, given abi.EventKind) abi.EventKind {
	if given != 0 {
		return given
	}
	switch a {
	case abi.ActionReadBody:
		return abi.EventBody
	case abi.ActionSupply, abi.ActionUnseal:
		return abi.EventSupplied
	case abi.ActionRead:
		return abi.EventStored
	case abi.ActionCall:
		return abi.EventReply
	}
	return abi.EventResponse
}

// pieces returns the ways in which a stream can continue.
func (p *pending) pieces() (options []option) {
	id, s, at := p.action.ID, p.script, p.at
	add := func(what string, happen func(*world)) {
		options = append(options, option{p.label(s.name + ", " + what), id, happen})
	}
	if at < len(s.pieces) && !p.paused {
		piece := &s.pieces[at]
		add(piece.name, func(w *world) {
			w.find(id).at++
			w.facts.clean = w.facts.clean || piece.ends
			w.step(abi.Event{Kind: abi.EventChunk, ID: id, Data: piece.data})
		})
	}
	if !s.noEnd && !p.paused {
		add("end", func(w *world) {
			w.facts.seen |= sawBadProvider
			w.remove(id)
			w.step(abi.Event{Kind: abi.EventEnd, ID: id})
		})
	}
	faults := s.faults
	if p.paused {
		faults = []uint64{abi.FaultTotal} // the only timeout that is running
	}
	for _, code := range faults {
		add(faultName(code), func(w *world) {
			w.noteFault(code)
			w.nowMs += w.waited(&w.find(id).action, code)
			w.remove(id)
			w.step(abi.Event{Kind: abi.EventFault, ID: id, Code: code})
		})
	}
	return options
}

// waited returns the time in ms from the start of a fetch until its fault. If there is no clock, it returns 0.
func (w *world) waited(a *abi.Action, code uint64) uint64 {
	if !w.scenario.clock {
		return 0
	}
	switch code {
	case abi.FaultHead:
		return a.HeadMs
	case abi.FaultFirstByte:
		return a.FirstByteMs
	case abi.FaultIdle:
		return a.IdleMs
	case abi.FaultTotal:
		return a.TotalMs
	}
	return 0
}

func faultName(code uint64) string {
	return [...]string{"", "no connection", "no head in time", "no first byte in time", "stalled", "too long", "broken off", "too large", "undelivered"}[code]
}
