package live

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/sse"
)

// streamed is a kind of text that the Responses API streams. The event NAME.delta contains a piece of the text. The
// event NAME.done contains the full text, in the field that done names.
type streamed struct {
	name string
	kind chat.DeltaKind
	done string
	sub  string // the field that distinguishes the texts of an item
}

var streamedTexts = [...]streamed{
	{"response.output_text", chat.DeltaText, "text", "content_index"},
	{"response.refusal", chat.DeltaRefusal, "refusal", "content_index"},
	{"response.reasoning_summary_text", chat.DeltaThinking, "text", "summary_index"},
	{"response.reasoning_text", chat.DeltaThinking, "text", "content_index"},
	{"response.function_call_arguments", chat.DeltaArgs, "arguments", ""},
	{"response.mcp_call_arguments", chat.DeltaArgs, "arguments", ""},
	{"response.custom_tool_call_input", chat.DeltaText, "input", ""},
	{"response.code_interpreter_call_code", chat.DeltaText, "code", ""},
	{"response.audio.transcript", chat.DeltaText, "", ""},
	{"response.shell_call_command", chat.DeltaText, "command", "command_index"},
	{"response.apply_patch_call_operation_diff", chat.DeltaText, "diff", ""},
}

const functionArguments = 4 // index in streamedTexts

// A channel's place combines three indexes: the index in streamedTexts, the item's index, and the index within the
// item.
const (
	itemShift = 21
	textShift = 2 * itemShift
)

func place(text int, item, sub uint64) uint64 {
	return uint64(text)<<textShift | item<<itemShift | sub
}

func (c *channel) itemOf() uint64 { return c.place >> itemShift & (1<<itemShift - 1) }

// response is an event of the Responses API, with the positions of its fields.
type response struct {
	kind                       string
	output, sub                uint64
	itemID, delta, whole       span
	part, item, body, logProbs span
	sequence                   span
	annotation                 span
	text                       int // index in streamedTexts, or -1 for other events
	isDelta                    bool
}

func (p *passed) responses() {
	var r response
	p.typeOf(&r)
	top := enter(p.data, root(p.data), '{')
	for name, v, ok := top.member(); ok; name, v, ok = top.member() {
		r.set(string(name), v, p.data)
	}
	switch {
	case r.isDelta:
		p.responsesDelta(&r)
	case r.text >= 0:
		p.responsesDone(&r)
	default:
		p.responsesOther(&r)
	}
	p.renumber(&r)
}

func (p *passed) typeOf(r *response) {
	r.text = -1
	top := enter(p.data, root(p.data), '{')
	for name, v, ok := top.member(); ok; name, v, ok = top.member() {
		if string(name) == "type" {
			r.kind = string(text(p.data, v))
			break
		}
	}
	base, isDelta := strings.CutSuffix(r.kind, ".delta")
	if !isDelta {
		base = strings.TrimSuffix(strings.TrimSuffix(r.kind, ".done"), ".added")
	}
	for i := range streamedTexts {
		if streamedTexts[i].name == base && base != r.kind {
			r.text, r.isDelta = i, isDelta
		}
	}
}

func (r *response) set(name string, v span, data []byte) {
	switch name {
	case "output_index":
		r.output = number(data[v.from:v.to])
	case "item_id":
		r.itemID = v
	case "delta":
		r.delta = v
	case "part":
		r.part = v
	case "item":
		r.item = v
	case "response":
		r.body = v
	case "logprobs":
		r.logProbs = v
	case "annotation":
		r.annotation = v
	case "sequence_number":
		r.sequence = v
	default:
		if r.text >= 0 && name == streamedTexts[r.text].sub {
			r.sub = number(data[v.from:v.to])
		} else if r.text >= 0 && name == streamedTexts[r.text].done {
			r.whole = v
		}
	}
}

// maxItemID limits the length, in bytes, of the item ID that a tail event contains.
const maxItemID = 128

func (p *passed) responsesDelta(r *response) {
	t := &streamedTexts[r.text]
	c := channel{kind: t.kind, place: place(r.text, r.output, r.sub)}
	if id := p.data[r.itemID.from:r.itemID.to]; len(id) <= maxItemID {
		c.item = id
	}
	if exact := p.piece(&c, r.delta, false); !exact {
		p.dropLogProbs(r.logProbs)
	}
}

// dropLogProbs empties a list of log probabilities, because its tokens repeat the text.
func (p *passed) dropLogProbs(v span) {
	if v.to-v.from > len("[]") && p.data[v.from] == '[' {
		p.edit(v, []byte("[]"))
	}
}

// responsesDone ends a text. The event repeats the full text, so responsesDone checks it too.
func (p *passed) responsesDone(r *response) {
	t := &streamedTexts[r.text]
	want := place(r.text, r.output, r.sub)
	p.flushAll(func(c *channel) bool { return c.place == want })
	if exact := p.whole(&channel{kind: t.kind}, r.whole, formOf(t.kind)); !exact {
		p.dropLogProbs(r.logProbs)
	}
}

func formOf(kind chat.DeltaKind) form {
	if kind == chat.DeltaArgs {
		return arguments
	}
	return plain
}

// responsesOther checks an event that starts or repeats a part, an item or the response.
func (p *passed) responsesOther(r *response) {
	switch r.kind {
	case "response.output_item.added":
		p.flushAll(func(*channel) bool { return true }) // items never overlap
		p.itemAdded(r)
	case "response.content_part.added", "response.content_part.done",
		"response.reasoning_summary_part.added", "response.reasoning_summary_part.done":
		p.flushAll(func(c *channel) bool { return c.itemOf() == r.output })
		p.part(r.part)
	case "response.output_item.done":
		p.flushAll(func(c *channel) bool { return c.itemOf() == r.output })
		p.itemWhole(r.item)
	case "response.completed", "response.incomplete", "response.failed":
		p.flushAll(func(*channel) bool { return true })
		p.body(r.body)
	case "response.created", "response.in_progress", "response.queued":
		p.body(r.body)
	case "response.output_text.annotation.added":
		p.strings(&channel{kind: chat.DeltaText}, r.annotation, "")
	default:
		p.whole(&channel{kind: chat.DeltaText}, r.delta, plain) // an event that this build does not know
	}
}

