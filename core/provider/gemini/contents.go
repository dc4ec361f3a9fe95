package gemini

import (
	"strings"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/wire"
)

// signatureMark is the prefix of every thought signature that callers receive. When a conversation moves between
// targets, the same field can contain another provider's signature. The API would reject that signature with a 400.
const signatureMark = "gemini:"

// skipSignature replaces a missing signature. In the current turn, models from version 3 on reject a function call
// without a signature. Some caller dialects have no field for signatures. Google documents this value for calls that
// the model did not make itself ("Thought signatures", FAQ).
const skipSignature = "skip_thought_signature_validator"

// maxScannedParts limits how many message parts of a request are scanned for the calls that results belong to.
const maxScannedParts = 1 << 21

// contents writes systemInstruction and contents. systemInstruction has all system messages of the conversation.
// contents must not be empty, so if there are no other messages, the system messages become user messages.
func contents(b *jsontext.Builder, c *wire.Call) {
	w := writer{b: b, model: c.Model.Upstream, messages: c.Request.Messages, scansLeft: maxScannedParts}
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

// writer writes turns. The API requires the results of parallel calls in one turn, so consecutive turns with the same
// role are merged.
type writer struct {
	b         *jsontext.Builder
	model     string
	messages  []chat.Message
	role      string           // of the open content; empty: none is open
	signature jsontext.Escaped // from thinking, for the next function call
	called    bool             // the open content has a function call
	scansLeft int
}

// turns writes the system messages or all others. as is their role, but assistant messages get the role model.
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

// Thinks reports whether requests can contain this thinking part.
func Thinks(p *chat.Part) bool { return strings.HasPrefix(string(p.Signature), signatureMark) }

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

// part writes one part of the message with index at. Of a thinking part, it keeps only the signature, for the next
// function call. The signature contains the thinking, and the text is only a summary. Thinking from other providers
// is dropped.
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
			w.signature = jsontext.Escaped(s)
		}
	case chat.ToolCall:
		w.call(role, p)
	case chat.ToolResult:
		w.result(role, at, p)
	}
}

// call writes a function call and its signature. Of several parallel calls, only the first has a signature.
func (w *writer) call(role string, p *chat.Part) {
	signature := w.signature
	if s, ok := strings.CutPrefix(string(p.Signature), signatureMark); ok {
		signature = jsontext.Escaped(s)
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

// needsSignature reports whether the model rejects function calls without a signature. All Gemini models from version
// 3 on do.
func needsSignature(model string) bool {
	return strings.HasPrefix(model, "gemini-") && !oldModel(model)
}

func oldModel(model string) bool {
	return strings.HasPrefix(model, "gemini-1") || strings.HasPrefix(model, "gemini-2")
}

// object wraps JSON that is not an object in {"value":…}.
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

// result writes a function response. For models from version 3 on, media parts are part of the response. For older
// models, and for URLs, they are separate parts after it.
func (w *writer) result(role string, at int, p *chat.Part) {
	w.open(role)
	w.b.Key("functionResponse")
	w.b.Open('{')
	w.b.TextMember("id", p.ID)
	w.b.Key("name")
	w.b.Text(w.callName(at, p.ID))
	w.b.Key("response")
	w.response(p)
	if w.hasInlineMedia(p.Parts) {
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

// hasInlineMedia reports whether media of a result are part of the function response.
func (w *writer) hasInlineMedia(parts []chat.Part) bool {
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

// response writes a function's result. If its text is a JSON object, that object is written. Otherwise, an object
// with the text is written. Its field is output or error.
func (w *writer) response(p *chat.Part) {
	text := textOf(p.Parts)
	if !p.Failed && strings.HasPrefix(string(text), "{") {
		if json := text.Plain(); jsontext.Check([]byte(json)) == jsontext.OK {
			w.b.Raw(strings.TrimRight(json, " \t\r\n")) // Builder writes no comma after a line break
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

// textOf returns all the text in a result. If there is only one piece of text, it is not copied.
func textOf(parts []chat.Part) jsontext.Escaped {
	var first jsontext.Escaped
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
	return jsontext.Escaped(all)
}

// callName returns the name of the call that a result belongs to. This is the last call with that ID before the
// result's message, which has the index at. If there is no such call, callName returns the ID, so that the API's
// error message names it.
func (w *writer) callName(at int, id jsontext.Escaped) jsontext.Escaped {
	for i := at - 1; i >= 0; i-- {
		parts := w.messages[i].Parts
		if w.scansLeft -= 1 + len(parts); w.scansLeft < 0 {
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
