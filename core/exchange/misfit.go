package exchange

import (
	"slices"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor/schema"
	"github.com/postern-ai/postern/core/jsontext"
)

// misfit returns the reason why a response's text violates JSON mode or the responseSchema. If it does not, misfit
// returns "". Refusals, and responses that contain tool calls or were cut off, are not checked.
func (x *exchange) misfit(r *chat.Response) string {
	q := &x.s.request
	if !q.json {
		return ""
	}
	a := &r.Choices[0]
	if cut(a.Finish) || slices.ContainsFunc(a.Parts, func(p chat.Part) bool { return p.Kind == chat.ToolCall || p.Kind == chat.Refusal }) {
		return ""
	}
	switch plain := chat.Join(a.Parts, chat.Text).Plain(); {
	case jsontext.Check([]byte(plain)) != jsontext.OK:
		return "is not JSON"
	case q.schema != "":
		if bad := schema.Validate(q.schema, plain); !bad.Valid() {
			return "does not match responseSchema: " + bad.Keyword
		}
	}
	return ""
}

func cut(f chat.Finish) bool { return f == chat.FinishLength || f == chat.FinishFilter }

// streamMisfit is like misfit, for the text of a stream that has already been sent. The caller gets an error in place
// of the stream's end. A stream that continues only for its followers is checked too, because it would be cached.
func (x *exchange) streamMisfit(whole *chat.Response) string {
	st := &x.s.stream
	switch {
	case whole == nil && st.hasContent && !st.passThrough && !st.forOthers && x.family().NeedsWhole:
		return "is too long for the end of the stream, which repeats it" // otherwise, callers would miss tool calls
	case x.s.request.schema == "", cut(st.finish):
		return ""
	case whole == nil:
		return "is empty, or too long to be compared with responseSchema"
	}
	return x.misfit(whole)
}
