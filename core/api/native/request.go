// Package native is the family of callers of POST /api/ai/complete and /api/ai/chat: interface.md, section 4.
package native

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// Family is this family. Its requests are written anew as OpenAI's.
func Family() api.Family {
	return api.Family{
		Dialect: chat.Native, Members: chat.OpenAI, Parse: Parse, Answer: Answer, Stream: Stream, End: End,
		StreamError: StreamError, Error: Error,
	}
}

// Defaults of a request.
const (
	defaultTier        = "balanced"
	defaultTemperature = "0.7"
	defaultMaxTokens   = 1000
)

// Parse reads a request. Unknown members are ignored. (Stream is what the body says, true unless it says
// otherwise; /api/ai/complete does not look at it.)
func Parse(p *api.Parser, root gjson.Result) api.Parsed {
	out := api.Parsed{Request: chat.Request{
		Dialect: chat.Native, Model: defaultTier, Temperature: defaultTemperature, MaxTokens: defaultMaxTokens, Stream: true,
	}, Defaulted: chat.ParamTemperature}
	r := &out.Request
	haveMessages := false
	root.ForEach(func(key, v gjson.Result) bool {
		switch name := key.String(); name {
		case "messages":
			haveMessages = true
			messages(p, r, v)
		case "quality":
			choice(p, &r.Model, name, v, "cheap", "balanced", "frontier")
		case "mode":
			mode := "text"
			choice(p, &mode, name, v, "text", "json")
			if mode == "json" {
				r.Format.Kind = chat.FormatJSON
			}
		case "temperature":
			if v.Type != gjson.Number || !(v.Num >= 0 && v.Num <= 2) {
				p.Wrong(name, "must be a number from 0 to 2")
				break
			}
			r.Temperature, out.Defaulted = strconv.FormatFloat(v.Num, 'f', -1, 64), 0
		case "maxTokens":
			if v.Type == gjson.Null {
				p.Wrong(name, "must be an integer from 1 to 10000000")
				break
			}
			r.MaxTokens = p.Integer(name, v, 1, api.MaxTokens)
		case "stream":
			if v.Type != gjson.True && v.Type != gjson.False {
				p.Wrong(name, "must be true or false")
			}
			r.Stream = v.Type == gjson.True
		}
		return true
	})
	if !haveMessages {
		p.Wrong("messages", "is required")
	}
	if r.Format.Kind == chat.FormatJSON {
		wantJSON(r)
	}
	out.Members = members(r, len(root.Raw))
	return out
}

// wantJSON says in words what is wanted: OpenAI refuses JSON mode for a conversation without the word.
func wantJSON(r *chat.Request) {
	for i := range r.Messages {
		if strings.Contains(strings.ToLower(string(r.Messages[i].Parts[0].Text)), "json") {
			return
		}
	}
	words := chat.Message{Role: chat.System, Parts: []chat.Part{{Kind: chat.Text, Text: "Answer with JSON."}}}
	r.Messages = append([]chat.Message{words}, r.Messages...)
}

// members writes the request anew, in OpenAI's form.
func members(r *chat.Request, size int) []byte {
	b := append(make([]byte, 0, size+256), `"messages":[`...)
	for i := range r.Messages {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, `{"role":"`...), roles[r.Messages[i].Role]...), `","content":"`...)
		b = append(append(b, r.Messages[i].Parts[0].Text...), `"}`...)
	}
	b = append(append(b, `],"temperature":`...), r.Temperature...)
	if r.Format.Kind == chat.FormatJSON {
		b = append(b, `,"response_format":{"type":"json_object"}`...)
	}
	return b
}

var roles = [...]string{chat.System: "system", chat.User: "user", chat.Assistant: "assistant"}

func choice(p *api.Parser, to *string, name string, v gjson.Result, choices ...string) {
	message := "must be "
	for i, c := range choices {
		if v.Type == gjson.String && v.Str == c {
			*to = c
			return
		}
		switch {
		case i == len(choices)-1:
			message += " or "
		case i > 0:
			message += ", "
		}
		message += c
	}
	p.Wrong(name, message)
}

// messages reads the conversation.
func messages(p *api.Parser, r *chat.Request, list gjson.Result) {
	if !list.IsArray() {
		p.Wrong("messages", "must be an array")
		return
	}
	count := 0
	list.ForEach(func(_, v gjson.Result) bool {
		if p.Full() {
			return false // no more is said, so no more is looked at
		}
		role, content := message(p, count, v)
		r.Messages = append(r.Messages, chat.Message{Role: roleOf(role), Parts: []chat.Part{{Kind: chat.Text, Text: jsontext.Inside(content)}}})
		count++
		return true
	})
	if count == 0 {
		p.Wrong("messages", "must not be empty")
	}
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

// invalid stands for a field that was there but wrong, so that it is not called missing too.
const invalid = "-"

// message reads one message: its role, and its content as it was spelled, which Check has vouched for.
func message(p *api.Parser, index int, v gjson.Result) (role, content string) {
	if !v.IsObject() {
		p.Wrong(api.At("messages", index, ""), "must be an object")
		return "", ""
	}
	v.ForEach(func(key, value gjson.Result) bool {
		switch key.String() {
		case "role":
			role = invalid
			choice(p, &role, api.At("messages", index, ".role"), value, "system", "user", "assistant")
		case "content":
			content = value.Raw
			if value.Type != gjson.String {
				content = invalid
				p.Wrong(api.At("messages", index, ".content"), "must be a string")
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
