package responses

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

// This stream uses api.State as follows. Block is the kind of the open item's part. If no item is open, Block is 0.
// Index is the number of items begun. Tools is the number of tool calls begun. Flags is the number of events written.
// chat.Fold returns the items' parts in the same order, so End finds each item's text by its index.

// Stream appends the events of a delta. End writes the final content of all items, because only then is it complete.
func Stream(dst []byte, s *api.State, d *chat.Delta, m *api.Meta) []byte {
	if d.Choice > 0 {
		return dst
	}
	w := writer{jsontext.Builder{B: dst}, s, m}
	switch d.Kind {
	case chat.DeltaStart:
		w.response("response.created", "in_progress", nil, nil)
		w.response("response.in_progress", "in_progress", nil, nil)
	case chat.DeltaText:
		w.piece(chat.Text, "response.output_text.delta", d)
	case chat.DeltaRefusal:
		w.piece(chat.Refusal, "response.refusal.delta", d)
	case chat.DeltaThinking:
		w.piece(chat.Thinking, "response.reasoning_summary_text.delta", d)
	case chat.DeltaSignature:
		if w.s.Block != uint64(chat.Thinking) {
			w.begin(&chat.Part{Kind: chat.Thinking})
		}
		w.s.Block = 0
	case chat.DeltaRedacted:
		w.begin(&chat.Part{Kind: chat.Redacted, Data: d.Text})
		w.s.Block = 0
	case chat.DeltaTool:
		w.begin(&chat.Part{Kind: chat.ToolCall, ID: d.ID, Name: d.Name})
		w.s.Tools++
		if kind := m.Aliases.Find(d.Name).Kind; kind == chat.Custom {
			s.Input(d.Index, true)
		} else if kind != chat.Function {
			s.Block = 0 // a call without argument events: only the done item has its arguments
		}
	case chat.DeltaArgs:
		w.args(d)
	case chat.DeltaFinish:
		w.s.Block = 0
	}
	return w.b.B
}

type writer struct {
	b jsontext.Builder
	s *api.State
	m *api.Meta
}

func (w *writer) open(kind string) {
	w.b.B = append(w.b.B, "event: "+kind+"\ndata: {"...)
	w.b.Key("type")
	w.b.String(kind)
	w.b.Key("sequence_number")
	w.b.Uint(w.s.Flags)
	w.s.Flags++
}

func (w *writer) close() { w.b.B = append(w.b.B, "}\n\n"...) }

func (w *writer) response(kind, status string, r *chat.Response, e *api.Error) {
	w.open(kind)
	w.b.Key("response")
	object(&w.b, status, r, w.m, e)
	w.close()
}

func (w *writer) place(p *chat.Part, index int) {
	w.b.Key("item_id")
	w.b.String(itemID(p, index, w.m))
	w.b.Key("output_index")
	w.b.Uint(uint64(index))
	switch p.Kind {
	case chat.Thinking:
		w.b.Member("summary_index", "0")
	case chat.Text, chat.Refusal:
		w.b.Member("content_index", "0")
	}
}

// begin opens the output item of a part.
func (w *writer) begin(p *chat.Part) {
	index := int(w.s.Index)
	w.s.Index++
	w.s.Block = uint64(p.Kind)
	w.open("response.output_item.added")
	w.b.Key("output_index")
	w.b.Uint(uint64(index))
	w.b.Key("item")
	item(&w.b, index, p, "in_progress", w.m)
	w.close()
	switch p.Kind {
	case chat.Text, chat.Refusal:
		w.open("response.content_part.added")
		w.place(p, index)
		w.b.Key("part")
		writeContent(&w.b, p)
		w.close()
	case chat.Thinking:
		w.open("response.reasoning_summary_part.added")
		w.place(p, index)
		w.b.Key("part")
		summary(&w.b, "")
		w.close()
	}
}

func (w *writer) piece(kind chat.PartKind, event string, d *chat.Delta) {
	if w.s.Block != uint64(kind) {
		w.begin(&chat.Part{Kind: kind})
	}
	w.open(event)
	w.place(&chat.Part{Kind: kind}, int(w.s.Index)-1)
	w.b.Key("delta")
	w.b.Text(d.Text)
	if kind == chat.Text {
		w.b.Member("logprobs", "[]")
	}
	w.close()
}

