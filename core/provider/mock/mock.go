// Package mock is the built-in provider of test mode. Its responses depend only on the request. It needs no network
// and costs nothing.
package mock

import (
	"crypto/sha256"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// quoteBytes limits the quote of the caller's last message in a response, in bytes.
const quoteBytes = 120

// Answer returns the response to a conversation. If there are tools, and the last message is not a tool result, it is
// a tool call. If the request asks for JSON, it is JSON. Otherwise, it is text that quotes the last message.
func Answer(r *chat.Request) chat.Response {
	out := chat.Response{ID: "mock-1", Model: jsontext.Escape(r.Model)}
	for range max(r.N, 1) {
		out.Choices = append(out.Choices, answer(r))
	}
	return out
}

func answer(r *chat.Request) chat.Answer {
	if calls, finish := toolCalls(r); len(calls) > 0 {
		return chat.Answer{Parts: calls, Finish: finish}
	}
	plain, finish := text(r)
	text := jsontext.Escape(plain)
	// Estimate four bytes per token. Only plain text is truncated, because truncated JSON would be invalid.
	if limit := 4 * r.MaxTokens; limit > 0 && uint64(len(text.Plain())) > limit && r.Format.Kind == chat.FormatText {
		text, finish = jsontext.Escape(truncate(text.Plain(), int(limit))), chat.FinishLength
	}
	return chat.Answer{Parts: []chat.Part{{Kind: chat.Text, Text: text}}, Finish: finish}
}

func text(r *chat.Request) (string, chat.Finish) {
	last := lastInput(r)
	switch r.Format.Kind {
	case chat.FormatSchema:
		return instanceOf(r, r.Format.Schema)
	case chat.FormatJSON:
		return `{"provider":"mock","youSaid":` + string(jsontext.AppendString(nil, Quote(last))) + `}`, chat.FinishStop
	}
	return "This is Postern's test mode. You said: " + Quote(last), chat.FinishStop
}

// instanceOf returns an instance of a schema. JSON that is cut short does not match its schema, so the instance may
// exceed the request's token limit by a few tokens.
func instanceOf(r *chat.Request, schema string) (string, chat.Finish) {
	limit := uint64(maxInstanceBytes)
	if r.MaxTokens > 0 {
		limit = min(limit, 4*r.MaxTokens+256)
	}
	json, cut := Instance(gjson.Parse(schema), int(limit))
	if cut {
		return string(json), chat.FinishLength
	}
	return string(json), chat.FinishStop
}

// lastInput returns the beginning of the last user message or tool result as text, enough for Quote.
func lastInput(r *chat.Request) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if role := r.Messages[i].Role; role == chat.User || role == chat.ToolRole {
			return plainText(r.Messages[i].Parts)
		}
	}
	return ""
}

func plainText(parts []chat.Part) (text string) {
	for i := range parts {
		if len(text) > quoteBytes { // the caller decides how many parts there are
			break
		}
		switch p := &parts[i]; p.Kind {
		case chat.Text:
			text += p.Text.Plain()
		case chat.ToolResult:
			text += plainText(p.Parts)
		case chat.Image:
			text += "[image]"
		case chat.File:
			text += "[file]"
		case chat.Audio:
			text += "[audio]"
		}
	}
	return text
}

// toolCalls calls the tool that the request requires. If none is required, it calls the first tool. It skips tools
// from other dialects.
func toolCalls(r *chat.Request) ([]chat.Part, chat.Finish) {
	if len(r.Tools) == 0 || r.ToolChoice.Choice == chat.ChoiceNone || endsWithToolResult(r) {
		return nil, 0
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		if t.Raw != "" || r.ToolChoice.Choice == chat.ChoiceTool && t.Name != r.ToolChoice.Name {
			continue
		}
		args, finish := "{}", chat.FinishStop
		if t.Schema != "" {
			args, finish = instanceOf(r, t.Schema)
		}
		if finish == chat.FinishStop {
			finish = chat.FinishTools
		}
		return []chat.Part{{Kind: chat.ToolCall, ID: "call_" + jsontext.Escaped(strconv.Itoa(len(r.Messages))), Name: t.Name, Args: args}}, finish
	}
	return nil, 0
}

func endsWithToolResult(r *chat.Request) bool {
	if len(r.Messages) == 0 {
		return false
	}
	for _, p := range r.Messages[len(r.Messages)-1].Parts {
		if p.Kind == chat.ToolResult {
			return true
		}
	}
	return false
}

// Quote returns the beginning of a text, because responses can repeat it many times.
func Quote(text string) string {
	if len(text) <= quoteBytes {
		return text
	}
	return truncate(text, quoteBytes) + "…"
}

// truncate shortens a text to at most n bytes without splitting a character.
func truncate(text string, n int) string {
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n]
}

// Vector returns the embedding of a text, a unit vector. The same text always has the same vector.
func Vector(text string, dimensions uint64) string {
	if dimensions == 0 || dimensions > 4096 {
		dimensions = defaultDimensions
	}
	numbers := append(make([]byte, 0, 12*dimensions), '[')
	seed := []byte(text)
	for n := uint64(0); n < dimensions; {
		sum := sha256.Sum256(seed)
		for i := 0; i < len(sum) && n < dimensions; i += 2 {
			if n > 0 {
				numbers = append(numbers, ',')
			}
			// All numbers have the same magnitude, so their squares add up to 1. The signs come from the text's hash.
			v := 1 / squareRoot(float64(dimensions))
			if sum[i]&1 == 1 {
				v = -v
			}
			numbers = strconv.AppendFloat(numbers, v, 'f', 6, 64)
			n++
		}
		seed = sum[:]
	}
	return string(append(numbers, ']'))
}

const defaultDimensions = 256

// squareRoot uses Newton's method, because the core does not import package math.
func squareRoot(x float64) float64 {
	r := x
	for range 64 {
		r = (r + x/r) / 2
	}
	return r
}
