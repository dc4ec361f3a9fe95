// Package keymeter implements the object that owns one key: its status and record, its request windows, its slice of
// the project's budget, its open reservations, its unreported usage, and its idempotency records. The object's name is
// the key's hash.
package keymeter

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
)

// An op code is the first number of a command. 1, 2 and 5 were admit, settle and extend before grants became totals.
// During a rollout, isolates of that version receive an error.
const (
	opPut      = 3
	opFlush    = 4
	opAdmit    = 6
	opSettle   = 7
	opExtend   = 8
	opReport   = 9
	opRestart  = 10
	opIdentify = 11
)

// message lists its fields once, for encoding and decoding.
type message interface{ fields(*abi.Fields) }

// Mode is the kind of admission.
type Mode uint8

const (
	ModeCheck   Mode = 1 // checks the key's status; counts against no limit
	ModeCount   Mode = 2 // counts against the limits; for requests without provider cost
	ModeReserve Mode = 3 // counts, and reserves AmountPico until the settle
	ModeHit     Mode = 4 // counts, and records a cache hit immediately
)

// Grant carries a slice of the period's budget from the Ledger to the meter. It is the total granted in the meter's
// epoch, so grants may be lost, repeated or reordered. Several grants may be in flight at once.
type Grant struct {
	Period    calendar.Period
	Epoch     uint64 // the meter's epoch; it starts a new one when it returns budget; 0: no grant
	TotalPico int64
}

// Fields lists the grant's fields.
func (g *Grant) Fields(f *abi.Fields) {
	ledger.PeriodFields(f, &g.Period)
	f.Uint(&g.Epoch)
	f.Int(&g.TotalPico)
}

// Admit is the command to admit one request. It is idempotent for each RequestID. The reply is an AdmitReply.
type Admit struct {
	RequestID  string
	Version    uint64 // of the key record that the exchange used; 0: the exchange has none
	Mode       Mode
	Model      string
	AmountPico int64  // ModeReserve: the amount to reserve
	LeastPico  int64  // the smallest amount that suffices if the budget has no more; 0: AmountPico
	Final      bool   // the Ledger has no more: reserve the rest of the slice if it is at least LeastPico
	LifetimeMs uint64 // lifetime of the reservation and of an unfinished idempotency record, from the admission
	Grant      Grant  // from the Ledger, after a Short reply
	// Idempotency is the SHA-256 of the caller's Idempotency-Key, or empty. BodyHash identifies the request: it is
	// the exchange's cache key, or the SHA-256 of an invalid body.
	Idempotency string
	BodyHash    string
	Trace       Trace // for ModeHit and ModeCount, whose requests are complete at admission
	// Violations of the request are reported to the Ledger if the request is admitted, in any mode. They are stored
	// in the same transaction as the admission.
	Violations []ledger.Violation
	// LeaseID asks for a lease with this ID, or for an extension of it, if the request is admitted. The isolate
	// chooses the ID at random. 0: no lease.
	LeaseID uint64
	// Rerun admits the request even if the outcome of the first request with its idempotency key is unknown. It has
	// no effect if the record is in any other state.
	Rerun bool
	Tree
}

// Encode encodes the command.
func (c *Admit) Encode() []byte { return abi.EncodeFields(opAdmit, 256, c.fields) }

func (c *Admit) fields(f *abi.Fields) {
	f.String(&c.RequestID)
	f.Uint(&c.Version)
	abi.Enum(f, &c.Mode)
	f.String(&c.Model)
	f.Int(&c.AmountPico)
	f.Int(&c.LeastPico)
	f.Bool(&c.Final)
	f.Uint(&c.LifetimeMs)
	c.Grant.Fields(f)
	f.String(&c.Idempotency)
	f.String(&c.BodyHash)
	c.Trace.fields(f)
	violationsField(f, &c.Violations)
	c.newFields(f)
}

// newFields lists the fields that objects of older versions do not know. They are sent only if they are needed.
func (c *Admit) newFields(f *abi.Fields) {
	tree := c.Tree.used()
	if f.Reading() && !f.More() || !f.Reading() && c.LeaseID == 0 && !c.Rerun && !tree {
		return
	}
	f.Uint(&c.LeaseID)
	if f.Reading() && f.More() || c.Rerun || tree {
		f.Bool(&c.Rerun)
	}
	if f.Reading() && f.More() || tree {
		c.Tree.fields(f)
		tree = c.Tree.used()
	}
	if c.LeaseID == 0 && !c.Rerun && !tree {
		f.Fail()
	}
}

