package exchange

import (
	"slices"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor/schema"
	"github.com/postern-ai/postern/core/jsontext"
)

// misfit is the reason why a response's text is not what the mode json or a responseSchema asks for; empty: none. What has calls, was
// cut, or refuses is passed on as it is.
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

// cut reports whether a response ended before its text did.
func cut(f chat.Finish) bool { return f == chat.FinishLength || f == chat.FinishFilter }

// streamMisfit is misfit for the text of a stream, which has been sent: the caller gets an error in place of its end. One that continues for others is
// compared too, as it would be cached.
func (x *exchange) streamMisfit(whole *chat.Response) string {
	st := &x.s.stream
	switch {
	case whole == nil && st.hasContent && !st.passThrough && !st.forOthers && x.family().NeedsWhole:
		return "is too long for the end of the stream, which repeats it" // without it, callers would miss calls
	case x.s.request.schema == "", cut(st.finish):
		return ""
	case whole == nil:
		return "is empty, or too long to be compared with responseSchema"
	}
	return x.misfit(whole)
}
