// Package ledger implements the object that owns a project's budget and usage. The object's name is the project ID.
// The meters of the project's keys report usage in numbered batches.
package ledger

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
)

// An op code is the first number of a command. 2 was grant before grants became totals. During a rollout, isolates of
// that version receive an error.
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
	opAbsorb = 14

	opViolations = 15
	opViolation  = 16
	opTriage     = 17

	opTally   = 18
	opEnds    = 19
	opRecords = 20

	opActivity = 21
	opSummary  = 22
	opStatuses = 24
	opOverview = 25 // 23 was overview before the sums of all projects. During a rollout, isolates of that version receive an error.

	opEvents   = 30
	opForget   = 31
	opCloseDay = 32
	opAnnounce = 33

	opReturn       = 40
	opContribution = 41
	opForward      = 42
	opReturns      = 43
	opExtended     = 45 // an absorb with crossings or slices, which come first

	// Older layouts of absorb, which outboxes may still contain. They have no violations. Instead of the epoch and
	// the held amount, the first two have a returned amount. The first also lacks hours, latencies, the key ID and
	// recent requests.
	opFirstAbsorb  = 3
	opSecondAbsorb = 11
	opThirdAbsorb  = 13
)

// message lists its fields once, for encoding and decoding.
type message interface{ fields(*abi.Fields) }

// PeriodFields lists a period. It also reads the format used before budgets had cycles; see calendar.ReadPeriod.
func PeriodFields(f *abi.Fields, p *calendar.Period) {
	f.Uint((*uint64)(p))
	if f.Reading() {
		*p = calendar.ReadPeriod(uint64(*p))
	}
}

// Put is the command that sets the project's budget, alerts and policy, if Version is newer than that of the last
// Put.
type Put struct {
	Version    uint64
	BudgetPico int64           // per period
	Period     calendar.Period // the current one; sets the cycle and its epoch
	Alerts     doc.Alerts
	Policy     []byte     // an encoded doc.Policy; empty: the project has no policy
	Paths      []doc.Path // of the project; empty: nothing has ever been above it
	Name       string     // of a group or the deployment with alerts; else empty
}

// Grant is the command that requests a slice of the period's budget for a meter. Period, Epoch and the amounts come
// from the meter's keymeter.AdmitReply. The reply is a GrantReply.
type Grant struct {
	Key       string // name of the meter
	Period    calendar.Period
	Epoch     uint64
	HeldPico  int64
	NeedPico  int64  // the amount needed beyond HeldPico; 0: nothing is needed, but the Ledger learns that the key is in use
	LeastPico int64  // the smallest amount that suffices if the budget has no more
	After     string // GrantReply.Next, set after the meters in that reply were recalled
	// WantPico is an amount beyond the need, which lets the meter lend from its slice. The Ledger grants it only
	// while the budget is not scarce. If it is 0, the meter gets no more than it needs.
	WantPico int64
	// SpentPico is what the meter has spent of its slice, which it may have yet to report. It makes GrantReply.Spent exact
	// for this meter. Only meters of keys with budgets above their projects set it.
	SpentPico int64
}

// Encode encodes the command.
func (c *Grant) Encode() []byte { return abi.EncodeFields(opGrant, 128, c.fields) }

func (c *Grant) fields(f *abi.Fields) { c.Fields(f) }

// Fields lists the fields of a grant, for states that contain one.
func (c *Grant) Fields(f *abi.Fields) {
	f.String(&c.Key)
	PeriodFields(f, &c.Period)
	f.Uint(&c.Epoch)
	f.Int(&c.HeldPico)
	f.Int(&c.NeedPico)
	f.Int(&c.LeastPico)
	f.String(&c.After)
	if f.Reading() && f.More() || c.WantPico != 0 || c.SpentPico != 0 { // written only if needed, because older objects do not know it
		f.Int(&c.WantPico)
		if f.Reading() && f.More() || c.SpentPico != 0 {
			f.Int(&c.SpentPico)
		}
		if c.WantPico < 0 || c.SpentPico < 0 || c.WantPico == 0 && c.SpentPico == 0 {
			f.Fail()
		}
	}
}

