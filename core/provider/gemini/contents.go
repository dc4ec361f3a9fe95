package gemini

import (
	"strings"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/wire"
)

// signatureMark goes before every thought signature that callers are given. Signatures of other providers come
// back in the same place, when a conversation has moved between targets, and the API refuses those with a 400.
const signatureMark = "gemini:"

// skipSignature stands for a signature that is not there. The models since 3 refuse a function call of the
// current turn without one, and callers of some dialects have no place to keep it. Google documents the word
// for calls that the model did not make itself ("Thought signatures", FAQ).
const skipSignature = "skip_thought_signature_validator"

// maxLooks bounds the search for the calls that results belong to: parts looked at in one request.
const maxLooks = 1 << 21

// contents writes systemInstruction and contents. System messages are taken out of the conversation, wherever
// they stand; if there is nothing else, they are the user's words, because contents may not be empty.
func contents(b *jsontext.Builder, c *wire.Call) {
	w := writer{b: b, model: c.Model.Upstream, messages: c.Request.Messages, looks: maxLooks}
	system, others := 0, 0
	for i := range w.messages {
		if w.messages[i].Role == chat.System {
			system++
		} else {
			others++
		}
	}
	if system > 0 && others > 0 {
		b.Key("systemInstruction")
		b.Open('{')
		b.Key("parts")
		b.Open('[')
		w.role = "system"
		w.turns(true, "system")
		b.Close(']')
		b.Close('}')
		w.role = ""
	}
	b.Key("contents")
	b.Open('[')
	w.turns(others == 0, "user")
	w.end()
	b.Close(']')
}

// writer writes turns. Turns of the same role that follow each other become one, so that the results of
// parallel calls stand together, as the API wants them.
type writer struct {
	b         *jsontext.Builder
	model     string
	messages  []chat.Message
	role      string           // of the open content; empty if there is none
	signature jsontext.Spelled // what thinking has left for the next function call
	called    bool             // the open content has a function call
	looks     int
}

// turns writes the system's messages, or all others; the model's own apart, in that role.
func (w *writer) turns(system bool, as string) {
	for i := range w.messages {
		m := &w.messages[i]
		if (m.Role == chat.System) != system {
			continue
		}
		role := as
		if m.Role == chat.Assistant {
			role = "model"
		}
		w.signature = ""
		for j := range m.Parts {
			w.part(role, i, &m.Parts[j])
		}
	}
}

// open begins a part in a content of that role.
func (w *writer) open(role string) {
	if w.role != role {
		w.end()
		w.role, w.called = role, false
		w.b.Open('{')
		w.b.Key("role")
		w.b.String(role)
		w.b.Key("parts")
		w.b.Open('[')
	}
	w.b.Open('{')
}

func (w *writer) end() {
	if w.role != "" {
		w.b.Close(']')
		w.b.Close('}')
	}
}

// part writes one part of message at. Of thinking only the signature goes back: the text is a summary for the
// reader, the signature is the thinking itself. Thinking of other providers has no place here.
func (w *writer) part(role string, at int, p *chat.Part) {
	switch p.Kind {
	case chat.Text, chat.Refusal:
		if p.Text != "" {
			w.open(role)
			w.b.TextMember("text", p.Text)
			w.b.Close('}')
		}
	case chat.Image, chat.File, chat.Audio:
		w.open(role)
		media(w.b, p)
		w.b.Close('}')
	case chat.Thinking:
		if s, ok := strings.CutPrefix(string(p.Signature), signatureMark); ok {
			w.signature = jsontext.Spelled(s)
		}
	case chat.ToolCall:
		w.call(role, p)
	case chat.ToolResult:
		w.result(role, at, p)
	}
}

// call writes a function call and its signature. Of parallel calls only the first has one.
func (w *writer) call(role string, p *chat.Part) {
	signature := w.signature
	if s, ok := strings.CutPrefix(string(p.Signature), signatureMark); ok {
		signature = jsontext.Spelled(s)
	}
	w.open(role)
	if signature == "" && !w.called && needsSignature(w.model) {
		signature = skipSignature
	}
	w.signature, w.called = "", true
	w.b.Key("functionCall")
	w.b.Open('{')
	w.b.TextMember("id", p.ID)
	w.b.Key("name")
	w.b.Text(p.Name)
	w.b.Key("args")
	w.b.Raw(object(p.Args))
	w.b.Close('}')
	w.b.TextMember("thoughtSignature", signature)
	w.b.Close('}')
}

