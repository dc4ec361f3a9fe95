package gemini

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// maxCandidates is the API's limit on candidates. maxCalls is the number of function calls per candidate that State
// can count.
const (
	maxCandidates = 8
	callBits      = 7
	maxCalls      = 1<<callBits - 1
)

// endedShift divides wire.State.Flags. The bits below it mark candidates that have started. The other bits mark
// candidates that have ended. wire.State.Block has the number of function calls of each candidate, in callBits bits.
const endedShift = maxCandidates

// Stream parses one chunk, which has the format that Response parses. There is no end marker. The last candidate's
// finishReason ends the stream. Its chunk has the final usageMetadata.
//
// A function call's thoughtSignature becomes a DeltaSignature before its DeltaTool. After folding, it is the
// signature of the Thinking part before the call. If the model showed no thoughts, that part's text is empty.
// Requests take the signature from that part. Signatures of text are dropped: the API does not need them, and they
// would add an empty Thinking part at the end of responses.
func Stream(s *wire.State, _ string, root gjson.Result, out []chat.Delta) ([]chat.Delta, bool) {
	var c chunk
	if !root.IsObject() {
		return out, false
	}
	c.read(root)
	if c.failure.Exists() {
		name, message := wire.Text(jsonvalue.Get(c.failure.Raw, "status")), wire.Text(jsonvalue.Get(c.failure.Raw, "message"))
		return append(out, chat.Delta{Kind: chat.DeltaError, Name: name, Text: message}), true
	}
	if !c.blocked && !c.candidates.IsArray() && !c.usage.Reported {
		return out, false
	}
	if !s.Started {
		s.Started = true
		out = append(out, chat.Delta{Kind: chat.DeltaStart, ID: c.id, Model: c.model})
	}
	c.candidates.ForEach(func(_, v gjson.Result) bool {
		out = candidate(s, &c, v, out)
		return true
	})
	if c.blocked {
		s.Flags |= 1<<endedShift | 1
		out = append(out, chat.Delta{Kind: chat.DeltaFinish, Finish: chat.FinishFilter})
	}
	if c.usage.Reported {
		out = append(out, chat.Delta{Kind: chat.DeltaUsage, Usage: c.usage})
	}
	if started := s.Flags & (1<<endedShift - 1); started != 0 && started == s.Flags>>endedShift {
		out = append(out, chat.Delta{Kind: chat.DeltaEnd})
	}
	return out, true
}

type chunk struct {
	id, model  jsontext.Escaped
	candidates gjson.Result
	blocked    bool // the prompt was blocked, so there are no candidates
	usage      chat.Usage
	failure    gjson.Result
}

func (c *chunk) read(root gjson.Result) {
	root.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "responseId":
			c.id = wire.Text(value)
		case "modelVersion":
			c.model = wire.Text(value)
		case "candidates":
			c.candidates = value
		case "promptFeedback":
			c.blocked = jsonvalue.String(value.Raw, "blockReason") != ""
		case "usageMetadata":
			c.usage = usage(value)
		case "error":
			c.failure = value
		}
		return true
	})
}

func candidate(s *wire.State, c *chunk, v gjson.Result, out []chat.Delta) []chat.Delta {
	var parts, logs gjson.Result
	index, finish := uint64(0), chat.FinishNone
	v.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "index":
			index = wire.Index(value)
		case "content":
			parts = jsonvalue.Get(value.Raw, "parts")
		case "finishReason":
			finish = finishOf(value.Str)
		case "logprobsResult":
			logs = value
		}
		return true
	})
	if index >= maxCandidates {
		return out
	}
	s.Flags |= 1 << index
	parts.ForEach(func(_, p gjson.Result) bool {
		out = part(s, c, index, p, out)
		return true
	})
	if logs.IsObject() {
		out = append(out, chat.Delta{Kind: chat.DeltaLogProbs, Choice: index, JSON: logProbs(logs)})
	}
	if finish == chat.FinishNone {
		return out
	}
	if finish == chat.FinishStop && calls(s, index) > 0 {
		finish = chat.FinishTools
	}
	s.Flags |= 1 << (endedShift + index)
	return append(out, chat.Delta{Kind: chat.DeltaFinish, Choice: index, Finish: finish})
}

func part(s *wire.State, c *chunk, choice uint64, v gjson.Result, out []chat.Delta) []chat.Delta {
	var text, signature jsontext.Escaped
	var call gjson.Result
	thought := false
	v.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "text":
			text = wire.Text(value)
		case "thought":
			thought = value.Type == gjson.True
		case "thoughtSignature":
			signature = wire.Text(value)
		case "functionCall":
			call = value
		}
		return true
	})
	kind := chat.DeltaText
	if thought {
		kind = chat.DeltaThinking
	}
	if text != "" {
		out = append(out, chat.Delta{Kind: kind, Choice: choice, Text: text})
	}
	if signature != "" && (thought || call.IsObject()) {
		out = append(out, chat.Delta{Kind: chat.DeltaSignature, Choice: choice, Text: signatureMark + signature})
	}
	if call.IsObject() {
		out = functionCall(s, c, choice, call, out)
	}
	return out
}

// functionCall parses a call. Calls are never split across chunks.
func functionCall(s *wire.State, c *chunk, choice uint64, v gjson.Result, out []chat.Delta) []chat.Delta {
	index := calls(s, choice)
	if index == maxCalls {
		return out
	}
	s.Block += 1 << (choice * callBits)
	id := jsonvalue.Text(v.Raw, "id")
	if id == "" {
		id = wire.CallID(c.id, s.Tools)
	}
	s.Tools++
	args := jsontext.Escaped("{}")
	if a := jsonvalue.Get(v.Raw, "args"); a.IsObject() {
		args = jsontext.Escape(a.Raw)
	}
	return append(out,
		chat.Delta{Kind: chat.DeltaTool, Choice: choice, Index: index, ID: id, Name: jsonvalue.Text(v.Raw, "name")},
		chat.Delta{Kind: chat.DeltaArgs, Choice: choice, Index: index, Text: args})
}

// calls returns how many function calls a candidate has had so far.
func calls(s *wire.State, choice uint64) uint64 { return s.Block >> (choice * callBits) & maxCalls }
