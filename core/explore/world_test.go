package explore_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// startMs is the clock at a request's arrival: November 21st, 2026, 12:00 UTC.
const startMs = 1_795_262_400_000

// oracle decides what is left open: it takes one of the options.
type oracle func(options []string) int

// world is one exchange and all that its surroundings remember of it.
type world struct {
	scenario *scenario
	config   *config.Config
	oracle   oracle
	trace    *transcript // nil: nobody reads it
	rows     []bool      // that were reached

	nowMs   uint64
	state   []byte
	shared  []byte
	open    []pending
	ready   []abi.Event // answers that were there at once
	buffers []buffer
	uses    map[string]int // of choices that are bounded
	facts   facts
	broken  []string // what was violated
	stored  []byte   // in the cache
	sent    []byte   // of a stream, to the caller, but for comments
}

// pending is an action that is not answered.
type pending struct {
	action  abi.Action
	meaning string
	script  *script    // a stream that has begun
	at      int        // its next piece
	answer  *abi.Event // that a slow host has
}

type buffer struct {
	number  uint64
	data    []byte
	fetches []int // during which attempts it was appended to
}

// answered is how far the caller's answer is.
type answered uint8

const (
	nothing answered = iota
	whole
	opened
	closed
)

// facts are what the invariants need to know of the past.
type facts struct {
	begun      bool
	answer     answered
	left       bool
	admitted   keymeter.Mode // of the last admission; 0: none yet
	idem       bool          // that admission began an idempotency record
	settled    int
	fetches    int
	asked      string // the models that were fetched, each after a space
	clean      bool   // the last fetch brought a whole, clean answer
	dispatched bool   // a fetch went out under a reservation
	seen       reasons
	told       string // what the caller, the meter and the cache were told, in words
}

// reasons are what may justify a refusal.
type reasons uint16

const (
	sawStranger    reasons = 1 << iota // the key is unknown or inactive
	sawLimit                           // a window is full, or too much is under way
	sawNoBudget                        // the Ledger has no more
	sawOutage                          // a part of ours failed
	sawBadProvider                     // a provider did not answer well
	sawSlow                            // a provider took too long
	sawSealed                          // a project's key did not open
	sawRound                           // the meter was asked again
	sawRounds                          // and again
)

func (f *facts) encode(w *abi.Writer) {
	w.Bool(f.begun)
	w.Uint(uint64(f.answer))
	w.Bool(f.left)
	w.Uint(uint64(f.admitted))
	w.Bool(f.idem)
	w.Uint(uint64(f.settled))
	w.Uint(uint64(f.fetches))
	w.String(f.asked)
	w.Bool(f.clean)
	w.Bool(f.dispatched)
	w.Uint(uint64(f.seen))
	w.String(f.told)
}

func (f *facts) tell(what string) {
	if f.told != "" {
		f.told += "; "
	}
	f.told += what
}

func newWorld(s *scenario, cfg *config.Config) *world {
	return &world{scenario: s, config: cfg, nowMs: startMs, shared: s.shared, rows: make([]bool, len(machine.rows()))}
}

// clone is a world that goes its own way. Contents of buffers are never changed in place.
func (w *world) clone() *world {
	c := *w
	c.open, c.buffers, c.ready = slices.Clone(w.open), slices.Clone(w.buffers), nil
	c.uses = nil
	for name, n := range w.uses {
		c.use(name, n)
	}
	c.broken = nil
	return &c
}

func (w *world) use(name string, n int) {
	if w.uses == nil {
		w.uses = map[string]int{}
	}
	w.uses[name] += n
}