// needsSignature says whether the model refuses function calls without a signature: all Gemini models since 3.
func needsSignature(model string) bool {
	return strings.HasPrefix(model, "gemini-") && !oldModel(model)
}

// oldModel says whether the model is from before Gemini 3.
func oldModel(model string) bool {
	return strings.HasPrefix(model, "gemini-1") || strings.HasPrefix(model, "gemini-2")
}

// object is JSON that is an object: what is none becomes a member of one.
func object(json string) string {
	trimmed := strings.TrimLeft(json, " \t\r\n")
	switch {
	case trimmed == "":
		return "{}"
	case trimmed[0] != '{':
		return `{"value":` + json + `}`
	}
	return json
}

// result writes a function response. What came with it besides text goes into the response itself for the
// models since 3, and beside it for those before, and if it has only an address.
func (w *writer) result(role string, at int, p *chat.Part) {
	w.open(role)
	w.b.Key("functionResponse")
	w.b.Open('{')
	w.b.TextMember("id", p.ID)
	w.b.Key("name")
	w.b.Text(w.name(at, p.ID))
	w.b.Key("response")
	w.response(p)
	if w.inside(p.Parts) {
		w.b.Key("parts")
		w.b.Open('[')
		for i := range p.Parts {
			if isMedia(&p.Parts[i]) && p.Parts[i].URL == "" {
				w.b.Open('{')
				media(w.b, &p.Parts[i])
				w.b.Close('}')
			}
		}
		w.b.Close(']')
	}
	w.b.Close('}')
	w.b.Close('}')
	for i := range p.Parts {
		if isMedia(&p.Parts[i]) && (oldModel(w.model) || p.Parts[i].URL != "") {
			w.open(role)
			media(w.b, &p.Parts[i])
			w.b.Close('}')
		}
	}
}

// inside says whether any of a result's parts goes into the function response.
func (w *writer) inside(parts []chat.Part) bool {
	for i := range parts {
		if isMedia(&parts[i]) && parts[i].URL == "" {
			return !oldModel(w.model)
		}
	}
	return false
}

func isMedia(p *chat.Part) bool {
	return p.Kind == chat.Image || p.Kind == chat.File || p.Kind == chat.Audio
}

// response writes what a function gave: its text if that is a JSON object, else an object with the member that
// the API names for it, output or error.
func (w *writer) response(p *chat.Part) {
	text := textOf(p.Parts)
	if !p.Failed && strings.HasPrefix(string(text), "{") {
		if json := text.Plain(); jsontext.Check([]byte(json)) == jsontext.OK {
			w.b.Raw(strings.TrimRight(json, " \t\r\n")) // the Builder takes a line's end for a beginning
			return
		}
	}
	w.b.Open('{')
	if p.Failed {
		w.b.Key("error")
	} else {
		w.b.Key("output")
	}
	w.b.Text(text)
	w.b.Close('}')
}

// textOf is all the text of a result, copied only if it is in pieces.
func textOf(parts []chat.Part) jsontext.Spelled {
	var first jsontext.Spelled
	var all []byte
	for i := range parts {
		switch {
		case parts[i].Kind != chat.Text:
		case first == "":
			first = parts[i].Text
		default:
			if all == nil {
				all = append(all, first...)
			}
			all = append(all, parts[i].Text...)
		}
	}
	if all == nil {
		return first
	}
	return jsontext.Spelled(all)
}

// name is the name of the call that a result in message at belongs to: the last one before it with that id.
// If there is none, the id has to do: the API names what it misses.
func (w *writer) name(at int, id jsontext.Spelled) jsontext.Spelled {
	for i := at - 1; i >= 0; i-- {
		parts := w.messages[i].Parts
		if w.looks -= 1 + len(parts); w.looks < 0 {
			break
		}
		for j := len(parts) - 1; j >= 0; j-- {
			if parts[j].Kind == chat.ToolCall && parts[j].ID == id {
				return parts[j].Name
			}
		}
	}
	return id
}
