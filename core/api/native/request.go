// Package native is Postern's own API: POST /api/ai/complete and /api/ai/chat (docs/openapi.yaml).
package native

import (
	"bytes"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// Family returns the native family. Parsed.Members are in OpenAI's dialect.
func Family() api.Family {
	return api.Family{
		Dialect: chat.Native, Members: chat.OpenAI, Parse: Parse, Answer: Answer, Stream: Stream, End: End,
		StreamError: StreamError, Error: Error,
	}
}

// Defaults of omitted parameters.
const (
	defaultTier        = "balanced"
	defaultTemperature = "0.7"
	defaultMaxTokens   = 1000
)

// Parse reads a request. Unknown members are ignored, unless the parser is strict. Stream defaults to true; /api/ai/complete ignores it.
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

// reader parses one body.
type reader struct {
	*api.Parser
	out  api.Parsed
	body []byte // Parsed.Members so far; messages first
}

func (r *reader) parameter(name string, v gjson.Result) {
	q := &r.out.Request
	switch name {
	case "quality":
		choice(r.Parser, &q.Model, name, v, "cheap", "balanced", "frontier")
	case "mode":
		mode := "text"
		choice(r.Parser, &mode, name, v, "text", "json")
		if mode == "json" {
			q.Format.Kind = chat.FormatJSON
		}
	case "temperature":
		if v.Type == gjson.Null {
			r.WrongType(name, "a number between 0 and 2", v)
			return
		}
		if r.Number(name, v, 0, 2) == "" {
			return
		}
		q.Temperature, r.out.Defaulted = strconv.FormatFloat(v.Num, 'f', -1, 64), 0
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
		r.out.Unknown = r.Ignore(r.out.Unknown, name, "is not a field of this endpoint; omit it")
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

const messagesStart = `"messages":[`

// messages reads the conversation and writes it in OpenAI's dialect.
func (r *reader) messages(list gjson.Result, size int) {
	if !list.IsArray() {
		r.WrongType("messages", "an array", list)
		return
	}
	r.body = append(make([]byte, 0, size+256), messagesStart...)
	count := 0
	list.ForEach(func(_, v gjson.Result) bool {
		if r.Full() {
			return false
		}
		role, content := message(r.Parser, count, v)
		count++
		if len(r.Details) == 0 {
			r.add(role, content)
		}
		return true
	})
	if count == 0 {
		r.Wrong("messages", "must not be empty")
	}
}

// add appends a valid message. content includes its quotes.
func (r *reader) add(role, content string) {
	if len(r.body) > len(messagesStart) {
		r.body = append(r.body, ',')
	}
	r.body = append(append(append(r.body, `{"role":"`...), role...), `","content":`...)
	r.body = append(append(r.body, content...), '}')
	text := jsontext.Inside(content)
	r.out.PromptTokens += chat.MessageTokens(text)
	if !r.Skim {
		r.out.Request.Messages = append(r.out.Request.Messages, turn(roleOf(role), text))
	}
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

// jsonPrompt is added to conversations that do not mention JSON: OpenAI rejects JSON mode without the word.
const jsonPrompt = "Answer with JSON."

// finish appends the other members after the messages.
func (r *reader) finish() {
	q := &r.out.Request
	b := r.body
	if q.Format.Kind == chat.FormatJSON && !hasJSON(b) {
		b = append([]byte(messagesStart+`{"role":"system","content":"`+jsonPrompt+`"},`), b[min(len(messagesStart), len(b)):]...)
		q.Messages = append([]chat.Message{turn(chat.System, jsonPrompt)}, q.Messages...)
	}
	b = append(append(b, `],"temperature":`...), q.Temperature...)
	if q.Format.Kind == chat.FormatJSON {
		b = append(b, `,"response_format":{"type":"json_object"}`...)
	}
	r.out.Members = b
}

func roleOf(role string) chat.Role {
	switch role {
	case "system":
		return chat.System
	case "assistant":
		return chat.Assistant
	}
	return chat.User
}

// invalid marks a field that is present but wrong, so that it is not reported as missing too.
const invalid = "-"

// message returns a message's role and its content. The content is JSON as in the request: jsontext.Check has
// validated it.
func message(p *api.Parser, index int, v gjson.Result) (role, content string) {
	if !v.IsObject() {
		p.WrongType(api.At("messages", index, ""), "an object", v)
		return "", ""
	}
	api.Members(v, func(key, raw string) bool {
		switch key {
		case "role":
			role = invalid
			choice(p, &role, api.At("messages", index, ".role"), gjson.Parse(raw), "system", "user", "assistant")
		case "content":
			content = raw
			if value := api.Undecoded(raw); value.Type != gjson.String {
				content = invalid
				p.WrongType(api.At("messages", index, ".content"), "a string", value)
			}
		}
		return true
	})
	if role == "" {
		p.Wrong(api.At("messages", index, ".role"), "is required")
	}
	if content == "" {
		p.Wrong(api.At("messages", index, ".content"), "is required")
	}
	return role, content
}
