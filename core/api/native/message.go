package native

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

const messagesStart = `"messages":[`

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
		r.index = count
		m := r.message(count, v)
		count++
		if len(r.Details) == 0 {
			r.add(&m)
		}
		return true
	})
	if count == 0 {
		r.Wrong("messages", "must not be empty")
	}
}

// message is one message in a request. Its values are JSON, spelled as in the request. jsontext.Check has validated
// them.
type message struct {
	role    string
	content string // a string with its quotes, or an array of parts
	calls   string // of an assistant: an array of toolCalls
	id      string // of a tool: toolCallId with its quotes
}

// invalid marks a field that is present but wrong, so that it is not also reported as missing.
const invalid = "-"

func (r *reader) message(index int, v gjson.Result) (m message) {
	if !v.IsObject() {
		r.WrongType(api.At("messages", index, ""), "an object", v)
		return m
	}
	api.Members(v, func(key, raw string) bool {
		switch key {
		case "role":
			m.role = invalid
			choice(r.Parser, &m.role, api.At("messages", index, ".role"), gjson.Parse(raw), "system", "user", "assistant", "tool")
		case "content":
			m.content = raw
			if value := api.Undecoded(raw); value.Type != gjson.String && !value.IsArray() {
				m.content = invalid
				r.WrongType(api.At("messages", index, ".content"), "a string or an array of parts", value)
			}
		case "toolCalls":
			m.calls = raw
		case "toolCallId":
			m.id = raw
		default:
			r.out.Unknown = r.IgnoreIn(r.out.Unknown, api.At("messages", index, ""), key)
		}
		return true
	})
	r.checkMessage(index, &m)
	return m
}

// checkMessage reports fields that the message's role requires or does not allow.
func (r *reader) checkMessage(index int, m *message) {
	wrong := func(member, problem string) { r.Wrong(api.At("messages", index, member), problem) }
	if m.role == "" {
		wrong(".role", "is required")
	}
	if m.content == "" && m.calls == "" {
		wrong(".content", "is required")
	}
	switch {
	case m.role == "tool":
		if id := gjson.Parse(m.id); id.Str == "" {
			r.WrongType(api.At("messages", index, ".toolCallId"), "the id of one of the assistant's toolCalls", id)
		}
	case m.id != "":
		wrong(".toolCallId", "belongs to messages of the role tool")
	}
	if m.calls != "" && m.role != "assistant" && m.role != invalid {
		wrong(".toolCalls", "belongs to messages of the role assistant")
	}
}

func (r *reader) add(m *message) {
	if len(r.body) > len(messagesStart) {
		r.body = append(r.body, ',')
	}
	if m.content != "" && m.content[0] == '"' && m.calls == "" && m.id == "" {
		r.addText(m.role, m.content)
		return
	}
	r.rich = true
	r.body = append(append(append(r.body, `{"role":"`...), m.role...), '"')
	if m.id != "" {
		r.body = append(append(r.body, `,"tool_call_id":`...), m.id...)
	}
	r.body = append(r.body, `,"content":`...)
	switch {
	case m.content == "":
		r.body = append(r.body, "null"...)
	case m.content[0] == '[':
		r.addParts(m)
	default:
		r.body = append(r.body, m.content...)
	}
	if m.calls != "" {
		r.addCalls(gjson.Parse(m.calls))
	}
	r.body = append(r.body, '}')
}