// GrantReply is the reply to Grant. If it is not Granted and Next is set, the caller takes back the unused slices of
// the meters in Recall (perhaps none) and repeats the Grant with After set to Next. If Next is empty, the budget has
// no more.
type GrantReply struct {
	Period    calendar.Period // later than requested if the period has ended
	Epoch     uint64
	TotalPico int64 // the meter's total grant in this epoch; may be less than it needs
	Granted   bool
	Final     bool     // if Granted: this is all that the budget has left
	Spent     bool     // if not Granted: after the reported spending, too little is left, even if other requests release their reservations
	Recall    []string // names of meters with unused slices
	HeldPico  []int64  // by index in Recall: the meter's total grant
	Next      string
	// BudgetPico and SpentPico are the budget of Period and the reported spending. They are valid only if Told is
	// set. Told means that the Grant was denied and that the object's version reports them. SpentPico includes that of the
	// Grant.
	Told       bool
	BudgetPico int64
	SpentPico  int64
}

// DecodeGrantReply decodes the reply to Grant.
func DecodeGrantReply(data []byte) (g GrantReply, err error) {
	err = abi.DecodeFields(data, g.fields)
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
	if g.Told = g.Told || f.Reading() && f.More(); g.Told { // written only if needed, because older isolates do not know it
		f.Int(&g.BudgetPico)
		if f.Int(&g.SpentPico); g.BudgetPico < 0 {
			f.Fail()
		}
	}
}

// Absorb is the command that reports one batch of a meter's usage. It has no reply. The batch is dropped if its Seq
// is not the next one.
type Absorb struct {
	Key        string // name of the meter
	KeyID      string
	Seq        uint64
	Period     calendar.Period // of HeldPico
	Epoch      uint64          // of the meter, which starts a new epoch when it returns budget; 0: from before epochs existed
	HeldPico   int64           // the meter's total grant
	Closed     bool            // the meter returned its unused slice and needs a grant before its next reservation or hit
	LastUsedMs uint64
	Usage      []Usage
	Recent     []Request // the newest requests since the last batch, oldest first
	Violations []ViolationGroup
	Crossings  []Crossing // thresholds of the key's own budget since the last batch
	Returned   []Returned // at most MaxReturned

	returnedPico int64 // Epoch 0: the part of the slice that the meter returns
}

// Encode encodes the command.
func (c *Absorb) Encode() []byte {
	op := uint64(opAbsorb)
	if len(c.Crossings)+len(c.Returned) > 0 {
		op = opExtended
	}
	return abi.EncodeFields(op, 256, func(f *abi.Fields) { c.fieldsOf(f, op) })
}

// MaxReturned limits the reports of slices in a batch. A key has fewer budgets of groups and of the deployment.
const MaxReturned = 8