// violationsField is the last required field of its command. Isolates of older versions omit it during a rollout.
func violationsField(f *abi.Fields, list *[]ledger.Violation) {
	if f.More() {
		abi.List(f, list, ledger.ViolationFields)
	}
}

// Trace is the metadata of a request for the list of recent requests, in addition to its tokens and cost. An Admit
// without a Status is not listed.
type Trace struct {
	Provider   string
	Agent      string // the caller's user agent
	Status     uint64 // HTTP status of the response
	DurationMs uint64 // since the request's arrival
	Cache      ledger.Cache
	Stream     bool
	FirstMs    uint64 // from the request's arrival to the first content of its stream; 0: none
}

func (t *Trace) fields(f *abi.Fields) {
	ledger.ProviderFields(f, &t.Provider, &t.Agent, &t.FirstMs)
	f.Uint(&t.Status)
	f.Uint(&t.DurationMs)
	abi.Enum(f, &t.Cache)
	f.Bool(&t.Stream)
}

// Extend is the command to raise an open reservation to TotalPico. The reply is an AdmitReply: Admitted, Short, or
// Unknown. Unknown means that there is no open reservation, or that its period has passed and has too little left.
// LeastPico (also a total) and Final are as in Admit.
type Extend struct {
	RequestID string
	TotalPico int64
	LeastPico int64
	Final     bool
	Grant     Grant
	Tree
}

// Encode encodes the command.
func (c *Extend) Encode() []byte { return abi.EncodeFields(opExtend, 64, c.fields) }

func (c *Extend) fields(f *abi.Fields) {
	f.String(&c.RequestID)
	f.Int(&c.TotalPico)
	f.Int(&c.LeastPico)
	f.Bool(&c.Final)
	c.Grant.Fields(f)
	if f.Reading() && f.More() || c.Tree.used() { // not for objects of older versions, unless needed
		if c.Tree.fields(f); !c.Tree.used() {
			f.Fail()
		}
	}
}

// Verdict is the decision on an Admit or Extend.
type Verdict uint8

const (
	Admitted           Verdict = 1
	Unknown            Verdict = 2  // the key does not exist or was removed; for Extend: there is no such reservation
	Stale              Verdict = 3  // the exchange used an old key record; Record is the newer one
	RateLimited        Verdict = 4  // a window is full; see Windows and RetryMs
	Short              Verdict = 5  // the slice is too small: send a ledger.Grant with the fields Period through LeastPico, then repeat
	Replay             Verdict = 6  // the idempotency key was used before; Answer is the stored response
	Running            Verdict = 7  // the latest request with the idempotency key is in progress
	Mismatch           Verdict = 8  // the idempotency key was used with a different request
	Unreplayable       Verdict = 9  // the response to the first request was too large to store
	ConcurrencyLimited Verdict = 10 // the key has too many concurrent requests
	Inactive           Verdict = 11 // the key is deactivated or expired
	OutcomeUnknown     Verdict = 12 // the latest request with the idempotency key was admitted and never settled
	OverOwn            Verdict = 13 // the key's own budget does not cover the request; Levels contains it
)

// Window is the state of one rate limit.
type Window struct {
	Tokens    bool // whether it counts tokens; otherwise it counts requests
	WindowMs  uint64
	Limit     uint64
	Remaining uint64
	ResetMs   uint64 // time until capacity is next freed; 0 for an unused sliding window
}

// WindowFields lists the fields of a window.
func WindowFields(f *abi.Fields, w *Window) {
	f.Bool(&w.Tokens)
	f.Uint(&w.WindowMs)
	f.Uint(&w.Limit)
	f.Uint(&w.Remaining)
	f.Uint(&w.ResetMs)
}

// AdmitReply is the reply to Admit and Extend. Period through LeastPico are set if the verdict is Short. They are the
// fields of the ledger.Grant to send.
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
	ReservedPico int64  // if Admitted: the request's reservation
	Answer       []byte // Replay
	Lease        Lease  // if Admitted, for an Admit with a LeaseID
	LentMs       uint64 // if Short: the time until lent budget may be free again; 0: no budget is lent
	// Levels are set in place of Period through LeastPico if the key has budgets above its project: one level or several
	// that lack budget.
	Levels []ShortLevel
}

// DecodeAdmitReply decodes the reply to Admit and Extend.
func DecodeAdmitReply(data []byte) (a AdmitReply, err error) {
	err = abi.DecodeFields(data, a.fields)
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
	a.newFields(f)
}

