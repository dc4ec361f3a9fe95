// Package ledger is the object that owns a project's budget and usage. The object's name is the project's
// id. Usage comes to it from the keys' meters, in numbered batches.
package ledger

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
)

// Commands start with one of these. 2 was grant before grants were totals: an isolate of that version gets an error
// while a deployment goes out.
const (
	opPut    = 1
	opReport = 4
	opKeys   = 5
	opBatch  = 6
	opPolicy = 7
	opQuery  = 8
	opPrune  = 9
	opRecent = 10
	opGrant  = 12
	opAbsorb = 13

	// What may wait in outboxes from before: without hours, latencies, the key's id and recent requests; and with
	// an amount that is given back in place of the one that is held.
	opFirstAbsorb  = 3
	opSecondAbsorb = 11
)

// message lists its fields once for both directions.
type message interface{ fields(*abi.Fields) }

// encode is a message of about so many bytes; op is 0 for replies and rows.
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

// PeriodFields lists a period. One from before there were cycles is the number of a month.
func PeriodFields(f *abi.Fields, p *calendar.Period) {
	f.Uint((*uint64)(p))
	if f.Reading() {
		*p = calendar.ReadPeriod(uint64(*p))
	}
}

// Put sets what the control plane says of the project, if Version is newer than the last.
type Put struct {
	Version    uint64
	BudgetPico int64           // a turn of the cycle
	Period     calendar.Period // the present one: its cycle and epoch count
	Alerts     doc.Alerts
	Policy     []byte // a doc.Policy, encoded; empty: the project has none
}

// Grant asks for a slice of the period's budget. The meter says what it has (keymeter.AdmitReply).
type Grant struct {
	Key       string // the meter's name
	Period    calendar.Period
	Epoch     uint64
	HeldPico  int64
	NeedPico  int64  // beyond HeldPico; 0: nothing, but the key is in use
	LeastPico int64  // what helps too, if there is no more
	After     string // GrantReply.Next, once those that it named have given back
}

// Encode is the command.
func (c *Grant) Encode() []byte { return encode(opGrant, c, 128) }

func (c *Grant) fields(f *abi.Fields) { c.Fields(f) }

// Fields lists a grant's fields, for states that keep one.
func (c *Grant) Fields(f *abi.Fields) {
	f.String(&c.Key)
	PeriodFields(f, &c.Period)
	f.Uint(&c.Epoch)
	f.Int(&c.HeldPico)
	f.Int(&c.NeedPico)
	f.Int(&c.LeastPico)
	f.String(&c.After)
}

// GrantReply answers Grant. Unless Granted, Next says whether to ask once more, with After, when the meters of
// Recall (maybe none) have given back what they do not use; if it is empty, the budget has no more.
type GrantReply struct {
	Period    calendar.Period // may be later than asked: the period has turned
	Epoch     uint64
	TotalPico int64 // given to the meter in this epoch; it may be less than it needs
	Granted   bool
	Final     bool // Granted: the budget had no more than this
	Spent     bool // not Granted: what is missing is spent, not reserved, as far as that was reported
	Recall    []string
	HeldPico  []int64 // by Recall: what the Ledger has granted each
	Next      string
}

// DecodeGrantReply reads the answer to Grant.
func DecodeGrantReply(data []byte) (g GrantReply, err error) {
	err = decode(data, &g)
	return g, err
}

func (g *GrantReply) fields(f *abi.Fields) {
	PeriodFields(f, &g.Period)
	f.Uint(&g.Epoch)
	f.Int(&g.TotalPico)
	f.Flags(&g.Granted, &g.Final, &g.Spent)
	abi.List(f, &g.Recall, (*abi.Fields).String)
	abi.List(f, &g.HeldPico, (*abi.Fields).Int)
	f.String(&g.Next)
}

// Absorb is one batch of a meter's news. A Seq that was seen before is dropped.
type Absorb struct {
	Key        string // the meter's name
	KeyID      string
	Seq        uint64
	Period     calendar.Period // of HeldPico
	Epoch      uint64          // begins when the meter gives back; 0: from before there were epochs
	HeldPico   int64           // what it had then
	Closed     bool            // the meter gave back all and will ask again before it admits
	LastUsedMs uint64
	Usage      []Usage
	Recent     []Request // the newest requests since the last batch, oldest first

	returnedPico int64 // Epoch 0: part of the slice that the meter gives back
}

// Encode is the command.
func (c *Absorb) Encode() []byte { return encode(opAbsorb, c, 256) }

func (c *Absorb) fields(f *abi.Fields) { c.fieldsOf(f, opAbsorb) }

// fieldsOf lists the fields that a batch has in one of the three layouts.
func (c *Absorb) fieldsOf(f *abi.Fields, op uint64) {
	f.String(&c.Key)
	if op != opFirstAbsorb {
		f.String(&c.KeyID)
	}
	f.Uint(&c.Seq)
	PeriodFields(f, &c.Period)
	if op == opAbsorb {
		f.Uint(&c.Epoch)
		f.Int(&c.HeldPico)
		f.Bool(&c.Closed)
	} else {
		var lastGrant uint64
		f.Int(&c.returnedPico)
		f.Bool(&c.Closed)
		f.Uint(&lastGrant)
	}
	f.Uint(&c.LastUsedMs)
	if op == opFirstAbsorb {
		abi.List(f, &c.Usage, OldUsageFields)
		return
	}
	abi.List(f, &c.Usage, UsageFields)
	abi.List(f, &c.Recent, RequestFields)
}