// fieldsOf lists the fields of a batch in one of the layouts.
func (c *Absorb) fieldsOf(f *abi.Fields, op uint64) {
	if op == opExtended {
		abi.List(f, &c.Crossings, CrossingFields)
		abi.List(f, &c.Returned, returnedFields)
		if len(c.Crossings)+len(c.Returned) == 0 || len(c.Returned) > MaxReturned {
			f.Fail()
		}
		op = opAbsorb
	}
	f.String(&c.Key)
	if op != opFirstAbsorb {
		f.String(&c.KeyID)
	}
	f.Uint(&c.Seq)
	PeriodFields(f, &c.Period)
	if op == opAbsorb || op == opThirdAbsorb {
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
	if op == opAbsorb {
		abi.List(f, &c.Violations, ViolationGroupFields)
		Extras(f, len(c.Usage), func(i int) *Usage { return &c.Usage[i] })
	}
}

// isAbsorb reports whether an op code belongs to a batch.
func isAbsorb(op uint64) bool {
	return op == opAbsorb || op == opExtended || op == opFirstAbsorb || op == opSecondAbsorb || op == opThirdAbsorb
}

// DecodeAbsorb decodes a batch in any of the layouts.
func DecodeAbsorb(data []byte) (c Absorb, err error) {
	r := abi.Reader{Buf: data}
	op := r.Uint()
	if !isAbsorb(op) {
		return c, abi.ErrMalformed
	}
	c.fieldsOf(abi.ReadFrom(&r), op)
	return c, r.End()
}

// batch is the decoded form of Batch.
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

// KeyUse is the last use of a key.
type KeyUse struct {
	Key        string // the key's hash
	LastUsedMs uint64
}

// Keys is the command that requests the last use of keys, named by their hashes. DecodeKeyUses decodes the reply. It
// omits keys whose meters have never sent anything to this Ledger.
type Keys struct{ Names []string }

// Batch encodes a command that contains several encoded Absorb commands, those of each meter in order.
func Batch(absorbs [][]byte) []byte {
	var w abi.Writer
	w.Uint(opBatch)
	abi.List(abi.WriteTo(&w), &absorbs, (*abi.Fields).Bytes)
	return w.Buf
}

// Encode encodes the command.
func (c *Put) Encode() []byte { return abi.EncodeFields(opPut, 256, c.fields) }

func (c *Put) fields(f *abi.Fields) {
	f.Uint(&c.Version)
	f.Int(&c.BudgetPico)
	if !f.More() {
		return // an older layout, which outboxes may still contain
	}
	PeriodFields(f, &c.Period)
	alertsFields(f, &c.Alerts)
	f.Bytes(&c.Policy)
	if f.Reading() && f.More() || len(c.Paths) > 0 || c.Name != "" { // older objects do not know it
		doc.PathsField(f, &c.Paths)
		nameField(f, &c.Name)
	}
}

func alertsFields(f *abi.Fields, a *doc.Alerts) {
	f.String(&a.URL)
	f.Bytes(&a.Secret)
}

// Encode encodes the command.
func (c *Keys) Encode() []byte { return abi.EncodeFields(opKeys, 16+80*len(c.Names), c.fields) }

func (c *Keys) fields(f *abi.Fields) { abi.List(f, &c.Names, (*abi.Fields).String) }

// keyUses is the reply to Keys.
type keyUses struct{ uses []KeyUse }

func (k *keyUses) fields(f *abi.Fields) {
	abi.List(f, &k.uses, func(f *abi.Fields, u *KeyUse) {
		f.String(&u.Key)
		f.Uint(&u.LastUsedMs)
	})
}

// DecodeKeyUses decodes the reply to Keys.
func DecodeKeyUses(data []byte) ([]KeyUse, error) {
	var k keyUses
	err := abi.DecodeFields(data, k.fields)
	return k.uses, err
}

// policy is the decoded form of Policy.
type policy struct{}

func (policy) fields(*abi.Fields) {}

// Policy encodes the command that requests the project's policy. The reply is an encoded doc.Policy, or is empty if
// the project has none.
func Policy() []byte { return []byte{opPolicy} }

// Encode encodes the command.
func (q *Query) Encode() []byte { return abi.EncodeFields(opQuery, 64, q.fields) }

func (q *Query) fields(f *abi.Fields) {
	f.Uint(&q.FirstDay)
	f.Uint(&q.EndDay)
	abi.Enum(f, &q.By)
	f.String(&q.Key)
	f.String(&q.Model)
	f.String(&q.After)
}

// DecodeQueryReply decodes the reply to Query.
func DecodeQueryReply(data []byte) (p QueryReply, err error) {
	err = abi.DecodeFields(data, p.fields)
	return p, err
}

func (p *QueryReply) fields(f *abi.Fields) {
	abi.List(f, &p.Groups, func(f *abi.Fields, g *Group) {
		f.String(&g.KeyID)
		UsageFields(f, &g.Usage)
	})
	f.String(&p.Next)
	Extras(f, len(p.Groups), func(i int) *Usage { return &p.Groups[i].Usage })
}

// Encode encodes the command.
func (p *Prune) Encode() []byte { return abi.EncodeFields(opPrune, 16, p.fields) }

func (p *Prune) fields(f *abi.Fields) {
	f.Uint(&p.FirstDay)
	f.Uint(&p.FirstHourDay)
}

// DecodePruned decodes the reply to Prune: the number of rows deleted.
func DecodePruned(data []byte) (uint64, error) {
	r := abi.Reader{Buf: data}
	n := r.Uint()
	return n, r.End()
}