// args writes a piece of the last tool call's arguments. For a custom tool, it writes the input text that this piece
// completes. Late pieces of earlier calls are dropped, because End sends the complete arguments.
func (w *writer) args(d *chat.Delta) {
	if w.s.Block != uint64(chat.ToolCall) || d.Index+1 != w.s.Tools {
		return
	}
	event, id, text := "response.function_call_arguments.delta", "fc_", d.Text
	if input := w.s.Input(d.Index, false); input != nil {
		event, id, text = "response.custom_tool_call_input.delta", "ctc_", jsontext.Escaped(input.Read(nil, d.Text))
		if text == "" {
			return
		}
	}
	index := int(w.s.Index) - 1
	w.open(event)
	w.b.Key("item_id")
	w.b.String(id + bare(w.m) + "_" + strconv.Itoa(index))
	w.b.Key("output_index")
	w.b.Uint(uint64(index))
	w.b.Key("delta")
	w.b.Text(text)
	w.close()
}

// End appends the done events of all items and the final response event.
func End(dst []byte, s *api.State, whole *chat.Response, m *api.Meta) []byte {
	w := writer{jsontext.Builder{B: dst}, s, m}
	if whole == nil {
		whole = &chat.Response{Choices: make([]chat.Answer, 1)} // too long to keep, but the caller has the deltas
	}
	for i, p := range whole.Choices[0].Parts {
		w.done(i, &p)
	}
	st := status(whole.Choices[0].Finish)
	w.response("response."+st, st, whole, nil)
	return w.b.B
}

func (w *writer) done(index int, p *chat.Part) {
	switch p.Kind {
	case chat.Text:
		w.text("response.output_text.done", index, p, "text")
	case chat.Refusal:
		w.text("response.refusal.done", index, p, "refusal")
	case chat.Thinking:
		w.text("response.reasoning_summary_text.done", index, p, "text")
		w.open("response.reasoning_summary_part.done")
		w.place(p, index)
		w.b.Key("part")
		summary(&w.b, p.Text)
		w.close()
	case chat.ToolCall:
		w.argsDone(index, p)
	}
	if p.Kind == chat.Text || p.Kind == chat.Refusal {
		w.open("response.content_part.done")
		w.place(p, index)
		w.b.Key("part")
		writeContent(&w.b, p)
		w.close()
	}
	w.open("response.output_item.done")
	w.b.Key("output_index")
	w.b.Uint(uint64(index))
	w.b.Key("item")
	item(&w.b, index, p, "completed", w.m)
	w.close()
}

// argsDone writes the events with a call's complete arguments. Some types of calls have no such events.
func (w *writer) argsDone(index int, p *chat.Part) {
	switch alias := w.m.Aliases.Find(p.Name); alias.Kind {
	case chat.Function:
		w.open("response.function_call_arguments.done")
		w.place(p, index)
		w.b.Key("name")
		w.b.Text(alias.Name)
		w.b.Key("arguments")
		w.b.String(p.Args)
		w.close()
	case chat.Custom:
		w.open("response.custom_tool_call_input.done")
		w.place(p, index)
		w.b.Key("input")
		w.b.Text(chat.Input(p.Args))
		w.close()
	case chat.Shell:
		w.commands(index, p, &alias)
	}
}

// commands writes the events for the commands of a shell call. Each command has an added event, one delta event with
// the entire command, and a done event. Calls of other types have no such events. Source: the schemas
// ResponseShellCallCommandAddedStreamingEvent, …Delta… and …Done… of OpenAI's OpenAPI document
// (github.com/openai/openai-openapi, version 2.3.0), as of 2026-11.
func (w *writer) commands(index int, p *chat.Part, alias *chat.Alias) {
	whole := jsontext.Builder{}
	whole.Open('{')
	call(&whole, p.Args, alias)
	whole.Close('}')
	number := uint64(0)
	api.Each(jsonvalue.Get(string(whole.B), "action.commands"), func(command gjson.Result) {
		for _, e := range [...]struct{ event, member, text string }{{"added", "command", `""`}, {"delta", "delta", command.Raw}, {"done", "command", command.Raw}} {
			w.open("response.shell_call_command." + e.event)
			w.b.Key("output_index")
			w.b.Uint(uint64(index))
			w.b.Key("command_index")
			w.b.Uint(number)
			w.b.Member(e.member, e.text)
			w.close()
		}
		number++
	})
}

func (w *writer) text(event string, index int, p *chat.Part, name string) {
	w.open(event)
	w.place(p, index)
	w.b.Key(name)
	w.b.Text(p.Text)
	if p.Kind == chat.Text {
		w.b.Member("logprobs", "[]")
	}
	w.close()
}

// StreamError appends response.failed, which makes the SDKs throw or stop.
func StreamError(dst []byte, s *api.State, e *api.Error, m *api.Meta) []byte {
	w := writer{jsontext.Builder{B: dst}, s, m}
	if !s.Started && s.Flags == 0 {
		w.response("response.created", "in_progress", nil, nil)
	}
	w.response("response.failed", "failed", nil, e)
	return w.b.B
}
