package explore_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/test/interpreter"
	events "github.com/postern-ai/postern/test/transcript"
)

// happen performs one option. Then it delivers all replies that are available at once.
func (w *world) happen(o *option) {
	w.trace.choose(o.label)
	o.happen(w)
	for len(w.ready) > 0 && len(w.broken) == 0 {
		event := w.ready[0]
		w.ready = w.ready[1:]
		if event.ID != 0 {
			if w.find(event.ID) == nil {
				continue // it was canceled
			}
			w.remove(event.ID)
		}
		if event.Kind == abi.EventDisconnect {
			w.facts.disconnected = true
		}
		w.step(event)
	}
	if len(w.broken) == 0 && len(w.open) == 0 {
		w.checkEnd()
	}
}

// step runs the machine on one event and performs its actions.
func (w *world) step(event abi.Event) {
	streaming := event.Kind == abi.EventDisconnect && w.streamOpen() && w.Response != interpreter.Closed
	in := abi.StepInput{NowMs: w.nowMs, Shared: w.shared, Pinned: w.entry(), Waiting: w.facts.waiting, Event: event}
	if !w.Step((*host)(w), &in) {
		w.trace.event(&event)
		return
	}
	w.checkOver()
	w.checkDeserted(&event)
	if streaming && w.streamOpen() && w.facts.waiting == 0 {
		w.violate("the client disconnected from a stream, but the upstream is not aborted")
	}
}

// streamOpen reports whether a stream may still produce tokens that are billed: its end marker has not arrived.
func (w *world) streamOpen() bool {
	return !w.facts.clean && slices.ContainsFunc(w.open, func(p pending) bool { return p.action.Kind == abi.ActionFetch && p.action.Stream != 0 })
}

// host is a world in the form that the interpreter uses.
type host world

func (h *host) Run(in *abi.StepInput) (out abi.StepOutput, ok bool) {
	w := (*world)(h)
	defer func() {
		if r := recover(); r != nil {
			w.violate("the step panics: %v", r)
		}
	}()
	row := machine.rowOf(w.config, in.State, &in.Event)
	out = interpreter.Core(h, w.config, in)
	if row >= 0 {
		w.rows[row].add(phasesSeen{machine.phase(w.config, out.State): true})
	}
	if w.scenario.tamper != nil {
		w.scenario.tamper(&in.Event, &out)
	}
	return out, true
}

func (h *host) Stepped(in *abi.StepInput, out *abi.StepOutput) {
	w := (*world)(h)
	w.trace.event(&in.Event)
	if out.SharedChanged {
		w.shared = out.Shared
	}
	w.noteEntry(out)
	w.checkState()
}

func (h *host) Sees(a *abi.Action) bool {
	w := (*world)(h)
	w.trace.action(a)
	w.checkAction(a)
	w.checkAttempts(a)
	if a.Kind == abi.ActionKeep || a.Kind == abi.ActionSupply {
		w.noteWithheld(a)
	}
	return true
}

func (h *host) Start(a *abi.Action) {
	w := (*world)(h)
	switch a.Kind {
	case abi.ActionCall:
		w.noteCall(a)
	case abi.ActionFetch:
		w.noteFetch(a)
	}
	if a.ID != 0 && (a.ID != pinnedID || w.scenario.counts) {
		w.open = append(w.open, pending{action: *a, meaning: w.meaning(a)})
	}
	switch a.Kind {
	case abi.ActionSupply:
		w.atOnce(abi.Event{Kind: abi.EventSupplied, ID: a.ID, Data: w.Content(h, a.Buffer)})
	case abi.ActionRead:
		w.readMemory(a)
	case abi.ActionJoin:
		w.joinFlight(a)
	}
}

func (h *host) Outstanding(id uint64) bool { return (*world)(h).find(id) != nil }

// Cancel removes an action. The action's reply must not be available yet: a host may deliver a reply that was
// available before the cancellation.
func (h *host) Cancel(id uint64) {
	if slices.ContainsFunc(h.ready, func(e abi.Event) bool { return e.ID == id }) {
		h.Violate("ID %d is canceled after its reply arrived", id)
	}
	(*world)(h).remove(id)
}

func (h *host) Pause(a *abi.Action)               { (*world)(h).pause(a) }
func (h *host) Write(*abi.Action, []byte)         {} // checkAction takes it
func (h *host) Answer(a *abi.Action, body []byte) { (*world)(h).sendToCaller(a, body) }
func (h *host) Violate(format string, args ...any) {
	(*world)(h).violate(format, args...)
}

func (h *host) Note(a *abi.Action) {
	w := (*world)(h)
	switch a.Kind {
	case abi.ActionAppend:
		w.noteAttempt(a.Buffer)
		if a.Buffer == w.publishes {
			w.published = append(w.published, a.Data)
		}
	case abi.ActionPin:
		w.pins = true
	case abi.ActionPublish, abi.ActionLand:
		w.noteFlight(a)
	}
}

// sendToCaller sends an action's data to the caller.
func (w *world) sendToCaller(a *abi.Action, body []byte) {
	switch a.Kind {
	case abi.ActionRespond:
		w.checkStoredFirst(a.Code == 200 || a.Code == 400 && w.facts.fetches == 0)
		w.facts.record(fmt.Sprintf("respond %d%s%s", a.Code, contents(body), headerText(a.Headers)))
	case abi.ActionOpen:
		w.facts.record(fmt.Sprintf("open %d%s", a.Code, headerText(a.Headers)))
		w.drain()
	case abi.ActionSend:
		if !bytes.HasPrefix(body, []byte(":")) {
			w.facts.delivered += bytes.Count(body, []byte(completionMark))
			w.sent = append(slices.Clip(w.sent), body...)
			w.checkSent()
			w.checkStoredFirst(succeeded(body))
		}
		w.drain()
	case abi.ActionClose:
		w.facts.record("close" + contents(w.sent))
		w.sent = nil
	}
}

