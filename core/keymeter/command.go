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

// Commands start with one of these. 1, 2 and 5 were admit, settle and extend before grants were totals: an
// isolate of that version gets an error while a deployment goes out.
const (
	opPut    = 3
	opFlush  = 4
	opAdmit  = 6
	opSettle = 7
	opExtend = 8
)

// message lists its fields once for both directions.
type message interface{ fields(*abi.Fields) }

// encode is a message of about so many bytes; op is 0 for replies.
func encode(op uint64, m message, size int) []byte {
	w := abi.Writer{Buf: make([]byte, 0, size)}
	if op != 0 {
		w.Uint(op)
	}
	m.fields(abi.WriteTo(&w))
	return w.Buf
}

func decode(data []byte, m message) error {
	r := abi.Reader{Buf: data}
	m.fields(abi.ReadFrom(&r))
	return r.End()
}

// Mode is what an admission is for.
type Mode uint8

const (
	ModeCheck   Mode = 1 // status only: uses up nothing
	ModeCount   Mode = 2 // counts against the limits; the request goes to no provider, or costs nothing there
	ModeReserve Mode = 3 // counts, and reserves AmountPico until settled
	ModeHit     Mode = 4 // counts, and books a cache hit at once
)

// Grant is a slice of the period's budget on its way from the Ledger: all that the meter was given since it last
// gave something back. So grants may be lost, repeated and overtaken, and several may be on their way at once.
type Grant struct {
	Period    calendar.Period
	Epoch     uint64 // the meter's, which grows whenever it gives back; 0: no grant
	TotalPico int64
}

// Fields lists a grant's fields.
func (g *Grant) Fields(f *abi.Fields) {
	ledger.PeriodFields(f, &g.Period)
	f.Uint(&g.Epoch)
	f.Int(&g.TotalPico)
}

// Admit asks to let one request in. It may be repeated: the request id makes it one admission.
type Admit struct {
	RequestID  string
	Version    uint64 // of the record that the exchange used; 0: it has none
	Mode       Mode
	Model      string
	AmountPico int64
	LeastPico  int64 // what helps too, if the budget has no more; 0: AmountPico
	Final      bool  // the Ledger has no more: reserve what there is, if it is LeastPico or more
	ExpiresMs  uint64
	Grant      Grant
	// Idempotency is the SHA-256 of the caller's Idempotency-Key, empty without one; BodyHash that of the
	// request's path and body.
	Idempotency string
	BodyHash    string
	Trace       Trace // ModeHit and ModeCount: the request is answered at once
}

// Encode is the command.
func (c *Admit) Encode() []byte { return encode(opAdmit, c, 256) }

