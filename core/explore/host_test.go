package explore_test

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	events "github.com/postern-ai/postern/internal/transcript"
)

// happen performs one option, then delivers all replies that are available immediately.
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
	out, ok := w.run(event)
	w.trace.event(&event)
	if !ok {
		return
	}
	w.state = out.State
	if out.SharedChanged {
		w.shared = out.Shared
	}
	w.noteEntry(&out)
	w.checkState()
	streaming := event.Kind == abi.EventDisconnect && w.streamOpen() && w.facts.response != closed
	for i := range out.Actions {
		a := &out.Actions[i]
		w.trace.action(a)
		w.checkAction(a)
		w.perform(a)
	}
	w.checkOver()
	w.checkDeserted(&event)
	if streaming && w.streamOpen() && w.facts.waiting == 0 {
		w.violate("the client disconnected from a stream, but the upstream is not aborted")
	}
}

// streamOpen reports whether a stream may still produce billed tokens: its end marker has not arrived.
func (w *world) streamOpen() bool {
	return !w.facts.clean && slices.ContainsFunc(w.open, func(p pending) bool { return p.action.Kind == abi.ActionFetch && p.action.Stream != 0 })
}

func (w *world) run(event abi.Event) (out abi.StepOutput, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			w.violate("the step panics: %v", r)
		}
	}()
	if row := machine.rowOf(w.config, w.state, &event); row >= 0 {
		w.rows[row] = true
	}
	out = machine.step(w.config, &abi.StepInput{NowMs: w.nowMs, Shared: w.shared, State: w.state, Attached: w.attached(), Pinned: w.entry(), Waiting: w.facts.waiting, Event: event})
	if w.scenario.tamper != nil {
		w.scenario.tamper(&event, &out)
	}
	return out, true
}

// perform does one action as a host does.
func (w *world) perform(a *abi.Action) {
	switch a.Kind {
	case abi.ActionPause, abi.ActionResume:
		w.pause(a)
	case abi.ActionKeep:
		w.noteWithheld(a)
		w.keep(a.Buffer, a.Data)
	case abi.ActionAppend:
		w.append(a.Buffer, a.Data)
		if a.Buffer == w.publishes {
			w.published = append(w.published, a.Data)
		}
	case abi.ActionSupply:
		w.noteWithheld(a)
		w.start(a)
		w.atOnce(abi.Event{Kind: abi.EventSupplied, ID: a.ID, Data: w.content(a.Buffer)})
	case abi.ActionRead:
		w.start(a)
		w.readMemory(a)
	case abi.ActionJoin:
		w.start(a)
		w.joinFlight(a)
	case abi.ActionFollow:
		w.start(a)
	case abi.ActionPin:
		w.pins = true
	case abi.ActionPublish, abi.ActionLand:
		w.noteFlight(a)
	case abi.ActionCall:
		w.noteCall(a)
		if a.ID != 0 {
			w.start(a)
		}
	case abi.ActionReadBody, abi.ActionUnseal, abi.ActionWait, abi.ActionForward:
		w.start(a)
	case abi.ActionFetch:
		w.noteFetch(a)
		w.start(a)
	case abi.ActionCancel:
		w.cancel(a.ID)
	case abi.ActionRespond, abi.ActionOpen, abi.ActionSend, abi.ActionClose:
		w.sendToCaller(a)
	}
}

// sendToCaller sends an action's data to the caller.
func (w *world) sendToCaller(a *abi.Action) {
	switch a.Kind {
	case abi.ActionRespond:
		w.respondOnce(complete, "Respond")
		w.checkStoredFirst(a.Code == 200 || a.Code == 400 && w.facts.fetches == 0)
		w.facts.record(fmt.Sprintf("respond %d%s%s", a.Code, contents(w.join(a.Body)), headerText(a.Headers)))
	case abi.ActionOpen:
		w.respondOnce(opened, "Open")
		w.facts.record(fmt.Sprintf("open %d%s", a.Code, headerText(a.Headers)))
		w.drain()
	case abi.ActionSend:
		w.checkOpen("Send")
		if body := w.join(a.Body); !bytes.HasPrefix(body, []byte(":")) {
			w.facts.delivered += bytes.Count(body, []byte(completionMark))
			w.sent = append(slices.Clip(w.sent), body...)
			w.checkSent()
			w.checkStoredFirst(succeeded(body))
		}
		w.drain()
	case abi.ActionClose:
		w.checkOpen("Close")
		w.facts.response = closed
		w.facts.record("close" + contents(w.sent))
		w.sent = nil
	}
}

