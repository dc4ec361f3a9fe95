package chat

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/jsontext"
)

// AppendDelta appends a delta in the binary format that exchanges use to store a stream.
func AppendDelta(w *abi.Writer, d *Delta) {
	w.Uint(uint64(d.Kind))
	w.Uint(d.Choice)
	w.Uint(d.Index)
	w.String(string(d.Text))
	switch d.Kind {
	case DeltaStart, DeltaTool:
		w.String(string(d.ID))
		w.String(string(d.Name))
		w.String(string(d.Model))
	case DeltaLogProbs:
		w.String(d.JSON)
	case DeltaFinish:
		w.Uint(uint64(d.Finish))
	case DeltaUsage:
		d.Usage.Fields(abi.WriteTo(w))
	}
}

func readDelta(r *abi.Reader) Delta {
	d := Delta{Kind: DeltaKind(r.Byte()), Choice: r.Uint(), Index: r.Uint(), Text: jsontext.Escaped(r.String())}
	switch d.Kind {
	case DeltaStart, DeltaTool:
		d.ID, d.Name, d.Model = jsontext.Escaped(r.String()), jsontext.Escaped(r.String()), jsontext.Escaped(r.String())
	case DeltaLogProbs:
		d.JSON = r.String()
	case DeltaFinish:
		d.Finish = Finish(r.Byte())
	case DeltaUsage:
		d.Usage.Fields(abi.ReadFrom(r))
	}
	return d
}

// ReadDeltas decodes consecutive deltas written by AppendDelta.
func ReadDeltas(data []byte) ([]Delta, error) {
	r := abi.Reader{Buf: data}
	var deltas []Delta
	for len(r.Buf) > 0 {
		deltas = append(deltas, readDelta(&r))
	}
	return deltas, r.End()
}

// Fields encodes or decodes the usage in messages and stored rows.
func (u *Usage) Fields(f *abi.Fields) {
	f.Uint(&u.Input)
	f.Uint(&u.CachedInput)
	f.Uint(&u.CacheWrite)
	f.Uint(&u.CacheWrite1h)
	f.Uint(&u.Output)
	f.Uint(&u.Reasoning)
	bought := u.Extras != nil
	if f.Flags(&u.Reported, &bought); bought {
		e := u.Edit()
		f.String(&e.Terms)
		f.String(&e.Unknown)
		f.Int(&e.FeePico)
		for m := range e.Calls {
			f.Uint(&e.Calls[m])
		}
	}
}

// maxChoices limits the memory that Fold allocates for a provider's choice numbers.
const maxChoices = 128

// Fold builds the complete response from a stream's deltas.
func Fold(deltas []Delta) Response {
	var f folder
	for i := range deltas {
		f.add(&deltas[i])
	}
	f.flush()
	f.joinLogProbs()
	if len(f.out.Choices) == 0 {
		f.out.Choices = make([]Answer, 1)
	}
	return f.out
}

// folder collects the pieces of the current part in text. A piece of another part ends this part.
type folder struct {
	out    Response
	choice uint64
	part   Part
	tool   uint64
	text   []byte
	logs   []*Delta
}

func (f *folder) add(d *Delta) {
	if d.Choice >= maxChoices {
		return
	}
	switch d.Kind {
	case DeltaStart:
		f.out.ID, f.out.Model = d.ID, d.Model
	case DeltaText:
		f.piece(Text, d)
	case DeltaRefusal:
		f.piece(Refusal, d)
	case DeltaThinking:
		f.piece(Thinking, d)
	case DeltaSignature:
		f.piece(Thinking, &Delta{Choice: d.Choice})
		f.part.Signature = d.Text
		f.flush()
	case DeltaRedacted:
		f.flush()
		f.begin(d.Choice, Part{Kind: Redacted, Data: d.Text})
		f.flush()
	case DeltaTool:
		f.flush()
		f.begin(d.Choice, Part{Kind: ToolCall, ID: d.ID, Name: d.Name})
		f.tool = d.Index
	case DeltaArgs:
		f.args(d)
	case DeltaLogProbs:
		f.answer(d.Choice)
		f.logs = append(f.logs, d)
	case DeltaFinish:
		f.flush()
		f.answer(d.Choice).Finish = d.Finish
		f.out.StopSequence = d.Text
	case DeltaUsage:
		f.out.Usage = d.Usage
	}
}

func (f *folder) answer(choice uint64) *Answer {
	for uint64(len(f.out.Choices)) <= choice {
		f.out.Choices = append(f.out.Choices, Answer{})
	}
	return &f.out.Choices[choice]
}

func (f *folder) begin(choice uint64, p Part) {
	f.choice, f.part = choice, p
	f.text = f.text[:0]
}

func (f *folder) piece(kind PartKind, d *Delta) {
	if f.part.Kind != kind || f.choice != d.Choice {
		f.flush()
		f.begin(d.Choice, Part{Kind: kind})
	}
	f.text = append(f.text, d.Text...)
}