func (c *Admit) fields(f *abi.Fields) {
	f.String(&c.RequestID)
	f.Uint(&c.Version)
	abi.Enum(f, &c.Mode)
	f.String(&c.Model)
	f.Int(&c.AmountPico)
	f.Int(&c.LeastPico)
	f.Bool(&c.Final)
	f.Uint(&c.ExpiresMs)
	c.Grant.Fields(f)
	f.String(&c.Idempotency)
	f.String(&c.BodyHash)
	c.Trace.fields(f)
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

func (t *Trace) fields(f *abi.Fields) {
	f.String(&t.Provider)
	f.Uint(&t.Status)
	f.Uint(&t.DurationMs)
	abi.Enum(f, &t.Cache)
	f.Bool(&t.Stream)
}

// Extend asks that an open reservation be of TotalPico, if it is smaller. AdmitReply answers: Admitted, Short,
// or Unknown if there is no such reservation (any more). LeastPico (of the total) and Final are as in Admit.
type Extend struct {
	RequestID string
	TotalPico int64
	LeastPico int64
	Final     bool
	Grant     Grant
}

// Encode is the command.
func (c *Extend) Encode() []byte { return encode(opExtend, c, 64) }

func (c *Extend) fields(f *abi.Fields) {
	f.String(&c.RequestID)
	f.Int(&c.TotalPico)
	f.Int(&c.LeastPico)
	f.Bool(&c.Final)
	c.Grant.Fields(f)
}

// Verdict is the answer to Admit.
type Verdict uint8

const (
	Admitted     Verdict = 1
	Unknown      Verdict = 2  // no such key, or it was removed
	Stale        Verdict = 3  // Record is newer than what the exchange used
	RateLimited  Verdict = 4  // Windows and RetryMs say which limit
	Short        Verdict = 5  // the slice is too small: ask the Ledger, with Period and what follows it
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

// WindowFields lists a window's fields.
func WindowFields(f *abi.Fields, w *Window) {
	f.Bool(&w.Tokens)
	f.Uint(&w.WindowMs)
	f.Uint(&w.Limit)
	f.Uint(&w.Remaining)
	f.Uint(&w.ResetMs)
}

// AdmitReply answers Admit and Extend. Period to LeastPico are for the ledger.Grant that a short meter needs.
type AdmitReply struct {
	Verdict      Verdict
	Record       []byte // Stale
	Windows      []Window
	RetryMs      uint64 // RateLimited
	Period       calendar.Period
	Epoch        uint64
	HeldPico     int64
	NeedPico     int64
	LeastPico    int64
	ReservedPico int64  // Admitted: what the request has reserved now
	Answer       []byte // Replay
}

// DecodeAdmitReply reads the answer to Admit and Extend.
func DecodeAdmitReply(data []byte) (a AdmitReply, err error) {
	err = decode(data, &a)
	return a, err
}

func (a *AdmitReply) fields(f *abi.Fields) {
	abi.Enum(f, &a.Verdict)
	f.Bytes(&a.Record)
	abi.List(f, &a.Windows, WindowFields)
	f.Uint(&a.RetryMs)
	ledger.PeriodFields(f, &a.Period)
	f.Uint(&a.Epoch)
	f.Int(&a.HeldPico)
	f.Int(&a.NeedPico)
	f.Int(&a.LeastPico)
	f.Int(&a.ReservedPico)
	f.Bytes(&a.Answer)
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

func (t *Tokens) fields(f *abi.Fields) {
	f.Uint(&t.Prompt)
	f.Uint(&t.Completion)
}

// Charge is what attempts on one target cost.
type Charge struct {
	Model     string
	Provider  string
	Tokens    Tokens
	CostPico  int64
	Estimated bool // the provider did not report usage
}

func chargeFields(f *abi.Fields, c *Charge) {
	f.String(&c.Model)
	f.String(&c.Provider)
	c.Tokens.fields(f)
	f.Int(&c.CostPico)
	f.Bool(&c.Estimated)
}

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
	Attempts    []Charge // what attempts on targets other than Model cost besides
}

// Encode is the command.
func (c *Settle) Encode() []byte { return encode(opSettle, c, 256+len(c.Answer)) }

func (c *Settle) fields(f *abi.Fields) {
	f.String(&c.RequestID)
	abi.Enum(f, &c.Outcome)
	f.String(&c.Model)
	c.Tokens.fields(f)
	f.Int(&c.CostPico)
	f.Flags(&c.Estimated, &c.Missed, &c.Oversized)
	f.String(&c.Idempotency)
	f.Bytes(&c.Answer)
	c.Trace.fields(f)
	abi.List(f, &c.Attempts, chargeFields)
}

// Put gives the meter a record and status, if Version is newer than its own.
type Put struct {
	Status doc.Status
	Record doc.Record
}

// Encode is the command.
func (c *Put) Encode() []byte { return encode(opPut, c, 256) }

func (c *Put) fields(f *abi.Fields) {
	abi.Enum(f, &c.Status)
	recordFields(f, &c.Record)
}

func recordFields(f *abi.Fields, r *doc.Record) {
	var encoded []byte
	if !f.Reading() {
		encoded = r.Encode()
	}
	f.Bytes(&encoded)
	if !f.Reading() {
		return
	}
	var err error
	if *r, err = doc.DecodeRecord(encoded); err != nil {
		f.Fail()
	}
}

// Flush asks for all usage that was not reported yet. With Recall the unused slice is given back too, and
// grants that are still on their way are void.
type Flush struct {
	Recall bool
	// HeldPico is what the Ledger has granted the meter. If the meter holds just that, and all of it is in use, there
	// is nothing to give back and no grant under way, and the recall changes nothing. 0: not said.
	HeldPico int64
}

// Encode is the command.
func (c *Flush) Encode() []byte { return encode(opFlush, c, 12) }

func (c *Flush) fields(f *abi.Fields) {
	f.Bool(&c.Recall)
	f.Int(&c.HeldPico)
}

// FlushReply answers Flush: commands for the project's Ledger, in order, which are also in the outbox.
type FlushReply struct {
	Absorbs [][]byte
	Open    uint64 // reservations that are not settled yet
}

// DecodeFlushReply reads the answer to Flush.
func DecodeFlushReply(data []byte) (r FlushReply, err error) {
	err = decode(data, &r)
	return r, err
}

func (r *FlushReply) fields(f *abi.Fields) {
	abi.List(f, &r.Absorbs, (*abi.Fields).Bytes)
	f.Uint(&r.Open)
}