// newFields lists the fields that isolates of older versions do not know. They are sent only if they are needed.
func (a *AdmitReply) newFields(f *abi.Fields) {
	if f.Reading() && !f.More() || !f.Reading() && a.Lease.ID == 0 && a.LentMs == 0 && len(a.Levels) == 0 {
		return
	}
	a.Lease.fields(f)
	f.Uint(&a.LentMs)
	if f.Reading() && f.More() || len(a.Levels) > 0 {
		abi.List(f, &a.Levels, ShortLevelFields)
	}
	if a.Lease.ID == 0 && a.LentMs == 0 && len(a.Levels) == 0 {
		f.Fail()
	}
}

// Put is the command that sets the key's record and status, if the record's Version is newer than the meter's.
type Put struct {
	Status doc.Status
	Record doc.Record
}

// Encode encodes the command.
func (c *Put) Encode() []byte { return abi.EncodeFields(opPut, 256, c.fields) }

func (c *Put) fields(f *abi.Fields) {
	abi.Enum(f, &c.Status)
	var encoded []byte
	recordFields(f, &c.Record, &encoded)
}

// recordFields lists a record. encoded is its encoded form, which is written again as it was read: most commands do not
// change the record. nil means that the record is new.
func recordFields(f *abi.Fields, r *doc.Record, encoded *[]byte) {
	if !f.Reading() && *encoded == nil {
		*encoded = r.Encode()
	}
	f.Bytes(encoded)
	if !f.Reading() {
		return
	}
	var err error
	if *r, err = doc.DecodeRecord(*encoded); err != nil {
		f.Fail()
	}
}

// Flush is the command to report all unreported usage. With Recall, the meter also returns the unused part of its
// slice, and grants in flight become void.
type Flush struct {
	Recall bool
	// HeldPico is the amount that the Ledger has granted to the meter, or 0 if not given. If the meter holds the same
	// amount and all of it is in use, a recall changes nothing: no budget can be returned, and no grant is in flight.
	HeldPico int64
	// Ledger is the name of a Ledger above the project whose slice is recalled. The reply then has a Return and no
	// Absorbs. Empty: the project's.
	Ledger string
}

// Encode encodes the command.
func (c *Flush) Encode() []byte { return abi.EncodeFields(opFlush, 12, c.fields) }

func (c *Flush) fields(f *abi.Fields) {
	f.Bool(&c.Recall)
	f.Int(&c.HeldPico)
	if f.Reading() && f.More() || c.Ledger != "" { // not for objects of older versions, unless needed
		if f.String(&c.Ledger); c.Ledger == "" || !c.Recall {
			f.Fail()
		}
	}
}

// FlushReply is the reply to Flush.
type FlushReply struct {
	Absorbs [][]byte // ledger.Absorb commands for the project's Ledger, in order; they are also in the outbox
	Open    uint64   // number of open reservations and of leases that are not closed; at least 1 if there may be more batches
	LentMs  uint64   // for a recall: the time until budget that the meter could not return may be free again; 0: there is none
	Return  []byte   // a ledger.Return for the Ledger that Flush names; it is in the outbox too
	// Frees means that the meter now returns a part of what the Ledger has granted to it. Only meters of keys with budgets
	// above their project say so.
	Frees bool
}

// SettleWaitMs lists the pauses of a usage report while meters have open reservations or leases: one second in total.
var SettleWaitMs = [...]uint64{100, 300, 600}

// DecodeFlushReply decodes the reply to Flush.
func DecodeFlushReply(data []byte) (r FlushReply, err error) {
	err = abi.DecodeFields(data, r.fields)
	return r, err
}

func (r *FlushReply) fields(f *abi.Fields) {
	abi.List(f, &r.Absorbs, (*abi.Fields).Bytes)
	f.Uint(&r.Open)
	// Objects of older versions do not know the rest.
	if !(f.Reading() && f.More() || r.LentMs != 0 || len(r.Return) > 0 || r.Frees) {
		return
	}
	f.Uint(&r.LentMs)
	if f.Reading() && f.More() || len(r.Return) > 0 || r.Frees {
		f.Bytes(&r.Return)
		if f.Reading() && f.More() || r.Frees {
			f.Bool(&r.Frees)
		}
	}
	if r.LentMs == 0 && len(r.Return) == 0 && !r.Frees {
		f.Fail()
	}
}