// args adds a piece of a tool call's arguments. Parallel calls may be interleaved, so the call may already be part of
// the response.
func (f *folder) args(d *Delta) {
	if f.part.Kind == ToolCall && f.choice == d.Choice && f.tool == d.Index {
		f.text = append(f.text, d.Text...)
		return
	}
	a := f.answer(d.Choice)
	index := uint64(0)
	for i := range a.Parts {
		if a.Parts[i].Kind != ToolCall {
			continue
		}
		if index == d.Index {
			a.Parts[i].Args += d.Text.Plain()
			return
		}
		index++
	}
}

func (f *folder) flush() {
	if f.part.Kind == 0 {
		return
	}
	switch f.part.Kind {
	case ToolCall:
		f.part.Args = jsontext.Escaped(f.text).Plain()
	case Redacted:
	default:
		f.part.Text = jsontext.Escaped(f.text)
	}
	a := f.answer(f.choice)
	a.Parts = append(a.Parts, f.part)
	f.part = Part{}
	f.text = f.text[:0]
}

// joinLogProbs merges the objects {"content":[…],"refusal":…} of one choice.
func (f *folder) joinLogProbs() {
	const head, tail = `{"content":[`, `],"refusal":null}`
	for i := range f.out.Choices {
		var joined []byte
		for _, d := range f.logs {
			list := gjson.Get(d.JSON, "content").Raw
			if d.Choice != uint64(i) || len(list) <= len("[]") {
				continue
			}
			if joined == nil {
				joined = append(make([]byte, 0, 1024), head...)
			} else {
				joined = append(joined, ',')
			}
			joined = append(joined, list[1:len(list)-1]...)
		}
		if joined != nil {
			f.out.Choices[i].LogProbs = string(append(joined, tail...))
		}
	}
}

// Unfold splits a complete response into the deltas of a stream. Text is split into pieces of about pieceBytes.
func Unfold(r *Response, pieceBytes int) []Delta {
	deltas := []Delta{{Kind: DeltaStart, ID: r.ID, Model: r.Model}}
	for i := range r.Choices {
		deltas = unfoldAnswer(deltas, uint64(i), &r.Choices[i], pieceBytes)
		deltas = append(deltas, Delta{Kind: DeltaFinish, Choice: uint64(i), Finish: r.Choices[i].Finish, Text: r.StopSequence})
	}
	return append(deltas, Delta{Kind: DeltaUsage, Usage: r.Usage}, Delta{Kind: DeltaEnd})
}

func unfoldAnswer(deltas []Delta, choice uint64, a *Answer, size int) []Delta {
	index := uint64(0)
	for i := range a.Parts {
		p := &a.Parts[i]
		switch p.Kind {
		case Text:
			deltas = pieces(deltas, Delta{Kind: DeltaText, Choice: choice}, p.Text, size)
		case Refusal:
			deltas = pieces(deltas, Delta{Kind: DeltaRefusal, Choice: choice}, p.Text, size)
		case Thinking:
			deltas = pieces(deltas, Delta{Kind: DeltaThinking, Choice: choice}, p.Text, size)
			deltas = append(deltas, Delta{Kind: DeltaSignature, Choice: choice, Text: p.Signature})
		case Redacted:
			deltas = append(deltas, Delta{Kind: DeltaRedacted, Choice: choice, Text: p.Data})
		case ToolCall:
			deltas = append(deltas, Delta{Kind: DeltaTool, Choice: choice, Index: index, ID: p.ID, Name: p.Name})
			deltas = pieces(deltas, Delta{Kind: DeltaArgs, Choice: choice, Index: index}, jsontext.Escape(p.Args), size)
			index++
		}
	}
	if a.LogProbs != "" {
		deltas = append(deltas, Delta{Kind: DeltaLogProbs, Choice: choice, JSON: a.LogProbs})
	}
	return deltas
}

// pieces appends text as deltas of about size bytes. It never splits a character or an escape.
func pieces(deltas []Delta, d Delta, text jsontext.Escaped, size int) []Delta {
	for len(text) > size {
		n := cut(text, size)
		d.Text = text[:n]
		deltas = append(deltas, d)
		if text = text[n:]; text == "" {
			return deltas
		}
	}
	d.Text = text
	return append(deltas, d)
}

// cut returns the end of a piece of about size bytes. It is after the first space between size and 2*size. If there
// is no space, it is 2*size.
func cut(text jsontext.Escaped, size int) int {
	n := 0
	for n < len(text) {
		switch {
		case text[n] == '\\' && n+1 < len(text) && text[n+1] == 'u':
			n += 6
		case text[n] == '\\':
			n += 2
		default:
			n++
			for n < len(text) && text[n]&0xC0 == 0x80 {
				n++
			}
		}
		if n >= size && (text[n-1] == ' ' || n >= 2*size) {
			break
		}
	}
	return min(n, len(text))
}
