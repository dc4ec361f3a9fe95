package responses

import (
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/jsontext"
)

// compacted lists the fields of a compaction. model and service_tier are sent separately. Sources: see
// responses.Compact in core/provider.
var compacted = []string{
	"input", "instructions", "image", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
	"parallel_tool_calls", "reasoning", "text", "tools", // from Codex
}

// Compaction turns a body that was parsed for POST /v1/responses into one for POST /v1/responses/compact. That API
// has no streams and no limits on output or tool calls.
func Compaction(p *api.Parser, root gjson.Result, out *api.Parsed) {
	r := &out.Request
	r.MaxTokens, r.MaxToolCalls, r.Stream = 0, 0, false
	only(p, root, out, compacted, "is not a parameter of a compaction; omit it", "service_tier")
}

// counted lists the fields that affect the number of input tokens. The API rejects all others. Source: see
// responses.CountRequest in core/provider.
var counted = []string{"input", "instructions", "parallel_tool_calls", "reasoning", "text", "tool_choice", "tools", "truncation"}

// Count turns a body that was parsed for POST /v1/responses into one for POST /v1/responses/input_tokens.
func Count(p *api.Parser, root gjson.Result, out *api.Parsed) {
	out.Request.Stream = false
	only(p, root, out, counted, "does not change the number of input tokens; omit it", "")
}

// only keeps the fields of a body that are in names. It ignores the others and gives a reason. It says nothing about
// model and apart, which are sent separately.
func only(p *api.Parser, root gjson.Result, out *api.Parsed, names []string, reason, apart string) {
	out.Members = out.Members[:0]
	root.ForEach(func(key, v gjson.Result) bool {
		switch name := key.String(); {
		case slices.Contains(names, name):
			out.Members = api.AppendMember(out.Members, key, v)
		case name != "model" && name != apart && v.Type != gjson.Null && p.Catalog.Forwards("responses", name):
			out.Unknown = p.Ignore(out.Unknown, name, reason)
		}
		return true
	})
}

// AppendCount appends the response to POST /v1/responses/input_tokens.
func AppendCount(dst []byte, tokens uint64) []byte {
	return append(strconv.AppendUint(append(dst, `{"object":"response.input_tokens","input_tokens":`...), tokens, 10), '}')
}

// AppendCompaction appends the mock's response to POST /v1/responses/compact.
func AppendCompaction(dst []byte, m *api.Meta) []byte {
	b := jsontext.Builder{B: dst}
	b.Open('{')
	b.Key("id")
	b.String("resp_" + bare(m))
	b.Member("object", `"response.compaction"`)
	b.Key("created_at")
	b.Uint(m.CreatedMs / 1000)
	b.Member("output", `[{"id":"cmp_mock","type":"compaction","encrypted_content":"bW9jaw=="}]`)
	b.Key("usage")
	usage(&b, &m.Usage)
	b.Close('}')
	return b.B
}