// DecodeAbsorb reads a batch, of any version.
func DecodeAbsorb(data []byte) (c Absorb, err error) {
	r := abi.Reader{Buf: data}
	op := r.Uint()
	if op != opAbsorb && op != opFirstAbsorb && op != opSecondAbsorb {
		return c, abi.ErrMalformed
	}
	c.fieldsOf(abi.ReadFrom(&r), op)
	return c, r.End()
}

// batch is several batches of one meter, in order.
type batch struct{ absorbs []Absorb }

func (b *batch) fields(f *abi.Fields) {
	abi.List(f, &b.absorbs, func(f *abi.Fields, c *Absorb) {
		var encoded []byte
		f.Bytes(&encoded)
		var err error
		if *c, err = DecodeAbsorb(encoded); err != nil {
			f.Fail()
		}
	})
}

// Report asks for usage of days FirstDay to EndDay (exclusive). Whoever asks flushes the meters that may have news,
// unless Final: a flush that somebody else has begun may not be over.
type Report struct {
	FirstDay, EndDay uint64
	Waited           bool // WaitMs has passed: flush now
	Final            bool // answer with what is there
}

// ReportReply answers Report: with Flush (meters to flush before asking again), or WaitMs (somebody else's
// flush is under way), or neither, and then with the figures.
type ReportReply struct {
	Flush      []string
	WaitMs     uint64
	BudgetPico int64
	UsedPico   int64           // in Period
	Period     calendar.Period // of the budget
	Models     []Usage         // Day is 0, summed by model, in order of the name
}

// KeyUse is when a key was last used.
type KeyUse struct {
	Key        string
	LastUsedMs uint64
}

// Keys asks for the last use of keys, by their hash. Those that were never used are not in the answer.
type Keys struct{ Names []string }

// Batch is a command that absorbs several batches of one meter, in order.
func Batch(absorbs [][]byte) []byte {
	var w abi.Writer
	w.Uint(opBatch)
	abi.List(abi.WriteTo(&w), &absorbs, (*abi.Fields).Bytes)
	return w.Buf
}

// Encode is the command.
func (c *Put) Encode() []byte { return encode(opPut, c, 256) }

func (c *Put) fields(f *abi.Fields) {
	f.Uint(&c.Version)
	f.Int(&c.BudgetPico)
	if !f.More() {
		return // from before there was more: it may wait in an outbox
	}
	PeriodFields(f, &c.Period)
	alertsFields(f, &c.Alerts)
	f.Bytes(&c.Policy)
}

func alertsFields(f *abi.Fields, a *doc.Alerts) {
	f.String(&a.URL)
	f.Bytes(&a.Secret)
}

// Encode is the command.
func (c *Report) Encode() []byte { return encode(opReport, c, 32) }

func (c *Report) fields(f *abi.Fields) {
	var asOfMs uint64 // what isolates of the version before say, which a deployment meets
	f.Uint(&c.FirstDay)
	f.Uint(&c.EndDay)
	f.Uint(&asOfMs)
	f.Bool(&c.Waited)
	f.Bool(&c.Final)
}

// DecodeReportReply reads the answer to Report.
func DecodeReportReply(data []byte) (p ReportReply, err error) {
	err = decode(data, &p)
	return p, err
}

func (p *ReportReply) fields(f *abi.Fields) {
	abi.List(f, &p.Flush, (*abi.Fields).String)
	f.Uint(&p.WaitMs)
	f.Int(&p.BudgetPico)
	f.Int(&p.UsedPico)
	PeriodFields(f, &p.Period)
	abi.List(f, &p.Models, UsageFields)
}

// Encode is the command.
func (c *Keys) Encode() []byte { return encode(opKeys, c, 16+80*len(c.Names)) }

func (c *Keys) fields(f *abi.Fields) { abi.List(f, &c.Names, (*abi.Fields).String) }

// keyUses answers Keys.
type keyUses struct{ uses []KeyUse }

func (k *keyUses) fields(f *abi.Fields) {
	abi.List(f, &k.uses, func(f *abi.Fields, u *KeyUse) {
		f.String(&u.Key)
		f.Uint(&u.LastUsedMs)
	})
}

// DecodeKeyUses reads the answer to Keys.
func DecodeKeyUses(data []byte) ([]KeyUse, error) {
	var k keyUses
	err := decode(data, &k)
	return k.uses, err
}

// policy asks for the project's policy.
type policy struct{}

func (policy) fields(*abi.Fields) {}

// Policy is the command that asks for the project's policy: the reply is a doc.Policy, encoded, or empty.
func Policy() []byte { return []byte{opPolicy} }

// Encode is the command.
func (q *Query) Encode() []byte { return encode(opQuery, q, 64) }

func (q *Query) fields(f *abi.Fields) {
	f.Uint(&q.FirstDay)
	f.Uint(&q.EndDay)
	abi.Enum(f, &q.By)
	f.String(&q.Key)
	f.String(&q.Model)
	f.String(&q.After)
}

// DecodeQueryReply reads the answer to Query.
func DecodeQueryReply(data []byte) (p QueryReply, err error) {
	err = decode(data, &p)
	return p, err
}

func (p *QueryReply) fields(f *abi.Fields) {
	abi.List(f, &p.Groups, func(f *abi.Fields, g *Group) {
		f.String(&g.KeyID)
		UsageFields(f, &g.Usage)
	})
	f.String(&p.Next)
}

// Encode is the command.
func (p *Prune) Encode() []byte { return encode(opPrune, p, 16) }

func (p *Prune) fields(f *abi.Fields) {
	f.Uint(&p.FirstDay)
	f.Uint(&p.FirstHourDay)
}

// DecodePruned reads the answer to Prune: how many rows were removed.
func DecodePruned(data []byte) (uint64, error) {
	r := abi.Reader{Buf: data}
	n := r.Uint()
	return n, r.End()
}