// addText appends a message whose content is a string. content includes the quotes.
func (r *reader) addText(role, content string) {
	r.body = append(append(append(r.body, `{"role":"`...), role...), `","content":`...)
	r.body = append(append(r.body, content...), '}')
	text := jsontext.Inside(content)
	r.out.PromptTokens += chat.MessageTokens(text)
	if !r.Skim {
		r.out.Request.Messages = append(r.out.Request.Messages, turn(roleOf(role), text))
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

// addParts appends content parts: {"type":"text","text"}, {"type":"image","imageUrl"} and {"type":"file","name","fileData"}.
func (r *reader) addParts(m *message) {
	field := api.At("messages", r.index, ".content")
	b := jsontext.Builder{B: r.body}
	b.Open('[')
	count := 0
	gjson.Parse(m.content).ForEach(func(_, v gjson.Result) bool {
		r.part(&b, api.At(field, count, ""), v, m.role)
		count++
		return !r.Full()
	})
	b.Close(']')
	if count == 0 {
		r.Wrong(field, "must not be empty")
	}
	r.body = b.B
}

func (r *reader) part(b *jsontext.Builder, field string, v gjson.Result, role string) {
	if !v.IsObject() {
		r.WrongType(field, "an object", v)
		return
	}
	b.Open('{')
	switch kind := jsonvalue.Get(v.Raw, "type"); {
	case kind.Str == "text":
		r.known(field, v, `"type""text"`)
		b.Member("type", `"text"`)
		b.Key("text")
		b.Text(r.Text(field+".text", member(v, "text")))
	case kind.Str == "image" && role == "user":
		r.known(field, v, `"type""imageUrl"`)
		b.Member("type", `"image_url"`)
		b.Key("image_url")
		b.Open('{')
		b.TextMember("url", r.address(field+".imageUrl", member(v, "imageUrl"), "https://", "data:image/"))
		b.Close('}')
	case kind.Str == "file" && role == "user":
		r.known(field, v, `"type""name""fileData"`)
		b.Member("type", `"file"`)
		b.Key("file")
		b.Open('{')
		if name := member(v, "name"); name.Exists() {
			b.TextMember("filename", r.Text(field+".name", name))
		}
		b.TextMember("file_data", r.address(field+".fileData", member(v, "fileData"), "data:"))
		b.Close('}')
	case role == "user":
		r.WrongValue(field+".type", "text, image or file", kind)
	default:
		r.WrongValue(field+".type", "text in messages of the role "+role, kind)
	}
	b.Close('}')
}

// known adds a problem for each field of an object that is not in names, a list of quoted names.
func (r *reader) known(field string, v gjson.Result, names string) {
	if !v.IsObject() {
		return
	}
	api.Members(v, func(key, _ string) bool {
		if !strings.Contains(names, `"`+key+`"`) {
			r.out.Unknown = r.IgnoreIn(r.out.Unknown, field, key)
		}
		return true
	})
}

// member returns a field of a part. A long string, such as an image, is not decoded.
func member(v gjson.Result, name string) (value gjson.Result) {
	api.Members(v, func(key, raw string) bool {
		if key == name {
			value = api.Undecoded(raw)
		}
		return true
	})
	return value
}

// address reads a URL that begins with one of the given strings. Errors never repeat the URL.
func (r *reader) address(field string, v gjson.Result, starts ...string) jsontext.Escaped {
	text := r.Text(field, v)
	if v.Type != gjson.String {
		return ""
	}
	want := ""
	for _, start := range starts {
		if len(text) > len(start) && string(text[:len(start)]) == start {
			return text
		}
		if want != "" {
			want += " or "
		}
		want += start
	}
	r.Wrong(field, "must be a URL that begins with "+want)
	return ""
}

// addCalls appends an assistant's calls: {"id","name","arguments":{…}}.
func (r *reader) addCalls(calls gjson.Result) {
	field := api.At("messages", r.index, ".toolCalls")
	if !calls.IsArray() {
		r.WrongType(field, "an array", calls)
		return
	}
	b := jsontext.Builder{B: r.body}
	b.Key("tool_calls")
	b.Open('[')
	count := 0
	calls.ForEach(func(_, v gjson.Result) bool {
		at := api.At(field, count, "")
		count++
		if !v.IsObject() {
			r.WrongType(at, "an object", v)
			return !r.Full()
		}
		r.known(at, v, `"id""name""arguments"`)
		b.Open('{')
		b.TextMember("id", r.Text(at+".id", jsonvalue.Get(v.Raw, "id")))
		b.Member("type", `"function"`)
		b.Key("function")
		b.Open('{')
		b.TextMember("name", r.Text(at+".name", jsonvalue.Get(v.Raw, "name")))
		arguments := jsonvalue.Get(v.Raw, "arguments")
		if !arguments.IsObject() {
			r.WrongType(at+".arguments", "an object", arguments)
		}
		b.StringMember("arguments", arguments.Raw)
		b.Close('}')
		b.Close('}')
		return !r.Full()
	})
	b.Close(']')
	if count == 0 {
		r.Wrong(field, "must not be empty")
	}
	r.body = b.B
}