func (w *world) checkOpen(what string) {
	if w.facts.response != opened {
		w.violate("%s without an open response", what)
	}
}

// drain waits for the caller to read. If the client has disconnected, the host notices it here.
func (w *world) drain() {
	if w.scenario.disconnects && !w.facts.disconnected && !w.disconnecting() && w.oracle([]string{"the write succeeds", "the write fails"}) == 1 {
		w.ready = append(w.ready, abi.Event{Kind: abi.EventDisconnect})
	}
}

func (w *world) disconnecting() bool {
	return slices.ContainsFunc(w.ready, func(e abi.Event) bool { return e.Kind == abi.EventDisconnect })
}

func (w *world) respondOnce(how progress, what string) {
	if w.facts.response != none {
		w.violate("%s: the caller already has a response", what)
	}
	w.facts.response = how
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

// start adds an outstanding action.
func (w *world) start(a *abi.Action) {
	if a.ID == 0 {
		w.violate("an action that gets a reply has no ID")
	}
	meaning := w.meaning(a)
	if p := w.find(a.ID); p != nil {
		w.violate("ID %d is used for %q while %q is outstanding", a.ID, meaning, p.meaning)
	}
	w.open = append(w.open, pending{action: *a, meaning: meaning})
}

// cancel removes an action. Its reply must not be available already, because hosts need not remove it.
func (w *world) cancel(id uint64) {
	if slices.ContainsFunc(w.ready, func(e abi.Event) bool { return e.ID == id }) {
		w.violate("ID %d is canceled after its reply arrived", id)
	}
	w.remove(id)
}

// held are the values that host memory may have.
func (w *world) held(meaning string) []choice {
	return slices.DeleteFunc(slices.Clone(w.choices(meaning+" memory")), func(c choice) bool { return c.event.Code != abi.OutcomeOK })
}

// readMemory replies to a read from host memory, or leaves it to KV.
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

// atOnce replies immediately, as hosts do. On a slow host other events may happen first.
func (w *world) atOnce(event abi.Event) {
	if w.scenario.slow {
		w.find(event.ID).reply = &event
		return
	}
	w.ready = append(w.ready, event)
}

func (w *world) keep(number uint64, data []byte) {
	w.buffers = slices.DeleteFunc(w.buffers, func(b buffer) bool { return b.number == number })
	w.buffers = append(w.buffers, buffer{number: number, data: data})
	sort.Slice(w.buffers, func(i, j int) bool { return w.buffers[i].number < w.buffers[j].number })
}

func (w *world) append(number uint64, data []byte) {
	old := w.buffer(number)
	if old == nil {
		w.keep(number, nil)
		old = w.buffer(number)
	}
	old.data = append(slices.Clip(old.data), data...)
	if !slices.Contains(old.fetches, w.facts.fetches) {
		old.fetches = append(slices.Clip(old.fetches), w.facts.fetches)
	}
}

func (w *world) buffer(number uint64) *buffer {
	for i := range w.buffers {
		if w.buffers[i].number == number {
			return &w.buffers[i]
		}
	}
	return nil
}

// attached is the buffer that every step gets.
func (w *world) attached() []byte {
	if w.buffer(abi.AttachedBuffer) == nil {
		return nil
	}
	return w.content(abi.AttachedBuffer)
}

func (w *world) content(number uint64) []byte {
	b := w.buffer(number)
	switch {
	case b == nil:
		w.violate("buffer %d is used but was never written", number)
		return nil
	case len(b.fetches) > 1:
		w.violate("buffer %d is used with data of %d attempts", number, len(b.fetches))
	}
	return b.data
}

func (w *world) join(parts []abi.Part) (body []byte) {
	for _, p := range parts {
		if p.Buffer != 0 {
			body = append(body, w.content(p.Buffer)...)
		} else {
			body = append(body, p.Data...)
		}
	}
	return body
}

// meaning returns the name of an action in the alphabet.
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