// drain waits for the caller to read. If the client has disconnected, the host notices that here.
func (w *world) drain() {
	if w.scenario.disconnects && !w.facts.disconnected && !w.disconnecting() && w.oracle([]string{"the write succeeds", "the write fails"}) == 1 {
		w.ready = append(w.ready, abi.Event{Kind: abi.EventDisconnect})
	}
}

func (w *world) disconnecting() bool {
	return slices.ContainsFunc(w.ready, func(e abi.Event) bool { return e.Kind == abi.EventDisconnect })
}

func (w *world) find(id uint64) *pending {
	for i := range w.open {
		if w.open[i].action.ID == id {
			return &w.open[i]
		}
	}
	return nil
}

func (w *world) remove(id uint64) {
	w.open = slices.DeleteFunc(w.open, func(p pending) bool { return p.action.ID == id })
}

// held returns the values that host memory may contain.
func (w *world) held(meaning string) []choice {
	return slices.DeleteFunc(slices.Clone(w.choices(meaning+" memory")), func(c choice) bool { return c.event.Code != abi.OutcomeOK })
}

// readMemory replies to a read with a value in host memory. If there is none, KV replies to the read.
func (w *world) readMemory(a *abi.Action) {
	if a.Where&abi.WhereMemory == 0 {
		return
	}
	if w.scenario.bare {
		if a.Where == abi.WhereMemory {
			w.atOnce(abi.Event{Kind: abi.EventStored, ID: a.ID, Code: abi.OutcomeUnsupported})
		}
		return
	}
	meaning := w.meaning(a)
	held := w.held(meaning)
	labels := []string{meaning + " not in memory"}
	for _, c := range held {
		labels = append(labels, meaning+" in memory: "+c.name)
	}
	event := abi.Event{Kind: abi.EventStored, ID: a.ID, Code: abi.OutcomeAbsent}
	at := w.oracle(labels)
	switch {
	case at > 0:
		c := &held[at-1]
		w.scenario.happened(c)
		event.Code, event.Data = c.event.Code, c.event.Data
		w.noteReply(w.find(a.ID), &event)
	case a.Where&(abi.WhereKV|abi.WhereColo) != 0:
		return
	}
	w.atOnce(event)
}

// atOnce replies immediately, as hosts do. On a slow host, other events may come first.
func (w *world) atOnce(event abi.Event) {
	if w.scenario.slow {
		w.find(event.ID).reply = &event
		return
	}
	w.ready = append(w.ready, event)
}

// noteAttempt records that the current attempt has written to a buffer.
func (w *world) noteAttempt(number uint64) {
	if wrote := (attempt{number, w.facts.fetches}); !slices.Contains(w.attempts, wrote) {
		w.attempts = append(slices.Clip(w.attempts), wrote)
	}
}

// checkAttempts checks that no action uses a buffer that has data from two attempts.
func (w *world) checkAttempts(a *abi.Action) {
	switch a.Kind {
	case abi.ActionKeep:
		w.attempts = slices.DeleteFunc(slices.Clone(w.attempts), func(wrote attempt) bool { return wrote.buffer == a.Buffer })
	case abi.ActionSupply, abi.ActionPublish, abi.ActionUnseal:
		w.checkMixed(a.Buffer)
	}
	for _, p := range a.Body {
		w.checkMixed(p.Buffer)
	}
}

func (w *world) checkMixed(number uint64) {
	first := slices.IndexFunc(w.attempts, func(wrote attempt) bool { return wrote.buffer == number })
	if first >= 0 && slices.ContainsFunc(w.attempts[first+1:], func(wrote attempt) bool { return wrote.buffer == number }) {
		w.violate("buffer %d is used with data of several attempts", number)
	}
}

func (w *world) join(parts []abi.Part) []byte { return w.Join((*host)(w), parts) }

// meaning returns the name that an action has in the alphabet.
func (w *world) meaning(a *abi.Action) string {
	switch a.Kind {
	case abi.ActionReadBody:
		return "body"
	case abi.ActionSupply:
		return "supply"
	case abi.ActionUnseal:
		return "unseal " + a.Name[strings.LastIndexByte(a.Name, '/')+1:]
	case abi.ActionWait:
		return "wait"
	case abi.ActionForward:
		return "forward"
	case abi.ActionJoin:
		return "join"
	case abi.ActionFollow:
		return "follow"
	case abi.ActionRead:
		word, rest, _ := strings.Cut(a.Key, "/")
		if word == "policy" {
			word += " " + strings.TrimLeft(rest[strings.LastIndexByte(rest, '/')+1:], "0")
		}
		return word
	case abi.ActionFetch:
		if a.ID == classifyID {
			return "classify"
		}
		if a.Stream != 0 {
			return "stream " + w.target(a)
		}
		return "fetch " + w.target(a)
	}
	return events.Meaning(a)
}

// responded reports whether the caller has the complete response.
func (w *world) responded() bool {
	return w.Response == interpreter.Complete || w.Response == interpreter.Closed
}