// itemAdded starts an item. If the item is a call that already contains arguments, more pieces of the arguments may
// follow. All other fields are complete.
func (p *passed) itemAdded(r *response) {
	members := enter(p.data, r.item, '{')
	for name, v, ok := members.member(); ok; name, v, ok = members.member() {
		inside, isText := isString(p.data, v)
		switch {
		case string(name) != "arguments" || !isText:
			p.itemMember(string(name), v)
		case inside.to > inside.from:
			p.piece(&channel{kind: chat.DeltaArgs, place: place(functionArguments, r.output, 0)}, v, false)
		}
	}
}

// part checks the texts of a content part: {"type","text"|"refusal"|"transcript","annotations","logprobs"}.
func (p *passed) part(v span) {
	exact := true
	var logProbs span
	members := enter(p.data, v, '{')
	for name, v, ok := members.member(); ok; name, v, ok = members.member() {
		switch string(name) {
		case "text", "refusal", "transcript":
			exact = p.whole(&channel{kind: chat.DeltaText}, v, plain) && exact
		case "annotations":
			p.strings(&channel{kind: chat.DeltaText}, v, "")
		case "logprobs":
			logProbs = v
		}
	}
	if !exact {
		p.dropLogProbs(logProbs)
	}
}

func (p *passed) parts(v span) {
	list := enter(p.data, v, '[')
	for one, ok := list.element(); ok; one, ok = list.element() {
		p.part(one)
	}
}

func (p *passed) itemWhole(v span) {
	members := enter(p.data, v, '{')
	for name, v, ok := members.member(); ok; name, v, ok = members.member() {
		p.itemMember(string(name), v)
	}
}

// itemMember checks a field of an item. All strings are texts, except identifiers and media. The arguments of
// tool_search are an object. The arguments of a function call are a string that contains JSON.
func (p *passed) itemMember(name string, v span) {
	switch name {
	case "content", "summary":
		p.parts(v)
	case "arguments", "input", "code", "output", "error":
		switch {
		case p.data[v.from] != '"':
			p.strings(&channel{kind: chat.DeltaText}, v, "")
		case name == "arguments":
			p.whole(&channel{kind: chat.DeltaArgs}, v, arguments)
		default:
			p.whole(&channel{kind: chat.DeltaText}, v, plain)
		}
	default: // also in items of unknown types
		p.strings(&channel{kind: chat.DeltaText}, v, name)
	}
}

// body checks the response that an event repeats. The instructions and tools come from the request, so body only
// restores their placeholders.
func (p *passed) body(v span) {
	members := enter(p.data, v, '{')
	for name, v, ok := members.member(); ok; name, v, ok = members.member() {
		switch string(name) {
		case "output":
			list := enter(p.data, v, '[')
			for one, ok := list.element(); ok; one, ok = list.element() {
				p.itemWhole(one)
			}
		case "output_text":
			p.whole(&channel{kind: chat.DeltaText}, v, plain)
		case "instructions", "tools":
			p.restoreOnly(v)
		}
	}
}

// restoreOnly restores the placeholders in a value that comes from the request.
func (p *passed) restoreOnly(v span) {
	r := p.guard.redactor()
	if r == nil || p.stream.ended() {
		return
	}
	if out, changed := restore(r, p.data[v.from:v.to], document, lexer{}); changed {
		p.edit(v, out)
	}
}

// renumber corrects "sequence_number" if events were inserted, so the numbers have no gaps.
func (p *passed) renumber(r *response) {
	digits := r.sequence.to - r.sequence.from
	n := uint64(0)
	for _, b := range p.data[r.sequence.from:r.sequence.to] {
		if b < '0' || b > '9' || digits > 15 {
			digits = 0
			break
		}
		n = n*10 + uint64(b-'0')
	}
	p.number(n)
	if s := p.stream; s.inserted > 0 && digits > 0 {
		p.edit(r.sequence, strconv.AppendUint(nil, n+s.inserted, 10))
	}
}

// number gives the inserted events their numbers. n is the number that the provider gave to the event after them.
func (p *passed) number(n uint64) {
	s := p.stream
	for i := range p.before {
		p.before[i].Data = append(strconv.AppendUint(p.before[i].Data, n+s.inserted, 10), '}')
		s.inserted++
	}
}

// responsesTail returns a delta event with the rest of a text. Its number and closing bracket are missing: number
// adds both.
func (p *passed) responsesTail(c *channel, tail []byte) sse.Event {
	t := &streamedTexts[c.place>>textShift]
	b := jsontext.Builder{B: append(make([]byte, 0, 256+len(tail)), '{')}
	b.Key("type")
	b.String(t.name + ".delta")
	b.Member("item_id", string(c.item))
	b.Key("output_index")
	b.Uint(c.itemOf())
	if t.sub != "" {
		b.Key(t.sub)
		b.Uint(c.place & (1<<itemShift - 1))
	}
	b.Key("delta")
	b.Text(jsontext.Escaped(tail))
	if t.name == streamedTexts[0].name {
		b.Member("logprobs", "[]")
	}
	b.Key("sequence_number")
	return sse.Event{Name: t.name + ".delta", Data: b.B}
}
