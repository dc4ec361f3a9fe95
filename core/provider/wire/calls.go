package wire

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

// Response is like Whole, and makes the result valid for callers. If a tool call has no name, it returns false. If a
// tool call has no ID, it gets one from CallID.
func (f *Family) Response(root gjson.Result) (chat.Response, bool) {
	r, ok := f.Whole(root)
	for i := range r.Choices {
		n := uint64(0)
		for j := range r.Choices[i].Parts {
			if p := &r.Choices[i].Parts[j]; p.Kind == chat.ToolCall {
				ok = named(&p.ID, p.Name, r.ID, n) && ok
				n++
			}
		}
	}
	return r, ok
}

// Stream is to Event what Response is to Whole.
func (f *Family) Stream(s *State, name string, root gjson.Result) ([]chat.Delta, bool) {
	out, ok := f.Event(s, name, root, nil)
	for i := range out {
		if d := &out[i]; d.Kind == chat.DeltaTool {
			ok = named(&d.ID, d.Name, jsonvalue.Text(root.Raw, "id"), d.Index) && ok
		}
	}
	return out, ok
}

func named(id *jsontext.Escaped, name, response jsontext.Escaped, n uint64) bool {
	if *id == "" {
		*id = CallID(response, n)
	}
	return name != ""
}

// CallID makes an ID for a call that has none: call_N and the response's ID. Other providers require IDs that are
// unique within a conversation. If the response's ID is long or not a plain word, it is left out.
func CallID(response jsontext.Escaped, n uint64) jsontext.Escaped {
	id := "call_" + strconv.FormatUint(n, 10)
	if len(response) == 0 || len(response) > 28 {
		return jsontext.Escaped(id)
	}
	for i := range len(response) {
		c := response[i]
		if !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c == '_') {
			return jsontext.Escaped(id)
		}
	}
	return jsontext.Escaped(id) + "_" + response
}
