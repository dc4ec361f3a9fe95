package chat

import "github.com/postern-ai/postern/core/jsontext"

// Finish is why an answer ended.
type Finish uint8

const (
	FinishNone    Finish = iota // it has not, or nobody said
	FinishStop                  // the model stopped by itself
	FinishLength                // the limit on tokens
	FinishTools                 // it wants tools called
	FinishFilter                // the provider's filter, or the model's refusal
	FinishStopSeq               // one of the caller's stop sequences; Response.StopSequence may say which
	FinishPause                 // Anthropic's pause_turn
	FinishError                 // the provider says that it failed
)

// Complete says whether an answer ended as it should, so that it is worth keeping.
func (f Finish) Complete() bool { return f == FinishStop || f == FinishTools || f == FinishStopSeq }

// Usage is what an answer took, in tokens. Input holds all of the prompt, also what was read from or written
// to the provider's prompt cache; Output holds the reasoning.
type Usage struct {
	Input        uint64
	CachedInput  uint64 // the part of Input that was read from the provider's cache
	CacheWrite   uint64 // the part of Input that was written to it, for the usual time
	CacheWrite1h uint64 // the part that was written for an hour
	Output       uint64
	Reasoning    uint64 // the part of Output
	Reported     bool   // by the provider; else estimated
}

// MaxTokens is the largest figure that is believed of a provider, and Nonsense one that never is: wire families
// read it where a provider says something that is no number of tokens.
const (
	MaxTokens = 1_000_000_000
	Nonsense  = 1 << 40
)

// Plausible says whether all figures can be true.
func (u *Usage) Plausible() bool {
	return max(u.Input, u.CachedInput, u.CacheWrite, u.CacheWrite1h, u.Output, u.Reasoning) <= MaxTokens
}

// Total is Input and Output.
func (u *Usage) Total() uint64 { return u.Input + u.Output }

// Response is a whole answer.
type Response struct {
	ID           jsontext.Spelled // the provider's
	Model        jsontext.Spelled // as the provider names it
	Created      uint64           // Unix seconds; 0: not said
	Choices      []Answer         // at least one
	Usage        Usage
	StopSequence jsontext.Spelled
}

// Answer is one of the answers asked for: Texts, Thinking, Redacted, ToolCalls and Refusals in their order.
type Answer struct {
	Parts    []Part
	Finish   Finish
	LogProbs string // JSON as OpenAI has it
}

// DeltaKind says which fields of a Delta count.
type DeltaKind uint8

const (
	DeltaStart     DeltaKind = iota + 1 // ID, Model: the answer begins. Once, before all others
	DeltaText                           // Choice, Text
	DeltaRefusal                        // Choice, Text
	DeltaThinking                       // Choice, Text: thinking goes on, or begins
	DeltaSignature                      // Choice, Text: ends the thinking so far
	DeltaRedacted                       // Choice, Text
	DeltaTool                           // Choice, Index, ID, Name: a tool call begins
	DeltaArgs                           // Choice, Index, Text: a piece of its arguments, as the inside of a JSON string
	DeltaLogProbs                       // Choice, JSON: of the text that comes with it
	DeltaFinish                         // Choice, Finish; StopSequence in Text
	DeltaUsage                          // Usage: what is known by now; a later one replaces it
	DeltaError                          // Text: the provider broke off; Name is its word for why
	DeltaEnd                            // the provider's end mark: nothing comes after it
)

// Delta is a piece of a streamed answer. Tool calls are numbered within their choice, from 0.
type Delta struct {
	Kind   DeltaKind
	Choice uint64
	Index  uint64
	Text   jsontext.Spelled
	ID     jsontext.Spelled
	Name   jsontext.Spelled
	JSON   string
	Model  jsontext.Spelled
	Finish Finish
	Usage  Usage
}

// Content says whether a delta is part of the answer itself: once one has gone out, there is no going back.
func (d *Delta) Content() bool { return d.Kind >= DeltaText && d.Kind <= DeltaLogProbs }

// Add adds another answer's figures. The sum is reported if both are.
func (u *Usage) Add(v *Usage) {
	u.Reported = v.Reported && (u.Reported || u.Total() == 0)
	u.Input += v.Input
	u.CachedInput += v.CachedInput
	u.CacheWrite += v.CacheWrite
	u.CacheWrite1h += v.CacheWrite1h
	u.Output += v.Output
	u.Reasoning += v.Reasoning
}

// Join is the text of all parts of one kind.
func Join(parts []Part, kind PartKind) jsontext.Spelled {
	var joined []byte
	var only jsontext.Spelled
	for i := range parts {
		if parts[i].Kind != kind {
			continue
		}
		if only == "" && joined == nil {
			only = parts[i].Text
			continue
		}
		if joined == nil {
			joined = append(joined, only...)
		}
		joined = append(joined, parts[i].Text...)
	}
	if joined == nil {
		return only
	}
	return jsontext.Spelled(joined)
}
