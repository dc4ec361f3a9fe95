package cohere

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Response parses a chat response:
//
//	{"id","finish_reason","message":{"role":"assistant","content":[{"type":"text","text"}|{"type":"thinking",
//	 "thinking"}],"tool_plan","tool_calls":[{"id","type":"function","function":{"name","arguments"}}],
//	 "citations"},"usage":{…},"logprobs":[…]}
//
// tool_plan is the model's plan before tool calls. It becomes the first thinking part. Citations are ignored, because
// chat.Response has no field for them.
func Response(root gjson.Result) (r chat.Response, ok bool) {
	message := jsonvalue.Get(root.Raw, "message")
	if !message.IsObject() {
		return r, false
	}
	a := chat.Answer{
		Parts: parts(message), Finish: finishOf(jsonvalue.String(root.Raw, "finish_reason")), LogProbs: logProbs(jsonvalue.Get(root.Raw, "logprobs")),
	}
	r = chat.Response{ID: jsonvalue.Text(root.Raw, "id"), Usage: usage(jsonvalue.Get(root.Raw, "usage")), Choices: []chat.Answer{a}}
	return r, len(a.Parts) > 0 || a.Finish != chat.FinishNone
}

func parts(message gjson.Result) (parts []chat.Part) {
	parts = addText(parts, chat.Thinking, jsonvalue.Get(message.Raw, "tool_plan"))
	jsonvalue.Get(message.Raw, "content").ForEach(func(_, v gjson.Result) bool {
		switch jsonvalue.String(v.Raw, "type") {
		case "text":
			parts = addText(parts, chat.Text, jsonvalue.Get(v.Raw, "text"))
		case "thinking":
			parts = addText(parts, chat.Thinking, jsonvalue.Get(v.Raw, "thinking"))
		}
		return true
	})
	jsonvalue.Get(message.Raw, "tool_calls").ForEach(func(_, v gjson.Result) bool {
		if v.IsObject() {
			parts = append(parts, openai.ToolCall(v))
		}
		return true
	})
	return parts
}

func addText(parts []chat.Part, kind chat.PartKind, v gjson.Result) []chat.Part {
	if text := wire.Text(v); text != "" {
		parts = append(parts, chat.Part{Kind: kind, Text: text})
	}
	return parts
}

// finishOf maps a finish_reason. ERROR, TIMEOUT and unknown reasons are failures.
func finishOf(reason string) chat.Finish {
	switch reason {
	case "":
		return chat.FinishNone
	case "COMPLETE":
		return chat.FinishStop
	case "STOP_SEQUENCE":
		return chat.FinishStopSeq
	case "MAX_TOKENS":
		return chat.FinishLength
	case "TOOL_CALL":
		return chat.FinishTools
	}
	return chat.FinishError
}

// usage parses {"billed_units":{"input_tokens","output_tokens"},"tokens":{the same},"cached_tokens"}. The result is
// billed_units, which Cohere charges for. tokens also includes tokens that Cohere does not charge for.
func usage(v gjson.Result) chat.Usage {
	units := jsonvalue.Get(v.Raw, "billed_units")
	if jsonvalue.Get(units.Raw, "input_tokens").Type != gjson.Number && jsonvalue.Get(units.Raw, "output_tokens").Type != gjson.Number {
		units = jsonvalue.Get(v.Raw, "tokens")
	}
	input, output := jsonvalue.Get(units.Raw, "input_tokens"), jsonvalue.Get(units.Raw, "output_tokens")
	u := chat.Usage{
		Input: wire.Count(input), Output: wire.Count(output), CachedInput: wire.Count(jsonvalue.Get(v.Raw, "cached_tokens")),
		Reported: input.Type == gjson.Number || output.Type == gjson.Number,
	}
	u.CachedInput = wire.Within(u.CachedInput, u.Input)
	wire.Unknown(&u, v, " billed_units billed_units. tokens cached_tokens billed_units.input_tokens billed_units.output_tokens ")
	return u
}

// logProbs converts [{"text","token_ids","logprobs":[…]}] to OpenAI's
// {"content":[{"token","logprob","bytes":null,"top_logprobs":[]}],"refusal":null}. Each element is a piece of text
// with one number per token. A piece's probability is the product of its tokens' probabilities, so logProbs adds the
// logarithms.
func logProbs(v gjson.Result) string {
	if !v.IsArray() && !v.IsObject() {
		return ""
	}
	b := jsontext.Builder{B: make([]byte, 0, 128)}
	b.Open('{')
	b.Key("content")
	b.Open('[')
	if v.IsObject() { // a stream has only the piece for the event's text
		logProb(&b, v)
	} else {
		v.ForEach(func(_, piece gjson.Result) bool {
			logProb(&b, piece)
			return true
		})
	}
	b.Close(']')
	b.Member("refusal", "null")
	b.Close('}')
	return string(b.B)
}

func logProb(b *jsontext.Builder, piece gjson.Result) {
	sum := 0.0
	jsonvalue.Get(piece.Raw, "logprobs").ForEach(func(_, n gjson.Result) bool {
		// The bounds keep the sum finite. JSON has no infinity.
		if n.Type == gjson.Number && n.Num > -1e6 && n.Num <= 0 {
			sum += n.Num
		}
		return true
	})
	b.Open('{')
	b.Key("token")
	b.Text(jsonvalue.Text(piece.Raw, "text"))
	b.Key("logprob")
	b.Raw(strconv.FormatFloat(sum, 'g', -1, 64))
	b.Member("bytes", "null")
	b.Member("top_logprobs", "[]")
	b.Close('}')
}
