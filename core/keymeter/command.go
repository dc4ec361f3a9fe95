// Package keymeter is the object that owns one key: its status and record, its request windows, its slice
// of the project's budget, its open reservations, the usage it has not reported yet, and its idempotency
// records. The object's name is the key's hash.
package keymeter

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
)

// Commands start with one of these.
const (
	opAdmit  = 1
	opSettle = 2
	opPut    = 3
	opFlush  = 4
	opExtend = 5
)

// Mode is what an admission is for.
type Mode uint8

const (
	ModeCheck   Mode = 1 // status only: uses up nothing
	ModeCount   Mode = 2 // counts against the limits; the request goes to no provider, or costs nothing there
	ModeReserve Mode = 3 // counts, and reserves AmountPico until settled
	ModeHit     Mode = 4 // counts, and books a cache hit at once
)

// Grant is a slice of the period's budget on its way from the Ledger.
type Grant struct {
	Period     calendar.Period
	Seq        uint64 // which of the meter's requests for a slice this answers; 0: no grant
	AmountPico int64
}

// Admit asks to let one request in. It may be repeated: the request id makes it one admission.
type Admit struct {
	RequestID  string
	Version    uint64 // of the record that the exchange used; 0: it has none
	Mode       Mode
	Model      string
	AmountPico int64
	ExpiresMs  uint64 // how long the reservation stands
	Grant      Grant
	// Idempotency is the SHA-256 of the caller's Idempotency-Key, empty without one; BodyHash that of the
	// request's path and body.
	Idempotency string
	BodyHash    string
	Trace       Trace // ModeHit and ModeCount: the request is answered at once
}

// Trace is what a request's entry in the list of recent requests says besides its tokens and cost. Without a
// status it gets none.
type Trace struct {
	Provider   string
	Status     uint64 // of the answer
	DurationMs uint64 // from the request's arrival
	Cache      ledger.Cache
	Stream     bool
}

func (t *Trace) encode(w *abi.Writer) {
	w.String(t.Provider)
	w.Uint(t.Status)
	w.Uint(t.DurationMs)
	w.Uint(uint64(t.Cache))
	w.Bool(t.Stream)
}

func decodeTrace(r *abi.Reader) Trace {
	if len(r.Buf) == 0 {
		return Trace{} // from an isolate of the version before there were any, while a deployment goes out
	}
	return Trace{r.String(), r.Uint(), r.Uint(), ledger.Cache(r.Byte()), r.Bool()}
}

// Extend asks that an open reservation be of TotalPico, if it is smaller. AdmitReply answers: Admitted, Short,
// or Unknown if there is no such reservation (any more).
type Extend struct {
	RequestID string
	TotalPico int64
	Grant     Grant
}

// Encode is the command.
func (c *Extend) Encode() []byte {
	var w abi.Writer
	w.Uint(opExtend)
	w.String(c.RequestID)
	w.Int(c.TotalPico)
	w.Uint(uint64(c.Grant.Period))
	w.Uint(c.Grant.Seq)
	w.Int(c.Grant.AmountPico)
	return w.Buf
}

func decodeExtend(r *abi.Reader) Extend {
	return Extend{r.String(), r.Int(), Grant{calendar.ReadPeriod(r.Uint()), r.Uint(), r.Int()}}
}

// Verdict is the answer to Admit.
type Verdict uint8

const (
	Admitted     Verdict = 1
	Unknown      Verdict = 2  // no such key, or it was removed
	Stale        Verdict = 3  // Record is newer than what the exchange used
	RateLimited  Verdict = 4  // Limits and RetryMs say which window
	Short        Verdict = 5  // the slice is too small: ask the Ledger for NeedPico with Period and Seq
	Replay       Verdict = 6  // Answer is what the first request with this idempotency key got
	Running      Verdict = 7  // that first request is not finished
	Mismatch     Verdict = 8  // that key was used with another body
	Unreplayable Verdict = 9  // that answer was too large to keep
	Crowded      Verdict = 10 // too many requests of this key are under way
	Inactive     Verdict = 11 // until it is reactivated
)

// Window is the state of one limit.
type Window struct {
	Tokens    bool // it counts tokens; else requests
	WindowMs  uint64
	Limit     uint64
	Remaining uint64
	ResetMs   uint64 // until something is free again (or, with nothing used, 0)
}

// AdmitReply answers Admit.
type AdmitReply struct {
	Verdict  Verdict
	Record   []byte // Stale
	Windows  []Window
	RetryMs  uint64          // RateLimited
	Period   calendar.Period // Short
	Seq      uint64
	NeedPico int64
	Answer   []byte // Replay
}

// Outcome of a settled request.
type Outcome uint8

const (
	Served   Outcome = 1 // answered by a provider
	Hit      Outcome = 2 // answered from the cache after a reservation was made
	Released Outcome = 3 // not answered; tokens and cost are of attempts that failed after they were billed
	Finish   Outcome = 4 // nothing was reserved: only the idempotency record is finished
)

// Tokens are what a provider reported or we estimated.
type Tokens struct{ Prompt, Completion uint64 }

