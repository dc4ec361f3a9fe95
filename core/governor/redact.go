package governor

import (
	"bytes"
	"strconv"
	"strings"
)

// MaxReversible is how many different values a request may have restored; later ones are redacted for good.
const MaxReversible = 256

// Redactor replaces findings by placeholders such as [EMAIL_1] in all texts of one request, and restores them in the
// response. A placeholder is the upper-case name of the rule without its category, and a number. The same value of the
// same rule has the same placeholder in every text. Numbers that occur in the texts are skipped.
type Redactor struct {
	Reversible bool
	known      []value
	slots      [valueSlots]uint16 // one more than the index of a list's first value; 0 for none
	next       []uint16           // the last number given, by rule
	taken      []taken
}

type value struct {
	rule   ID
	number int
	text   string
	next   uint16 // one more than the index of the next value of the slot; 0 for none
}

// valueSlots is the number of lists that the known values are in.
const valueSlots = 256

// valueSlot is the list of a value: FNV-1a, folded.
func valueSlot(rule ID, text []byte) int {
	h := uint32(2166136261) ^ uint32(rule)
	for _, b := range text {
		h = (h ^ uint32(b)) * 16777619
	}
	return int((h ^ h>>16) % valueSlots)
}

// taken is a placeholder that a text already contained.
type taken struct {
	label  string
	number int
}

// maxTaken bounds the placeholders that are remembered as taken; later texts' numbers are then beyond any of them.
const maxTaken = 1000

// Reserve remembers the placeholders that a text already contains. Call it with every text of the request before the
// first Apply.
func (r *Redactor) Reserve(text []byte) {
	for i := 0; i < len(text); i++ {
		at := bytes.IndexByte(text[i:], '[')
		if at < 0 {
			return
		}
		i += at
		if label, number, end := placeholder(text[i:]); end > 0 {
			if len(r.taken) < maxTaken {
				r.taken = append(r.taken, taken{string(label), number})
			}
			i += end - 1
		}
	}
}

// placeholder reads a placeholder at the start of text; end is 0 if there is none.
func placeholder(text []byte) (label []byte, number, end int) {
	i := 1
	for i < len(text) && i < maxLabel && (class[text[i]]&(isUpper|isDigit) != 0 || text[i] == '_') {
		i++
	}
	if i == len(text) || text[i] != ']' {
		return nil, 0, 0
	}
	cut := bytes.LastIndexByte(text[:i], '_')
	if cut < 2 || i-cut > 6 {
		return nil, 0, 0
	}
	for _, b := range text[cut+1 : i] {
		if !isDigitByte(b) {
			return nil, 0, 0
		}
		number = number*10 + int(b-'0')
	}
	if number == 0 || text[cut+1] == '0' {
		return nil, 0, 0
	}
	return text[1:cut], number, i + 1
}

// maxLabel bounds a placeholder's length. MaxPlaceholder is the longest one.
const (
	maxLabel       = 48
	MaxPlaceholder = maxLabel + 1
)

// labels is each rule's part of its placeholders: EMAIL for personal.email.
var labels = buildLabels()

func buildLabels() []string {
	all := make([]string, len(table))
	for i := range table {
		name := table[i].Name
		name = name[strings.IndexByte(name, '.')+1:]
		all[i] = strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	}
	return all
}

// Apply appends text with a placeholder in the place of each finding whose action is redact. Findings are in order, do
// not overlap, and their offsets count from text's first byte.
func (r *Redactor) Apply(dst, text []byte, p *Policy, d Direction, findings []Finding) []byte {
	done := 0
	for _, f := range findings {
		if p.actions[d][f.Rule] != Redact {
			continue
		}
		dst = append(dst, text[done:f.Start]...)
		dst = r.replace(dst, f.Rule, text[f.Start:f.End])
		done = f.End
	}
	return append(dst, text[done:]...)
}

// replace appends the placeholder of a value.
func (r *Redactor) replace(dst []byte, rule ID, text []byte) []byte {
	slot := valueSlot(rule, text)
	for i := r.slots[slot]; i != 0; i = r.known[i-1].next {
		if k := &r.known[i-1]; k.rule == rule && k.text == string(text) {
			return appendPlaceholder(dst, rule, k.number)
		}
	}
	if !r.Reversible || len(r.known) == MaxReversible {
		return append(append(append(dst, '['), labels[rule]...), ']')
	}
	number := r.number(rule)
	r.known = append(r.known, value{rule, number, string(text), r.slots[slot]})
	r.slots[slot] = uint16(len(r.known))
	return appendPlaceholder(dst, rule, number)
}

// number is the next free number of a rule.
func (r *Redactor) number(rule ID) int {
	if r.next == nil {
		r.next = make([]uint16, len(table))
	}
	name := labels[rule]
	n := int(r.next[rule])
	for used := true; used; {
		n++
		used = false
		for i := range r.taken {
			used = used || r.taken[i].number == n && r.taken[i].label == name
		}
	}
	r.next[rule] = uint16(n)
	return n
}

func appendPlaceholder(dst []byte, rule ID, number int) []byte {
	dst = append(append(append(dst, '['), labels[rule]...), '_')
	return append(strconv.AppendInt(dst, int64(number), 10), ']')
}

// Restore appends text with the values in the place of their placeholders. text must hold whole placeholders: see
// Unfinished.
func (r *Redactor) Restore(dst, text []byte) []byte {
	for {
		at := bytes.IndexByte(text, '[')
		if at < 0 || len(r.known) == 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:at]...)
		text = text[at:]
		name, number, end := placeholder(text)
		v := r.find(name, number, end)
		if v == nil {
			dst = append(dst, '[')
			text = text[1:]
			continue
		}
		dst = append(dst, v.text...)
		text = text[end:]
	}
}

// find is the value of a placeholder, or nil.
func (r *Redactor) find(name []byte, number, end int) *value {
	for i := range r.known {
		if k := &r.known[i]; end > 0 && k.number == number && labels[k.rule] == string(name) {
			return k
		}
	}
	return nil
}

// Unfinished is the length of the end of text that may be the beginning of a placeholder: a stream holds it back
// before Restore. It is less than MaxPlaceholder.
func (r *Redactor) Unfinished(text []byte) int {
	from := max(0, len(text)-maxLabel)
	at := bytes.LastIndexByte(text[from:], '[')
	if at < 0 || len(r.known) == 0 {
		return 0
	}
	for _, b := range text[from+at+1:] {
		if class[b]&(isUpper|isDigit) == 0 && b != '_' {
			return 0
		}
	}
	return len(text) - from - at
}
