package native

import (
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// Stream appends data: {"type":"delta","text":"…"} for a text or refusal delta, {"type":"toolCall","index","id","name"} for the beginning of a
// tool call, and {"type":"toolCallDelta","index","arguments":"…"} for a piece of its arguments.
func Stream(dst []byte, s *api.State, d *chat.Delta, m *api.Meta) []byte {
	b := jsontext.Builder{B: dst}
	switch d.Kind {
	case chat.DeltaText, chat.DeltaRefusal:
		if d.Text == "" {
			return dst
		}
		open(&b, "delta")
		b.TextMember("text", d.Text)
	case chat.DeltaTool:
		open(&b, "toolCall")
		b.UintMember("index", d.Index)
		b.TextMember("id", d.ID)
		b.TextMember("name", m.Aliases.Find(d.Name).Name)
	case chat.DeltaArgs:
		open(&b, "toolCallDelta")
		b.UintMember("index", d.Index)
		b.TextMember("arguments", d.Text)
	case chat.DeltaFinish:
		s.Finish = d.Finish
		return dst
	default:
		return dst
	}
	return append(b.B, "}\n\n"...)
}

func open(b *jsontext.Builder, kind string) {
	b.B = append(append(append(b.B, `data: {"type":"`...), kind...), '"')
}

// End appends data: {"type":"done","finishReason","provider","model","cacheHit","usage","attempts","latencyMs"} and data: [DONE].
func End(dst []byte, s *api.State, _ *chat.Response, m *api.Meta) []byte {
	b := jsontext.Builder{B: dst}
	open(&b, "done")
	result(&b, s.Finish, m)
	return append(b.B, "}\n\ndata: [DONE]\n\n"...)
}

// StreamError appends data: {"type":"error","error","code","requestId"}. If there is a limit, its fields follow.
func StreamError(dst []byte, _ *api.State, e *api.Error, _ *api.Meta) []byte {
	b := jsontext.Builder{B: append(dst, `data: {"type":"error"`...)}
	b.Key("error")
	b.String(e.Text())
	b.Key("code")
	b.String(e.Code())
	b.Key("requestId")
	b.String(e.RequestID)
	e.WriteLimit(&b)
	return append(b.B, "}\n\n"...)
}
