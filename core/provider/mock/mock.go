// Package mock is the built-in provider of test mode: it answers from the request alone, the same every
// time, needs no network and costs nothing.
package mock

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/wire"
)

// quoteBytes is how much of the caller's last message an answer quotes.
const quoteBytes = 120

// Answer answers a conversation: the array of {"role","content"} that all providers are sent.
func Answer(messages []byte, json bool, maxTokens uint64) wire.Result {
	last := ""
	gjson.ParseBytes(messages).ForEach(func(_, m gjson.Result) bool {
		if m.Get("role").Str == "user" {
			last = m.Get("content").String()
		}
		return true
	})
	text := "This is Postern's test mode. You said: " + quote(last)
	if json {
		text = `{"provider":"mock","youSaid":` + string(jsontext.AppendString(nil, quote(last))) + `}`
		return wire.Result{Text: jsontext.AppendString(nil, text), Complete: true}
	}
	// Four bytes a token, as everywhere: an answer that maxTokens cuts is not complete.
	if limit := 4 * maxTokens; uint64(len(text)) > limit {
		return wire.Result{Text: jsontext.AppendString(nil, cut(text, int(limit)))}
	}
	return wire.Result{Text: jsontext.AppendString(nil, text), Complete: true}
}

func quote(text string) string {
	if len(text) <= quoteBytes {
		return text
	}
	return cut(text, quoteBytes) + "…"
}

// cut shortens a text to at most n bytes without splitting a character.
func cut(text string, n int) string {
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n]
}
