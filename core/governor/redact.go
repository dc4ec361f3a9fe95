package governor

import (
	"bytes"
	"strconv"

	"github.com/postern-ai/postern/core/abi"
)

// MaxReversible limits the number of different values in a request that can be restored. If there are more values,
// the others are redacted permanently.
const MaxReversible = 256

// Redactor replaces findings with placeholders in all texts of one request, and restores the values in the response.
// A placeholder, such as [EMAIL_1], consists of the rule's name in upper case, without the category, and a number.
// The same value of the same rule has the same placeholder in every text. Redactor does not use numbers that the
// texts reserve.
type Redactor struct {
	Reversible bool
	JSON       bool // the texts of the response are JSON, so values are escaped for JSON strings
	known      []value
	slots      [valueSlots]uint16 // 1 + the index in known of a list's first value; 0 if the list is empty
	taken      []Literal
}

type value struct {
	rule   ID
	label  string
	number int
	text   string
	next   uint16 // 1 + the index of the next value in the same list; 0 at the end
}

// valueSlots is the number of lists of known values.
const valueSlots = 256

// valueSlot returns the index of the list for a value. The index is an FNV-1a hash, folded to the number of lists.
func valueSlot(rule ID, text []byte) int {
	h := uint32(2166136261) ^ uint32(rule)
	for _, b := range text {
		h = (h ^ uint32(b)) * 16777619
	}
	return int((h ^ h>>16) % valueSlots)
}

// Literal is a placeholder that a text already contained.
type Literal struct {
	label  string
	number int
}

// maxTaken limits how many placeholders are reserved. Further placeholders are not reserved.
const maxTaken = 1000

// Reserve remembers the placeholders that a text already contains, because a value must not get one of their numbers.
// Call Reserve before the Apply or Replace that numbers the value.
func (r *Redactor) Reserve(text []byte) { r.taken = AppendLiterals(r.taken, text) }

// Take does the same as Reserve for one placeholder.
func (r *Redactor) Take(l Literal) {
	if len(r.taken) < maxTaken {
		r.taken = append(r.taken, l)
	}
}

// Full reports whether no more values can be restored. If so, new values are redacted permanently.
func (r *Redactor) Full() bool { return len(r.known) == MaxReversible }

// AppendLiterals appends the placeholders that a text contains. The result has at most maxTaken placeholders.
func AppendLiterals(dst []Literal, text []byte) []Literal {
	for i := 0; i < len(text) && len(dst) < maxTaken; i++ {
		at := bytes.IndexByte(text[i:], '[')
		if at < 0 {
			break
		}
		i += at
		if label, number, end := placeholder(text[i:]); end > 0 {
			dst = append(dst, Literal{string(label), number})
			i += end - 1
		}
	}
	return dst
}

// placeholder reads a placeholder at the start of text. If there is none, end is 0.
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

// maxLabel is the maximum length of a placeholder without its closing bracket. MaxPlaceholder is the maximum length
// of a placeholder.
const (
	maxLabel       = 48
	MaxPlaceholder = maxLabel + 1
)

// appendLabel appends the part of a placeholder that comes from the rule's name. For personal.email, that is EMAIL.
// For keyword.codenames, it is KEYWORD_CODENAMES.
func appendLabel(dst []byte, name string, dynamic bool) []byte {
	for i := range len(name) {
		switch b := name[i]; {
		case b == '.' && !dynamic:
			dst = dst[:len(dst)-i]
		case b == '.', b == '-':
			dst = append(dst, '_')
		default:
			dst = append(dst, b-b&0x40>>1) // letters are lower case
		}
	}
	return dst
}

// isLabel reports whether a label is that of the rule with the given name.
func isLabel(label []byte, name string, dynamic bool) bool {
	var one [maxLabel]byte
	return string(appendLabel(one[:0], name, dynamic)) == string(label)
}

// label returns the part of a rule's placeholders that comes from its name.
func (p *Policy) label(rule ID) string {
	name, _, _ := p.Rule(rule)
	return string(appendLabel(nil, name, int(rule) >= len(table)))
}

// inPlaceholder reports whether [i, j) is inside a placeholder of a rule. Keywords and patterns must not match a part
// of a placeholder.
func (r *Rules) inPlaceholder(v *view, i, j int) bool {
	from, to := i, j
	if v.at(from) == '[' {
		from++
	} else {
		for from > i-maxLabel && isLabelByte(v.at(from-1)) {
			from--
		}
	}
	if v.at(to-1) == ']' {
		to--
	} else {
		for to < j+maxLabel && isLabelByte(v.at(to)) {
			to++
		}
	}
	if from < 0 || from >= to || to-from > maxLabel || v.at(from-1) != '[' || v.at(to) != ']' {
		return false
	}
	label := v.text[from:to]
	if r.isRuleLabel(label) {
		return true
	}
	cut := bytes.LastIndexByte(label, '_')
	if cut < 0 || len(label)-cut > 6 {
		return false
	}
	for _, b := range label[cut+1:] {
		if !isDigitByte(b) {
			return false
		}
	}
	return cut+1 < len(label) && r.isRuleLabel(label[:cut])
}

