package chat

import (
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/money"
)

// Finish is the reason why a completion ended.
type Finish uint8

const (
	FinishNone    Finish = iota // not ended, or not reported
	FinishStop                  // the model's natural end
	FinishLength                // the token limit
	FinishTools                 // tool calls
	FinishFilter                // the provider's content filter, or the model's refusal
	FinishStopSeq               // one of the caller's stop sequences; if it is known, it is in Response.StopSequence
	FinishPause                 // Anthropic's pause_turn
	FinishError                 // a failure reported by the provider
)

// Complete reports whether a completion ended normally and may be cached.
func (f Finish) Complete() bool { return f == FinishStop || f == FinishTools || f == FinishStopSeq }

// Usage is the token usage of a completion. Input is the entire prompt. It includes tokens read from or written to
// the provider's prompt cache. Output includes reasoning tokens.
type Usage struct {
	Input        uint64
	CachedInput  uint64 // part of Input: read from the provider's prompt cache
	CacheWrite   uint64 // part of Input: written to the cache with the default lifetime
	CacheWrite1h uint64 // part of Input: written to the cache for an hour
	Output       uint64
	Reasoning    uint64 // part of Output
	Reported     bool   // by the provider; otherwise, estimated
	*Extras             // tiers and calls, which cost more than the tokens alone; nil: none. Usages share it, so it is never changed in place; see Edit
}

// Extras contains data of a provider's response, other than tokens, that affects the price.
type Extras struct {
	Terms   string // see Term
	Calls   Calls
	Unknown string // names of unknown fields in the provider's usage, comma-separated
	// FeePico is the cost of calls of provider tools. The exchange sets it.
	FeePico int64
}

// Edit returns the extras for editing. The usage then has its own copy of them.
//
//go:noinline
func (u *Usage) Edit() *Extras {
	u.Extras = u.Bought()
	return u.Extras
}

// Bought returns a copy of the extras. If the usage has none, the copy is empty.
//
//go:noinline
func (u *Usage) Bought() *Extras {
	e := new(Extras)
	if u.Extras != nil {
		*e = *u.Extras
	}
	return e
}

// MaxTokens is the largest plausible number of tokens from a provider. Nonsense is never plausible: wire families
// return it for a value that is not a number of tokens.
const (
	MaxTokens = 1_000_000_000
	Nonsense  = 1 << 40
)

// Plausible reports whether no figure exceeds MaxTokens.
func (u *Usage) Plausible() bool {
	most := max(u.Input, u.CachedInput, u.CacheWrite, u.CacheWrite1h, u.Output, u.Reasoning)
	if u.Extras != nil {
		for _, calls := range u.Calls {
			most = max(most, calls)
		}
	}
	return most <= MaxTokens
}

// CacheWritten returns the number of tokens written to the provider's prompt cache with any lifetime.
func (u *Usage) CacheWritten() uint64 { return u.CacheWrite + u.CacheWrite1h }

func (u *Usage) Total() uint64 { return u.Input + u.Output }

// Response is a complete response.
type Response struct {
	ID           jsontext.Escaped // the provider's
	Model        jsontext.Escaped // the provider's name for the model
	Created      uint64           // Unix seconds; 0: not reported
	Choices      []Answer         // at least one
	Usage        Usage
	StopSequence jsontext.Escaped
}

// Answer is one choice in a response. Its parts are of the kinds Text, Thinking, Redacted, ToolCall and Refusal.
type Answer struct {
	Parts    []Part
	Finish   Finish
	LogProbs string // JSON in OpenAI's format
}

// DeltaKind is the type of a Delta and determines its fields, which are listed with each kind.
type DeltaKind uint8

const (
	DeltaStart     DeltaKind = iota + 1 // ID, Model: the response begins. It occurs only once, as the first delta
	DeltaText                           // Choice, Text
	DeltaRefusal                        // Choice, Text
	DeltaThinking                       // Choice, Text: thinking begins or continues
	DeltaSignature                      // Choice, Text: signs and ends the thinking so far
	DeltaRedacted                       // Choice, Text
	DeltaTool                           // Choice, Index, ID, Name, JSON: a tool call begins. In the caller's own dialect, Model is the tool's namespace until Aliases.Function replaces the name
	DeltaArgs                           // Choice, Index, Text, JSON: a piece of the call's arguments, as the inside of a JSON string
	DeltaLogProbs                       // Choice, JSON: log probabilities of the text delta next to it
	DeltaFinish                         // Choice, Finish; the stop sequence in Text
	DeltaUsage                          // Usage: cumulative, so a later delta replaces it
	DeltaError                          // Text: the provider's error message; Name: its error type
	DeltaEnd                            // the provider's end mark; always last
	DeltaOther                          // JSON: other generated content, such as the input of a custom tool. It is counted, but neither translated nor stored
)

// Counted is the JSON of a DeltaTool or DeltaArgs that is also in a DeltaOther and must not be counted twice.
const Counted = "counted"

// Delta is one event in a streamed response. Index numbers the tool calls in a choice, starting at 0.
type Delta struct {
	Kind   DeltaKind
	Choice uint64
	Index  uint64
	Text   jsontext.Escaped
	ID     jsontext.Escaped
	Name   jsontext.Escaped
	JSON   string
	Model  jsontext.Escaped
	Finish Finish
	Usage  Usage
}

// Content reports whether a delta contains generated content. Once the caller has received such a delta, the gateway
// can no longer retry or fall back.
func (d *Delta) Content() bool {
	return d.Kind >= DeltaText && d.Kind <= DeltaLogProbs || d.Kind == DeltaOther
}

// Add adds the figures of another completion. The sum is reported only if both are reported. Only the fees of the
// extras are added. All other extras come from the last completion that has any.
func (u *Usage) Add(v *Usage) {
	u.Reported = v.Reported && (u.Reported || u.Total() == 0)
	u.Input += v.Input
	u.CachedInput += v.CachedInput
	u.CacheWrite += v.CacheWrite
	u.CacheWrite1h += v.CacheWrite1h
	u.Output += v.Output
	u.Reasoning += v.Reasoning
	if v.Extras == nil {
		return
	}
	fee := u.Bought().FeePico
	e := u.Edit()
	*e = *v.Extras
	e.FeePico = money.Add(e.FeePico, fee)
}

// Join returns the concatenated text of all parts of one kind.
func Join(parts []Part, kind PartKind) jsontext.Escaped {
	var joined []byte
	var only jsontext.Escaped
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
	return jsontext.Escaped(joined)
}