func (w *world) violate(format string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

// option is one thing that may happen next.
type option struct {
	label  string
	id     uint64 // of the action that it answers
	happen func(w *world)
}

// options are all that may happen next, timers and the caller's leaving last.
func (w *world) options() []option {
	if !w.facts.begun {
		return []option{{"request", 0, (*world).begin}}
	}
	var now, later []option
	for i := range w.open {
		p := &w.open[i]
		switch {
		case p.answer != nil:
			now = append(now, option{p.label("there"), p.action.ID, handOver(p.action.ID)})
		case p.action.Kind == abi.ActionWait:
			later = append(later, w.timers(p)...)
		case p.script != nil:
			now = append(now, p.pieces()...)
		default:
			now = append(now, w.answers(p)...)
		}
	}
	if w.scenario.meanwhile != nil && w.uses["meanwhile"] == 0 && len(w.open) > 0 {
		later = append(later, option{"meanwhile other exchanges fail", 0, (*world).otherwise})
	}
	if w.scenario.leaves && !w.facts.left && w.facts.answer != whole && w.facts.answer != closed && len(w.open) > 0 {
		later = append(later, option{"the caller leaves", 0, (*world).leave})
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

// otherwise is what other exchanges of the isolate do to its knowledge of targets.
func (w *world) otherwise() {
	w.use("meanwhile", 1)
	w.shared = w.scenario.meanwhile
}

func handOver(id uint64) func(*world) {
	return func(w *world) {
		event := *w.find(id).answer
		w.remove(id)
		w.step(event)
	}
}

// timers are when a wait may end: in time or, where there is a clock, when the request's time is up.
func (w *world) timers(p *pending) []option {
	id, ms := p.action.ID, uint64(0)
	if w.scenario.clock && !w.streamOpen() { // ticks come without end
		ms = p.action.KeepMs
	}
	options := []option{{p.label("timer"), id, timer(id, ms)}}
	if end := startMs + w.config.Routing.RequestMs; w.scenario.clock && w.nowMs < end {
		options = append(options, option{p.label("timer, when time is up"), id, timer(id, end-w.nowMs)})
	}
	return options
}

func timer(id, ms uint64) func(*world) {
	return func(w *world) {
		if w.nowMs += ms; w.nowMs >= startMs+w.config.Routing.RequestMs {
			w.facts.seen |= sawSlow
		}
		w.remove(id)
		w.step(abi.Event{Kind: abi.EventTimer, ID: id})
	}
}

func (w *world) leave() {
	w.facts.left = true
	w.step(abi.Event{Kind: abi.EventLeft})
}

// choices are what the alphabet says of an action.
func (w *world) choices(meaning string) []choice {
	for name := meaning; ; {
		if choices, ok := w.scenario.alphabet[name]; ok {
			return w.within(name, choices)
		}
		at := strings.LastIndexByte(name, ' ')
		if at < 0 {
			w.violate("the scenario does not say what may answer %q", meaning)
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

func (w *world) answers(p *pending) (options []option) {
	id := p.action.ID
	for _, c := range w.choices(p.meaning) {
		if c.when != nil && !c.when(ledger.Open(p.action.Data)) {
			continue
		}
		options = append(options, option{p.label(c.name), id, func(w *world) { w.answer(id, &c) }})
	}
	return options
}

// answer delivers a choice.
func (w *world) answer(id uint64, c *choice) {
	w.scenario.happened(c)
	p := w.find(id)
	if c.event.Kind == abi.EventFault {
		w.nowMs += w.waited(&p.action, c.event.Code)
	}
	if c.times > 0 {
		w.use(c.name, 1)
	}
	event := c.event
	event.ID = id
	event.Kind = answerKind(p.action.Kind, event.Kind)
	switch event.Kind {
	case abi.EventBody:
		if event.Code == abi.OutcomeOK {
			event.Data = []byte(w.scenario.body)
			w.keep(p.action.Buffer, event.Data)
		}
	case abi.EventResponse:
		if p.action.Kind == abi.ActionForward {
			w.answerOnce(whole, "the control plane's answer")
		} else {
			w.keep(p.action.Buffer, event.Data)
		}
	}
	if c.reply != nil {
		event.Data = c.reply(keymeter.Open(p.action.Data))
	}
	w.facts.clean = w.facts.clean || c.clean
	w.noteAnswer(p, &event)
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

func answerKind(a abi.ActionKind, given abi.EventKind) abi.EventKind {
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

// pieces are the ways in which a stream may go on.
func (p *pending) pieces() (options []option) {
	id, s, at := p.action.ID, p.script, p.at
	add := func(what string, happen func(*world)) {
		options = append(options, option{p.label(s.name + ", " + what), id, happen})
	}
	if at < len(s.pieces) {
		piece := &s.pieces[at]
		add(piece.name, func(w *world) {
			w.find(id).at++
			w.facts.clean = w.facts.clean || piece.ends
			w.step(abi.Event{Kind: abi.EventChunk, ID: id, Data: piece.data})
		})
	}
	if !s.noEnd {
		add("end", func(w *world) {
			w.facts.seen |= sawBadProvider
			w.remove(id)
			w.step(abi.Event{Kind: abi.EventEnd, ID: id})
		})
	}
	for _, code := range s.faults {
		add(faultName(code), func(w *world) {
			w.noteFault(code)
			w.nowMs += w.waited(&w.find(id).action, code)
			w.remove(id)
			w.step(abi.Event{Kind: abi.EventFault, ID: id, Code: code})
		})
	}
	return options
}

// waited is how long a fetch took to its fault, where there is a clock.
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
	case abi.ActionRespond:
		w.answerOnce(whole, "Respond")
		w.facts.tell(fmt.Sprintf("respond %d%s%s", a.Code, contents(w.join(a.Body)), headersTold(a.Headers)))
	case abi.ActionOpen:
		w.answerOnce(opened, "Open")
		w.facts.tell(fmt.Sprintf("open %d%s", a.Code, headersTold(a.Headers)))
		w.drain()
	case abi.ActionSend:
		if w.facts.answer != opened {
			w.violate("Send without an open answer")
		}
		if body := w.join(a.Body); !bytes.HasPrefix(body, []byte(":")) {
			w.sent = append(slices.Clip(w.sent), body...)
			w.checkSent()
		}
		w.drain()
	case abi.ActionClose:
		if w.facts.answer != opened {
			w.violate("Close without an open answer")
		}
		w.facts.answer = closed
		w.facts.tell("close" + contents(w.sent))
		w.sent = nil
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
	meaning := w.meaning(a)
	choices := w.choices(meaning + " memory")
	labels := []string{meaning + " is not in memory"}
	for _, c := range choices {
		if c.event.Code == abi.OutcomeOK {
			labels = append(labels, meaning+" in memory: "+c.name)
		}
	}
	at := w.oracle(labels)
	event := abi.Event{Kind: abi.EventStored, ID: a.ID, Code: abi.OutcomeAbsent}
	switch {
	case at > 0:
		for _, c := range choices {
			if c.event.Code == abi.OutcomeOK {
				if at--; at == 0 {
					w.scenario.happened(&c)
					event.Code, event.Data = c.event.Code, c.event.Data
					w.noteAnswer(w.find(a.ID), &event)
				}
			}
		}
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
	return callMeaning(a)
}

func callMeaning(a *abi.Action) string {
	if a.Class == abi.ClassKeyMeter {
		switch c := keymeter.Open(a.Data).(type) {
		case *keymeter.Admit:
			return "admit " + [...]string{"?", "check", "count", "reserve", "hit"}[c.Mode]
		case *keymeter.Extend:
			return "extend"
		case *keymeter.Settle:
			return "settle"
		case *keymeter.Flush:
			return "flush"
		}
	}
	if a.Class == abi.ClassLedger {
		switch c := ledger.Open(a.Data).(type) {
		case *ledger.Grant:
			return "grant"
		case *ledger.Absorbing:
			return "absorb"
		case *ledger.PolicyQuestion:
			return "ask-policy"
		case *ledger.Report:
			switch {
			case c.Final:
				return "report final"
			case c.Waited:
				return "report waited"
			}
			return "report first"
		}
	}
	return "call that nobody knows"
}

// key is the world's identity: two worlds with one key have one future.
func (w *world) key() [sha256.Size]byte {
	var b abi.Writer
	b.Buf = make([]byte, 0, 4096)
	switch {
	case w.scenario.clock:
		b.Bytes(w.state) // what is left of the request's time is in it
	case w.facts.begun:
		b.Bytes(machine.canonical(w.config, w.state))
	}
	b.Bytes(w.shared)
	b.Uint(w.nowMs)
	open := slices.Clone(w.open)
	sort.Slice(open, func(i, j int) bool { return open[i].action.ID < open[j].action.ID })
	for i := range open {
		p := &open[i]
		b.Uint(p.action.ID)
		b.String(p.meaning)
		b.Uint(uint64(p.at))
		if p.script != nil {
			b.String(p.script.name)
		}
		if p.answer != nil {
			b.Bytes(p.answer.Data)
			b.Uint(p.answer.Code)
		}
	}
	w.facts.encode(&b)
	b.Bytes(w.sent)
	if len(w.uses) > 0 {
		b.String(fmt.Sprint(w.uses))
	}
	for i := range w.buffers {
		b.Uint(w.buffers[i].number)
		b.Bytes(w.buffers[i].data)
		for _, n := range w.buffers[i].fetches {
			b.Uint(uint64(n))
		}
	}
	return sha256.Sum256(b.Buf)
}
