package api

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsontext"
)

// StoreNothing is the remedy for requests that need a stored response.
const StoreNothing = "send store: false and the whole conversation in input"

// Members calls f for each member of an object that has passed jsontext.Check, until f returns false. raw is the value as it is
// spelled. gjson's ForEach also decodes every string with escapes; for a long conversation, that copy takes longer than everything
// else that the request needs.
func Members(object gjson.Result, f func(key, raw string) bool) {
	for c := jsontext.Open(object.Raw); ; {
		name, value, ok := c.Member()
		if !ok {
			return
		}
		key := string(jsontext.Inside(name))
		if strings.IndexByte(key, '\\') >= 0 {
			key = jsontext.Inside(name).Plain()
		}
		if !f(key, value) {
			return
		}
	}
}

// maxDecodedBytes is longer than any text that has a meaning of its own.
const maxDecodedBytes = 64

// Undecoded is gjson.Parse for a checked value whose text is used as it is spelled: Str is empty if the text is long.
func Undecoded(raw string) gjson.Result {
	if len(raw) > maxDecodedBytes && raw[0] == '"' {
		return gjson.Result{Type: gjson.String, Raw: raw}
	}
	return gjson.Parse(raw)
}
