package explore_test

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	story "github.com/postern-ai/postern/internal/transcript"
)

// happen lets one thing happen, and after it all that is answered at once.
func (w *world) happen(o *option) {
	w.trace.choose(o.label)
	o.happen(w)
	for len(w.ready) > 0 && len(w.broken) == 0 {
		event := w.ready[0]
		w.ready = w.ready[1:]
		if event.ID != 0 {
			if w.find(event.ID) == nil {
				continue // it was cancelled
			}
			w.remove(event.ID)
		}
		if event.Kind == abi.EventLeft {
			w.facts.left = true
		}
		w.step(event)
	}
	if len(w.broken) == 0 && len(w.open) == 0 {
		w.checkEnd()
	}
}

// step runs the machine on one event and does what it says.
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
	w.checkState()
	streaming := event.Kind == abi.EventLeft && w.streamOpen() && w.facts.answer != closed
	for i := range out.Actions {
		a := &out.Actions[i]
		w.trace.action(a)
		w.checkAction(a)
		w.perform(a)
	}
	w.checkOver()
	if streaming && w.streamOpen() {
		w.violate("the caller left a stream, and the upstream is not cut")
	}
}

// streamOpen says whether a provider may still send something that is billed: its end mark has not come.
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
	out = machine.step(w.config, &abi.StepInput{NowMs: w.nowMs, Shared: w.shared, State: w.state, Event: event})
	if w.scenario.tamper != nil {
		w.scenario.tamper(&event, &out)
	}
	return out, true
}

// perform does one action as hosts do.
func (w *world) perform(a *abi.Action) {
	switch a.Kind {
	case abi.ActionKeep:
		w.keep(a.Buffer, a.Data)
	case abi.ActionAppend:
		w.append(a.Buffer, a.Data)
	case abi.ActionSupply:
		w.start(a)
		w.atOnce(abi.Event{Kind: abi.EventSupplied, ID: a.ID, Data: w.content(a.Buffer)})
	case abi.ActionRead:
		w.start(a)
		w.readMemory(a)
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
		w.tellCaller(a)
	}
}

// tellCaller is what of an answer reaches the caller.
func (w *world) tellCaller(a *abi.Action) {
	switch a.Kind {
	case abi.ActionRespond:
		w.answerOnce(whole, "Respond")
		w.facts.tell(fmt.Sprintf("respond %d%s%s", a.Code, contents(w.join(a.Body)), headersTold(a.Headers)))
	case abi.ActionOpen:
		w.answerOnce(opened, "Open")
		w.facts.tell(fmt.Sprintf("open %d%s", a.Code, headersTold(a.Headers)))
		w.drain()
	case abi.ActionSend:
		w.checkOpen("Send")
		if body := w.join(a.Body); !bytes.HasPrefix(body, []byte(":")) {
			w.sent = append(slices.Clip(w.sent), body...)
			w.checkSent()
		}
		w.drain()
	case abi.ActionClose:
		w.checkOpen("Close")
		w.facts.answer = closed
		w.facts.tell("close" + contents(w.sent))
		w.sent = nil
	}
}

func (w *world) checkOpen(what string) {
	if w.facts.answer != opened {
		w.violate("%s without an open answer", what)
	}
}

// drain is a write to the caller, who may be gone: the host learns of it then.
func (w *world) drain() {
	if w.scenario.leaves && !w.facts.left && !w.leaving() && w.oracle([]string{"it is taken", "nobody takes it"}) == 1 {
		w.ready = append(w.ready, abi.Event{Kind: abi.EventLeft})
	}
}

func (w *world) leaving() bool {
	return slices.ContainsFunc(w.ready, func(e abi.Event) bool { return e.Kind == abi.EventLeft })
}

func (w *world) answerOnce(how answered, what string) {
	if w.facts.answer != nothing {
		w.violate("%s: the caller has an answer already", what)
	}
	w.facts.answer = how
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

// start notes an action as outstanding.
func (w *world) start(a *abi.Action) {
	if a.ID == 0 {
		w.violate("an action that is answered has no id")
	}
	meaning := w.meaning(a)
	if p := w.find(a.ID); p != nil {
		w.violate("id %d is used for %q while %q is outstanding under it", a.ID, meaning, p.meaning)
	}
	w.open = append(w.open, pending{action: *a, meaning: meaning})
}

// cancel drops an action. One whose answer is there already must not be: hosts need not look for it.
func (w *world) cancel(id uint64) {
	if slices.ContainsFunc(w.ready, func(e abi.Event) bool { return e.ID == id }) {
		w.violate("id %d is cancelled when its answer is there", id)
	}
	w.remove(id)
}

// readMemory answers a read from host memory, at once, or leaves it to KV.
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
	held := slices.DeleteFunc(slices.Clone(w.choices(meaning+" memory")), func(c choice) bool { return c.event.Code != abi.OutcomeOK })
	labels := []string{meaning + " is not in memory"}
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
		w.noteAnswer(w.find(a.ID), &event)
	case a.Where&abi.WhereKV != 0:
		return
	}
	w.atOnce(event)
}

// atOnce answers an action at once, as hosts do; a slow one has other things happen first.
func (w *world) atOnce(event abi.Event) {
	if w.scenario.slow {
		w.find(event.ID).answer = &event
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

func (w *world) content(number uint64) []byte {
	b := w.buffer(number)
	switch {
	case b == nil:
		w.violate("buffer %d is used, and nothing was written to it", number)
		return nil
	case len(b.fetches) > 1:
		w.violate("buffer %d is used, and holds pieces of %d attempts", number, len(b.fetches))
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

// meaning is what an action is about, in words: its alphabet's name.
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
	case abi.ActionRead:
		word, rest, _ := strings.Cut(a.Key, "/")
		if word == "policy" {
			word += " " + strings.TrimLeft(rest[strings.LastIndexByte(rest, '/')+1:], "0")
		}
		return word
	case abi.ActionFetch:
		if a.Stream != 0 {
			return "stream " + w.target(a)
		}
		return "fetch " + w.target(a)
	}
	return story.Meaning(a)
}