// Settle ends a reservation with what happened. It may be repeated: only the first counts.
type Settle struct {
	RequestID string
	Outcome   Outcome
	Model     string
	Tokens    Tokens
	CostPico  int64
	Estimated bool // the provider did not report usage
	Missed    bool // the cache was asked in vain
	// Idempotency as in Admit. Answer is kept for 24 h; without one the record is dropped, so that the
	// caller may try again, unless Oversized says that there was an answer, too large to keep.
	Idempotency string
	Answer      []byte
	Oversized   bool
	Trace       Trace
}

// Put gives the meter a record and status, if Version is newer than its own.
type Put struct {
	Status doc.Status
	Record doc.Record
}

// Flush asks for all usage that was not reported yet. With Recall the unused slice is given back too.
type Flush struct{ Recall bool }

// FlushReply answers Flush: commands for the project's Ledger, in order, which are also in the outbox.
type FlushReply struct {
	Absorbs [][]byte
	Open    uint64 // reservations that are not settled yet
}

// Encode is the command.
func (c *Admit) Encode() []byte {
	w := abi.Writer{Buf: make([]byte, 0, 256)}
	w.Uint(opAdmit)
	w.String(c.RequestID)
	w.Uint(c.Version)
	w.Uint(uint64(c.Mode))
	w.String(c.Model)
	w.Int(c.AmountPico)
	w.Uint(c.ExpiresMs)
	w.Uint(uint64(c.Grant.Period))
	w.Uint(c.Grant.Seq)
	w.Int(c.Grant.AmountPico)
	w.String(c.Idempotency)
	w.String(c.BodyHash)
	c.Trace.encode(&w)
	return w.Buf
}

func decodeAdmit(r *abi.Reader) Admit {
	return Admit{
		RequestID: r.String(), Version: r.Uint(), Mode: Mode(r.Uint()), Model: r.String(), AmountPico: r.Int(), ExpiresMs: r.Uint(),
		Grant: Grant{calendar.ReadPeriod(r.Uint()), r.Uint(), r.Int()}, Idempotency: r.String(), BodyHash: r.String(), Trace: decodeTrace(r),
	}
}

func (a *AdmitReply) encode() []byte {
	w := abi.Writer{Buf: make([]byte, 0, 128)}
	w.Uint(uint64(a.Verdict))
	w.Bytes(a.Record)
	w.Uint(uint64(len(a.Windows)))
	for _, win := range a.Windows {
		w.Bool(win.Tokens)
		w.Uint(win.WindowMs)
		w.Uint(win.Limit)
		w.Uint(win.Remaining)
		w.Uint(win.ResetMs)
	}
	w.Uint(a.RetryMs)
	w.Uint(uint64(a.Period))
	w.Uint(a.Seq)
	w.Int(a.NeedPico)
	w.Bytes(a.Answer)
	return w.Buf
}

// DecodeAdmitReply reads the answer to Admit.
func DecodeAdmitReply(data []byte) (AdmitReply, error) {
	r := abi.Reader{Buf: data}
	a := AdmitReply{Verdict: Verdict(r.Uint()), Record: r.Bytes()}
	for n := r.Count(); n > 0; n-- {
		a.Windows = append(a.Windows, Window{r.Bool(), r.Uint(), r.Uint(), r.Uint(), r.Uint()})
	}
	a.RetryMs, a.Period, a.Seq, a.NeedPico, a.Answer = r.Uint(), calendar.ReadPeriod(r.Uint()), r.Uint(), r.Int(), r.Bytes()
	return a, r.End()
}

// Encode is the command.
func (c *Settle) Encode() []byte {
	w := abi.Writer{Buf: make([]byte, 0, 256+len(c.Answer))}
	w.Uint(opSettle)
	w.String(c.RequestID)
	w.Uint(uint64(c.Outcome))
	w.String(c.Model)
	w.Uint(c.Tokens.Prompt)
	w.Uint(c.Tokens.Completion)
	w.Int(c.CostPico)
	w.Bool(c.Estimated)
	w.Bool(c.Missed)
	w.String(c.Idempotency)
	w.Bytes(c.Answer)
	w.Bool(c.Oversized)
	c.Trace.encode(&w)
	return w.Buf
}

func decodeSettle(r *abi.Reader) Settle {
	return Settle{
		r.String(), Outcome(r.Uint()), r.String(), Tokens{r.Uint(), r.Uint()}, r.Int(), r.Bool(), r.Bool(),
		r.String(), r.Bytes(), r.Bool(), decodeTrace(r),
	}
}

// Encode is the command.
func (c *Put) Encode() []byte {
	var w abi.Writer
	w.Uint(opPut)
	w.Uint(uint64(c.Status))
	w.Bytes(c.Record.Encode())
	return w.Buf
}

// Encode is the command.
func (c *Flush) Encode() []byte {
	var w abi.Writer
	w.Uint(opFlush)
	w.Bool(c.Recall)
	return w.Buf
}

func (f *FlushReply) encode() []byte {
	var w abi.Writer
	w.Uint(uint64(len(f.Absorbs)))
	for _, a := range f.Absorbs {
		w.Bytes(a)
	}
	w.Uint(f.Open)
	return w.Buf
}

// DecodeFlushReply reads the answer to Flush.
func DecodeFlushReply(data []byte) (FlushReply, error) {
	r := abi.Reader{Buf: data}
	var f FlushReply
	for n := r.Count(); n > 0; n-- {
		f.Absorbs = append(f.Absorbs, r.Bytes())
	}
	f.Open = r.Uint()
	return f, r.End()
}
