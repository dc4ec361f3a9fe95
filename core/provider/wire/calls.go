package wire

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// Response is Whole for callers: a tool call without a name makes it false, and one without an ID gets call_N.
func (f *Family) Response(root gjson.Result) (chat.Response, bool) {
	r, ok := f.Whole(root)
	for i := range r.Choices {
		n := uint64(0)
		for j := range r.Choices[i].Parts {
			if p := &r.Choices[i].Parts[j]; p.Kind == chat.ToolCall {
				ok = named(&p.ID, p.Name, n) && ok
				n++
			}
		}
	}
	return r, ok
}

// Stream is Event for callers, as Response is Whole.
func (f *Family) Stream(s *State, name string, root gjson.Result) ([]chat.Delta, bool) {
	out, ok := f.Event(s, name, root, nil)
	for i := range out {
		if d := &out[i]; d.Kind == chat.DeltaTool {
			ok = named(&d.ID, d.Name, d.Index) && ok
		}
	}
	return out, ok
}

func named(id *jsontext.Escaped, name jsontext.Escaped, n uint64) bool {
	if *id == "" {
		*id = jsontext.Escaped("call_" + strconv.FormatUint(n, 10))
	}
	return name != ""
}
