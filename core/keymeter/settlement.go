package keymeter

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/ledger"
)

// Outcome is the outcome of a settled request.
type Outcome uint8

const (
	Served   Outcome = 1 // served by a provider
	Hit      Outcome = 2 // served from the cache after a reservation was made
	Released Outcome = 3 // failed; tokens and cost are those of failed attempts that were billed
	Finish   Outcome = 4 // nothing was reserved; completes only the idempotency record
)

// Tokens is token usage, either reported by a provider or estimated.
type Tokens struct{ Prompt, Completion uint64 }

func (t *Tokens) fields(f *abi.Fields) {
	f.Uint(&t.Prompt)
	f.Uint(&t.Completion)
}

// Charge is the usage and cost of the attempts on one target.
type Charge struct {
	Model     string
	Provider  string
	Tokens    Tokens
	CostPico  int64
	Estimated bool // the provider did not report usage

	PromptCache ledger.PromptCache
}

func chargeFields(f *abi.Fields, c *Charge) {
	f.String(&c.Model)
	f.String(&c.Provider)
	c.Tokens.fields(f)
	f.Int(&c.CostPico)
	cached := c.PromptCache.Used() // older versions have only the first flag
	f.Flags(&c.Estimated, &cached)
	c.PromptCache.Fields(f, cached)
}

// Failure is the number of attempts at a model's provider that failed for the same reason.
type Failure struct {
	Model string
	Cause ledger.Cause
	Count uint64
	// Opened is how many of them opened the model's circuit.
	Opened uint64
}

func failureFields(f *abi.Fields, a *Failure) {
	f.String(&a.Model)
	cause := uint64(a.Cause)
	f.Uint(&cause)
	if ledger.CountFields(f, &a.Count, &a.Opened); cause >= uint64(ledger.Causes) {
		f.Fail()
		return
	}
	a.Cause = ledger.Cause(cause)
}

// Settle is the command that settles a reservation with the request's outcome. It is idempotent: only the first one
// counts. It has no reply.
type Settle struct {
	RequestID string
	Outcome   Outcome
	Model     string
	Tokens    Tokens
	CostPico  int64
	Estimated bool // the provider did not report usage
	Missed    bool // cache miss

	PromptCache ledger.PromptCache
	// Idempotency is as in Admit. Answer is the response to store for 24 h. Without an answer, the idempotency record
	// is deleted so that the caller can retry. If Oversized is set, the response was too large to store, and the
	// record is kept.
	Idempotency string
	Answer      []byte
	Oversized   bool
	Trace       Trace
	Attempts    []Charge           // charges of attempts on other targets; not in Tokens and CostPico
	Violations  []ledger.Violation // in the response, and in a request whose classifier responded after the admission
	Failures    []Failure          // of attempts on all targets
	Rescued     bool               // Model served the request after another target had failed
}

// Encode encodes the command.
func (c *Settle) Encode() []byte { return abi.EncodeFields(opSettle, 256+len(c.Answer), c.fields) }

func (c *Settle) fields(f *abi.Fields) {
	f.String(&c.RequestID)
	abi.Enum(f, &c.Outcome)
	f.String(&c.Model)
	c.Tokens.fields(f)
	f.Int(&c.CostPico)
	cached := c.PromptCache.Used() // older versions have only the other flags
	f.Flags(&c.Estimated, &c.Missed, &c.Oversized, &cached, &c.Rescued)
	c.PromptCache.Fields(f, cached)
	f.String(&c.Idempotency)
	f.Bytes(&c.Answer)
	c.Trace.fields(f)
	abi.List(f, &c.Attempts, chargeFields)
	violationsField(f, &c.Violations)
	if f.Reading() && f.More() || len(c.Failures) > 0 { // written only if needed, because older objects do not know it
		if abi.List(f, &c.Failures, failureFields); len(c.Failures) == 0 {
			f.Fail()
		}
	}
}
