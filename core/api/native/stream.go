package native

import (
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// Stream appends data: {"type":"delta","text":"…"} for a text or refusal delta.
func Stream(dst []byte, _ *api.State, d *chat.Delta, _ *api.Meta) []byte {
	if d.Text == "" || d.Kind != chat.DeltaText && d.Kind != chat.DeltaRefusal {
		return dst
	}
	dst = append(append(dst, `data: {"type":"delta","text":"`...), d.Text...)
	return append(dst, "\"}\n\n"...)
}

// End appends data: {"type":"done","provider","model","cacheHit","usage"} and data: [DONE].
func End(dst []byte, _ *api.State, _ *chat.Response, m *api.Meta) []byte {
	b := jsontext.Builder{B: append(dst, `data: {"type":"done"`...)}
	result(&b, m)
	return append(b.B, "}\n\ndata: [DONE]\n\n"...)
}

// StreamError appends data: {"type":"error","error","code","requestId"}, with the members of the limit, if any.
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
