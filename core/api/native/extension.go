package native

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/governor/schema"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/policy"
)

// fields contains the names of all fields of a request. An unknown name is compared with them.
var fields = [...]string{
	"messages", "model", "quality", "mode", "temperature", "maxTokens", "stream", "topP", "stop", "seed", "reasoning", "tools", "toolChoice",
	"responseSchema", "metadata",
}

// remedy returns advice about an unknown field. The advice may name the field that the caller meant. A body may have
// hundreds of thousands of unknown fields, so remedy compares names only if the error is shown.
func (r *reader) remedy(name string) string {
	if !r.Strict || r.Full() || len(name) > doc.MaxModelBytes {
		return "omit it"
	}
	best, least := "", len(name)/2+1
	for _, field := range fields {
		if d := policy.Distance(name, field); d < least {
			best, least = field, d
		}
	}
	if best == "" {
		return "omit it"
	}
	return "did you mean " + best + "?"
}

// extension reads a field that only rich requests have, and writes it in OpenAI's dialect. It returns false for an
// unknown field. null counts as omitted.
func (r *reader) extension(name string, v gjson.Result) bool {
	if v.Type == gjson.Null {
		for _, field := range fields {
			if field == name {
				return true
			}
		}
		return false
	}
	switch name {
	case "topP":
		r.topP = true
		r.write("top_p", r.Number(name, v, 0, 1))
	case "seed":
		r.write(name, r.Seed(name, v))
	case "stop":
		r.write(name, v.Raw) // openai.Parse checks it
	case "reasoning":
		r.known(name, v, `"effort"`)
		effort := ""
		choice(r.Parser, &effort, "reasoning.effort", jsonvalue.Get(v.Raw, "effort"), "none", "minimal", "low", "medium", "high", "xhigh")
		r.write("reasoning_effort", `"`+effort+`"`)
	case "metadata":
		r.metadata(v)
	case "tools":
		r.toolList(v)
	case "toolChoice":
		r.toolChoice(v)
	case "responseSchema":
		r.responseSchema(v)
	default:
		return false
	}
	return true
}

func (r *reader) write(name, raw string) {
	r.rich = true
	if len(r.rest.B) > 0 {
		r.rest.B = append(r.rest.B, ',')
	}
	r.rest.B = append(jsontext.AppendString(r.rest.B, name), ':')
	r.rest.B = append(r.rest.B, raw...)
}

// The limits of metadata are OpenAI's (API reference, "Create chat completion", as of 2026-11).
const (
	maxMetadata      = 16
	maxMetadataKey   = 64
	maxMetadataValue = 512
)

func (r *reader) metadata(v gjson.Result) {
	if !v.IsObject() {
		r.WrongType("metadata", "an object of strings", v)
		return
	}
	count := 0
	v.ForEach(func(key, value gjson.Result) bool {
		if count++; value.Type != gjson.String || len(value.Str) > maxMetadataValue || len(key.Str) > maxMetadataKey || count > maxMetadata {
			r.Wrong("metadata", "must have at most 16 fields, with names of at most 64 and strings of at most 512 bytes")
			return false
		}
		return true
	})
	r.write("metadata", v.Raw)
}

// maxToolName is the maximum length of a function's name that all providers accept. Source: OpenAI's guide "Function
// calling", as of 2026-11.
const maxToolName = 64

func (r *reader) toolList(v gjson.Result) {
	if !v.IsArray() {
		r.WrongType("tools", "an array", v)
		return
	}
	b := jsontext.Builder{}
	b.Open('[')
	count := 0
	v.ForEach(func(_, t gjson.Result) bool {
		r.tool(&b, api.At("tools", count, ""), t)
		count++
		return !r.Full()
	})
	b.Close(']')
	if count > 0 { // an empty list means no tools, and providers reject it
		r.tools = true
		r.write("tools", string(b.B))
	}
}

func (r *reader) tool(b *jsontext.Builder, field string, v gjson.Result) {
	if !v.IsObject() {
		r.WrongType(field, "an object", v)
		return
	}
	var name, description, parameters gjson.Result
	api.Members(v, func(key, raw string) bool {
		switch key {
		case "name":
			name = gjson.Parse(raw)
		case "description":
			description = api.Undecoded(raw)
		case "parameters":
			parameters = api.Undecoded(raw)
		default:
			r.out.Unknown = r.IgnoreIn(r.out.Unknown, field, key)
		}
		return true
	})
	b.Open('{')
	b.Member("type", `"function"`)
	b.Key("function")
	b.Open('{')
	b.StringMember("name", r.toolName(field+".name", name))
	if description.Type != gjson.Null {
		b.TextMember("description", r.Text(field+".description", description))
	}
	if raw := r.Object(field+".parameters", parameters); raw != "" {
		b.Member("parameters", raw)
	}
	b.Close('}')
	b.Close('}')
}

func (r *reader) toolName(field string, v gjson.Result) string {
	name := v.Str
	ok := v.Type == gjson.String && name != "" && len(name) <= maxToolName
	for i := range len(name) {
		c := name[i]
		ok = ok && (c == '_' || c == '-' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z')
	}
	if !ok {
		r.WrongValue(field, "1 to 64 letters, digits, underscores and hyphens", v)
	}
	return name
}

func (r *reader) toolChoice(v gjson.Result) {
	r.choice = true
	if !v.IsObject() {
		word := ""
		choice(r.Parser, &word, "toolChoice", v, "auto", "none", "required", `{"name"}`)
		r.write("tool_choice", `"`+word+`"`)
		return
	}
	r.known("toolChoice", v, `"name"`)
	b := jsontext.Builder{}
	b.Open('{')
	b.Member("type", `"function"`)
	b.Key("function")
	b.Open('{')
	b.StringMember("name", r.toolName("toolChoice.name", jsonvalue.Get(v.Raw, "name")))
	b.Close('}')
	b.Close('}')
	r.write("tool_choice", string(b.B))
}

func (r *reader) responseSchema(v gjson.Result) {
	if !v.IsObject() {
		r.WrongType("responseSchema", "a JSON Schema, which is an object", v)
		return
	}
	if err := schema.Check(v.Raw, schema.Ignored); err != nil {
		r.Wrong("responseSchema", err.Error())
		return
	}
	r.out.Request.Format = chat.Format{Kind: chat.FormatSchema}
	r.write("response_format", `{"type":"json_schema","json_schema":{"name":"response","schema":`+v.Raw+`}}`)
}

func (r *reader) checkTogether() {
	if r.named && r.quality {
		r.Wrong("quality", "names another model than model; send only one of them")
	}
	if r.choice && !r.tools {
		r.Wrong("toolChoice", "needs tools")
	}
}
