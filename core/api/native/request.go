// Package native implements Postern's own API: POST /api/ai/complete, /api/ai/chat and /api/ai/embed
// (docs/openapi.yaml).
package native

import (
	"bytes"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/openai"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// Family returns the native family. Its Parsed.Members is in OpenAI's dialect.
func Family() api.Family {
	return api.Family{
		Dialect: chat.Native, Members: chat.OpenAI, Parse: Parse, Answer: Answer, Stream: Stream, End: End,
		StreamError: StreamError, Error: Error,
	}
}

// Defaults for omitted parameters.
const (
	defaultTier        = "balanced"
	defaultTemperature = "0.7"
	defaultMaxTokens   = 1000
)

// Parse reads a request. Unknown fields are errors only if the parser is strict. Stream defaults to true.
// /api/ai/complete ignores it.
func Parse(p *api.Parser, root gjson.Result) api.Parsed {
	r := reader{Parser: p, out: api.Parsed{Request: chat.Request{
		Dialect: chat.Native, Model: defaultTier, Temperature: defaultTemperature, MaxTokens: defaultMaxTokens, Stream: true,
	}, Defaulted: chat.ParamTemperature}}
	haveMessages := false
	root.ForEach(func(key, v gjson.Result) bool {
		name := key.String()
		if name == "messages" {
			haveMessages = true
			r.messages(v, len(root.Raw))
		} else {
			r.parameter(name, v)
		}
		return true
	})
	if !haveMessages {
		p.Wrong("messages", "is required")
	}
	r.finish()
	return r.out
}

type reader struct {
	*api.Parser
	out   api.Parsed
	body  []byte           // Parsed.Members so far, with messages first
	rest  jsontext.Builder // fields that only rich requests have
	rich  bool             // not only plain text messages, so openai.Parse reads Parsed.Members
	index int              // of the current message

	named, quality, tools, choice, topP bool // fields that exclude or require others
}

func (r *reader) parameter(name string, v gjson.Result) {
	q := &r.out.Request
	switch name {
	case "quality":
		r.quality = true
		choice(r.Parser, &q.Model, name, v, "cheap", "balanced", "frontier")
	case "model":
		r.named = true
		q.Model = r.Model(v)
	case "mode":
		mode := "text"
		choice(r.Parser, &mode, name, v, "text", "json")
		if mode == "json" && q.Format.Kind == chat.FormatText {
			q.Format.Kind = chat.FormatJSON
		}
	case "temperature":
		r.temperature(v)
	case "maxTokens":
		if v.Type == gjson.Null {
			r.WrongInteger(name, v, 1, api.MaxTokens)
			return
		}
		q.MaxTokens = r.Integer(name, v, 1, api.MaxTokens)
	case "stream":
		if v.Type != gjson.True && v.Type != gjson.False {
			r.WrongValue(name, "true or false", v)
		}
		q.Stream = v.Type == gjson.True
	default:
		if !r.extension(name, v) {
			r.out.Unknown = r.Ignore(r.out.Unknown, name, "is not a field of this endpoint; "+r.remedy(name))
		}
	}
}

func (r *reader) temperature(v gjson.Result) {
	const name = "temperature"
	switch {
	case v.Type == gjson.Null:
		r.WrongType(name, "a number between 0 and 2", v)
	case r.Number(name, v, 0, 2) != "":
		r.out.Request.Temperature, r.out.Defaulted = strconv.FormatFloat(v.Num, 'f', -1, 64), 0
	}
}

func choice(p *api.Parser, to *string, name string, v gjson.Result, choices ...string) {
	want := ""
	for i, c := range choices {
		if v.Type == gjson.String && v.Str == c {
			*to = c
			return
		}
		switch {
		case i == len(choices)-1:
			want += " or "
		case i > 0:
			want += ", "
		}
		want += c
	}
	p.WrongValue(name, want, v)
}

func turn(role chat.Role, text jsontext.Escaped) chat.Message {
	return chat.Message{Role: role, Parts: []chat.Part{{Kind: chat.Text, Text: text}}}
}

func hasJSON(text []byte) bool {
	for _, word := range []string{"JSON", "json", "Json"} {
		if bytes.Contains(text, []byte(word)) {
			return true
		}
	}
	return false
}

// jsonPrompt is added to conversations that do not mention JSON. Without the word, OpenAI rejects JSON mode.
const jsonPrompt = "Answer with JSON."

func (r *reader) finish() {
	q := &r.out.Request
	r.checkTogether()
	b := r.body
	if q.Format.Kind == chat.FormatJSON && !hasJSON(b) {
		b = append([]byte(messagesStart+`{"role":"system","content":"`+jsonPrompt+`"},`), b[min(len(messagesStart), len(b)):]...)
		q.Messages = append([]chat.Message{turn(chat.System, jsonPrompt)}, q.Messages...)
	}
	b = append(b, ']')
	if r.topP && r.out.Defaulted != 0 {
		q.Temperature = "" // some models accept only one of the two: the one that the caller set
	} else {
		b = append(append(b, `,"temperature":`...), q.Temperature...)
	}
	if q.Format.Kind == chat.FormatJSON {
		b = append(b, `,"response_format":{"type":"json_object"}`...)
	}
	if len(r.rest.B) > 0 {
		b = append(append(b, ','), r.rest.B...)
	}
	r.out.Members = b
	if r.rich && len(r.Details) == 0 {
		r.readMembers()
	}
}

// readMembers reads Members as a chat completion, so that rich requests mean the same in both APIs.
func (r *reader) readMembers() {
	q := &r.out.Request
	body := append(jsontext.AppendString([]byte(`{"model":`), q.Model), ',')
	body = append(append(body, r.out.Members...), '}')
	parsed := openai.Parse(r.Parser, gjson.ParseBytes(body))
	full := parsed.Request
	full.Dialect, full.MaxTokens, full.Stream = chat.Native, q.MaxTokens, q.Stream
	r.out.Request, r.out.Aliases, r.out.PromptTokens = full, parsed.Aliases, 0
}
