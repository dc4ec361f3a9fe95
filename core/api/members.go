package api

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsontext"
)

// StoreNothing tells callers what to do if a request needs a stored response.
const StoreNothing = "send store: false and the whole conversation in input"

// Members calls f for each field of an object that has passed jsontext.Check, until f returns false. raw is the
// value's JSON spelling. gjson's ForEach would also decode every string with escapes. For a long conversation,
// decoding takes longer than the rest of the request's processing.
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

// maxDecodedBytes is longer than any string with a fixed meaning, such as a role, in bytes.
const maxDecodedBytes = 64

// Undecoded is like gjson.Parse, for a checked value whose JSON spelling is used. If a string is long, Str is empty.
func Undecoded(raw string) gjson.Result {
	if len(raw) > maxDecodedBytes && raw[0] == '"' {
		return gjson.Result{Type: gjson.String, Raw: raw}
	}
	return gjson.Parse(raw)
}
