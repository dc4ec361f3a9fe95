package inspect

import "github.com/postern-ai/postern/core/governor"

// section is a group of a request's fields. Sections are in the order of a provider's prompt cache: definitions and
// system texts come before messages, in whatever order they are in the body. Sources: Anthropic's guide "Prompt
// caching" (tools, system, messages), OpenAI's guide "Prompt caching" (structured output schemas are a prefix to the
// system message), both read in November 2026.
type section uint8

const (
	definitions section = iota // tools, system texts, and all other fields
	messages                   // grows with every turn of a session
	others                     // not part of the prompt, so it may change with every request
	sections
)

// sectioned lists the fields of a body that are not definitions. A code is 1 + the section.
var sectioned = [...]word{
	{"messages", uint8(messages + 1)},
	{"input", uint8(messages + 1)},
	{"metadata", uint8(others + 1)},
	{"client_metadata", uint8(others + 1)},
	{"user", uint8(others + 1)},
	{"safety_identifier", uint8(others + 1)},
	{"prompt_cache_key", uint8(others + 1)},
}

// systemMembers lists the fields of a body that contain system texts and definitions of tools.
var systemMembers = [...]word{{"system", 1}, {"instructions", 1}, {"tools", 1}, {"functions", 1}}

// unit is a part of a body: a field, or a message. The values in a unit are numbered together.
type unit struct {
	start   uint32
	section section
}

// maxUnits limits the memory for units, at 8 bytes each. If there are more messages, they all belong to the last
// unit.
const maxUnits = 1 << 16

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

func (w *walker) begin(at int) {
	if w.units.count < maxUnits {
		w.units.push(unit{uint32(at), w.section})
	}
}

func (w *walker) message() {
	if w.mode == reserve {
		w.begin(w.pos)
	}
	if w.roles && w.isSystem() {
		w.flush(w.top())
		w.turn(governor.System)
	}
}

// isSystem reports whether the message that starts here is a system text. The role may come after the content, so
// isSystem looks ahead.
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

// turn switches to the rules of a direction.
func (w *walker) turn(d governor.Direction) {
	if d == w.dir {
		return
	}
	w.dir = d
	if w.scanner, w.other = w.other, w.scanner; w.scanner == nil {
		w.scanner = w.check.scanner(d)
	}
}

// number assigns numbers to the values to redact. A number depends only on the prompt before a value and on the
// value's own message, so the value has the same number in every request of a session. If a later message already
// contains a placeholder, number assumes that the placeholder stands for the same value. This is correct if the
// placeholder comes from the model's signed thinking.
func (w *walker) number() {
	w.mode, w.roles = reserve, false
	w.pos, w.depth, w.section = 0, 0, definitions
	w.begin(0)
	w.walk()
	w.edits.sort()
	for s := range sections {
		if s != messages { // reserve all placeholders first: these sections do not grow with the session
			w.numberSection(s, true, false)
		}
		w.numberSection(s, s == messages, true)
	}
}

// numberSection visits the units of a section in order. If reserves is set, it reserves the placeholders in them. If
// numbers is set, it numbers their values.
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
