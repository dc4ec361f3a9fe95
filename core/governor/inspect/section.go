package inspect

import "github.com/postern-ai/postern/core/governor"

// section is a group of a request's members, in the order in which a provider's prompt cache has them: definitions and
// system texts come before messages, whatever the order of the body is.
// Sources: Anthropic's guide "Prompt caching" (tools, system, messages), OpenAI's guide "Prompt caching" (structured
// output schemas are a prefix to the system message), both read in November 2026.
type section uint8

const (
	definitions section = iota // tools, system texts and all that is not below
	messages                   // grow with every turn of a session
	others                     // no part of the prompt: they may change with every request
	sections
)

// sectioned are the members of a body that are not definitions. A code is one more than the section.
var sectioned = [...]word{
	{"messages", uint8(messages + 1)},
	{"input", uint8(messages + 1)},
	{"metadata", uint8(others + 1)},
	{"client_metadata", uint8(others + 1)},
	{"user", uint8(others + 1)},
	{"safety_identifier", uint8(others + 1)},
	{"prompt_cache_key", uint8(others + 1)},
}

// systemMembers are the members of a body with system texts and definitions of tools.
var systemMembers = [...]word{{"system", 1}, {"instructions", 1}, {"tools", 1}, {"functions", 1}}

// unit is a part of a body in which values get their numbers together: a member, or a message.
type unit struct {
	start   uint32
	section section
}

// maxUnits bounds the memory of units, at 8 bytes each. Further messages are one unit.
const maxUnits = 1 << 16

// enter begins a member of the body.
func (w *walker) enter(name []byte, s span) {
	w.section = definitions
	if code := lookUp(sectioned[:], name); code > 0 {
		w.section = section(code - 1)
	}
	if w.mode == reserve {
		w.begin(int(s.start))
	}
	if w.roles {
		d := governor.Input
		if lookUp(systemMembers[:], name) > 0 {
			d = governor.System
		}
		w.turn(d)
	}
}

// begin begins a unit.
func (w *walker) begin(at int) {
	if w.units.count < maxUnits {
		w.units.push(unit{uint32(at), w.section})
	}
}

// message begins a message.
func (w *walker) message() {
	if w.mode == reserve {
		w.begin(w.pos)
	}
	if w.roles && w.isSystem() {
		w.flush(w.top())
		w.turn(governor.System)
	}
}

// isSystem reports whether the message that begins is a system text. Its role may be behind its content.
func (w *walker) isSystem() (system bool) {
	at := w.pos
	for w.pos++; w.pos < len(w.body) && w.peek() != '}'; {
		if w.peek() != '"' {
			w.pos++
			continue
		}
		isRole := equalText(w.name(w.readString()), "role")
		for w.space(); w.peek() == ':'; w.pos++ {
		}
		w.space()
		isString := w.peek() == '"'
		if s := w.pass(); isRole && isString {
			role := w.name(s)
			system = equalText(role, "system") || equalText(role, "developer")
			break
		}
	}
	w.pos = at
	return system
}

// turn continues with the rules of a direction.
func (w *walker) turn(d governor.Direction) {
	if d == w.dir {
		return
	}
	w.dir = d
	if w.scanner, w.other = w.other, w.scanner; w.scanner == nil {
		w.scanner = governor.NewScanner(w.check.Policy.Rules(d))
	}
}

// number gives the values to redact their numbers, so that they are the same in every request of a session: the number of
// a value depends only on the prompt before it, and on its own message. A placeholder that a later message
// contains is taken for the value's: it is one if the model's signed thinking has it.
func (w *walker) number() {
	w.mode, w.roles = reserve, false
	w.pos, w.depth, w.section = 0, 0, definitions
	w.begin(0)
	w.walk()
	w.edits.sort()
	for s := range sections {
		if s != messages { // together: they stay the same in a session
			w.numberSection(s, true, false)
		}
		w.numberSection(s, s == messages, true)
	}
}

// numberSection visits the units of a section in order: it reserves the placeholders that they contain, and numbers their
// values.
func (w *walker) numberSection(s section, reserves, numbers bool) {
	out, literal := w.writer(), 0
	for i := range w.units.count {
		end := uint32(len(w.body))
		if i+1 < w.units.count {
			end = w.units.at(i + 1).start
		}
		mine := w.units.at(i).section == s
		for ; literal < len(w.literal) && w.literal[literal] < end; literal++ {
			if mine && reserves {
				w.redactor.Take(w.literals[literal])
			}
		}
		for ; out.next < w.edits.count && w.edits.at(out.next).start < end; out.next++ {
			if mine && numbers && !w.redactor.Full() {
				w.inspector.value = out.apply(w.inspector.value[:0], w.edits.at(out.next))
			}
		}
	}
}