func isLabelByte(b byte) bool { return class[b]&(isUpper|isDigit) != 0 || b == '_' }

// isRuleLabel reports whether a label belongs to any rule.
func (r *Rules) isRuleLabel(label []byte) bool {
	for i := range table {
		if isLabel(label, table[i].Name, false) {
			return true
		}
	}
	if r.settings == nil {
		return false
	}
	for i := range r.settings.Lists {
		if isLabel(label, "keyword."+r.settings.Lists[i].Name, true) {
			return true
		}
	}
	for i := range r.settings.Patterns {
		if isLabel(label, "pattern."+r.settings.Patterns[i].Name, true) {
			return true
		}
	}
	return false
}

// Apply appends text to dst. Each finding whose action is Redact is replaced with a placeholder. Findings must be in
// order and must not overlap. Their offsets are relative to text's first byte.
func (r *Redactor) Apply(dst, text []byte, p *Policy, d Direction, findings []Finding) []byte {
	done := 0
	for _, f := range findings {
		if p.Action(d, f.Rule) != Redact || f.Start < done {
			continue
		}
		dst = append(dst, text[done:f.Start]...)
		dst = r.Replace(dst, p, f.Rule, text[f.Start:f.End])
		done = f.End
	}
	return append(dst, text[done:]...)
}

// Replace appends the placeholder for a value. The rule's action does not matter.
func (r *Redactor) Replace(dst []byte, p *Policy, rule ID, text []byte) []byte {
	slot := valueSlot(rule, text)
	for i := r.slots[slot]; i != 0; i = r.known[i-1].next {
		if k := &r.known[i-1]; k.rule == rule && k.text == string(text) {
			return appendPlaceholder(dst, k.label, k.number)
		}
	}
	label := p.label(rule)
	if !r.Reversible || len(r.known) == MaxReversible {
		return append(append(append(dst, '['), label...), ']')
	}
	number := r.number(label)
	r.add(value{rule, label, number, string(text), 0})
	return appendPlaceholder(dst, label, number)
}

func (r *Redactor) add(v value) {
	slot := valueSlot(v.rule, []byte(v.text))
	v.next = r.slots[slot]
	r.known = append(r.known, v)
	r.slots[slot] = uint16(len(r.known))
}

// number returns the next free number for a label.
func (r *Redactor) number(label string) (n int) {
	for i := range r.known {
		if r.known[i].label == label {
			n = max(n, r.known[i].number)
		}
	}
	for used := true; used; {
		n++
		used = false
		for i := range r.taken {
			used = used || r.taken[i].number == n && r.taken[i].label == label
		}
	}
	return n
}

func appendPlaceholder(dst []byte, label string, number int) []byte {
	dst = append(append(append(dst, '['), label...), '_')
	return append(strconv.AppendInt(dst, int64(number), 10), ']')
}

// Fields writes or reads the redactor, so a later step can call Apply and Restore. The encoding contains the values.
// Treat it like the texts.
func (r *Redactor) Fields(f *abi.Fields) {
	f.Bool(&r.Reversible)
	known := r.known
	abi.List(f, &known, valueFields)
	abi.List(f, &r.taken, func(f *abi.Fields, t *Literal) {
		f.String(&t.label)
		number := uint64(t.number)
		f.Uint(&number)
		t.number = int(number & 0xfffff)
	})
	if !f.Reading() {
		return
	}
	if len(known) > MaxReversible || len(r.taken) > maxTaken {
		f.Fail()
		return
	}
	*r = Redactor{Reversible: r.Reversible, taken: r.taken}
	for i := range known {
		r.add(known[i])
	}
}

func valueFields(f *abi.Fields, v *value) {
	rule, number := uint64(v.rule), uint64(v.number)
	f.Uint(&rule)
	f.String(&v.label)
	f.Uint(&number)
	f.String(&v.text)
	v.rule, v.number = ID(rule), int(number&0xfffff)
	if rule >= MaxRules || number > 99999 {
		f.Fail()
	}
}

// Restore appends text with the values in place of their placeholders. Placeholders in text must be complete: see
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

// find returns the value of a placeholder. If there is none, it returns nil.
func (r *Redactor) find(name []byte, number, end int) *value {
	for i := range r.known {
		if k := &r.known[i]; end > 0 && k.number == number && k.label == string(name) {
			return k
		}
	}
	return nil
}

// Unfinished returns the number of bytes at the end of text that may be the start of a placeholder. It is less than
// MaxPlaceholder. A stream holds these bytes back and calls Restore with the rest.
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
