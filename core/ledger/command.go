// Package ledger is the object that owns a project's budget and usage. The object's name is the project's
// id. Usage comes to it from the keys' meters, in numbered batches.
package ledger

import "github.com/postern-ai/postern/core/abi"

// Commands start with one of these.
const (
	opPut    = 1
	opGrant  = 2
	opAbsorb = 3
	opReport = 4
	opKeys   = 5
	opBatch  = 6
)

// Put sets the budget, if Version is newer than the last.
type Put struct {
	Version    uint64
	BudgetPico int64 // a calendar month
}

// Grant asks for a slice of the month's budget. The same Seq gets the same answer.
type Grant struct {
	Key      string // the meter's name
	Month    uint64
	Seq      uint64
	NeedPico int64
}

// GrantReply answers Grant. A negative amount means that the budget has no more; Recall names the
// meters that hold unused slices.
type GrantReply struct {
	Month      uint64 // may be later than asked: the month has turned
	AmountPico int64
	Recall     []string
}

// Usage is what a meter counted for one day and model.
type Usage struct {
	Day        uint64
	Model      string
	Requests   uint64 // answered, cache hits included
	Hits       uint64
	Misses     uint64
	Failed     uint64 // admitted, but not answered
	Prompt     uint64
	Completion uint64
	CostPico   int64
	Estimated  uint64 // requests whose usage the provider did not report
	Expired    uint64 // requests that nobody settled: the reserved amount was booked
}

// Absorb is one batch of a meter's news. A Seq that was seen before is dropped.
type Absorb struct {
	Key          string
	Seq          uint64
	Month        uint64 // of ReturnedPico
	ReturnedPico int64  // part of the slice that the meter gives back
	Closed       bool   // the meter gave back all and will ask again before it admits
	GrantSeq     uint64 // the last grant that it had when it closed
	LastUsedMs   uint64
	Usage        []Usage
}

// Report asks for usage of days FirstDay to EndDay (exclusive). AsOfMs is when the question arrived: the
// answer is fresh if all meters were flushed since.
type Report struct {
	FirstDay, EndDay uint64
	AsOfMs           uint64
	Waited           bool // WaitMs has passed: flush now
	Final            bool // answer with what is there
}

// ReportReply answers Report: with Flush (meters to flush before asking again), or WaitMs (somebody else's
// flush is under way), or neither, and then with the figures.
type ReportReply struct {
	Flush      []string
	WaitMs     uint64
	BudgetPico int64
	UsedPico   int64   // in the current month
	Models     []Usage // Day is 0, summed by model, in order of the name
}

// KeyUse is when a key was last used.
type KeyUse struct {
	Key        string
	LastUsedMs uint64
}

// Keys asks for the last use of the keys after After, in order of their hash, at most Limit.
type Keys struct {
	After string
	Limit uint64
}

// Encode is the command.
func (c *Put) Encode() []byte {
	var w abi.Writer
	w.Uint(opPut)
	w.Uint(c.Version)
	w.Int(c.BudgetPico)
	return w.Buf
}

// Encode is the command.
func (c *Grant) Encode() []byte {
	var w abi.Writer
	w.Uint(opGrant)
	w.String(c.Key)
	w.Uint(c.Month)
	w.Uint(c.Seq)
	w.Int(c.NeedPico)
	return w.Buf
}

func decodeGrant(r *abi.Reader) Grant { return Grant{r.String(), r.Uint(), r.Uint(), r.Int()} }

func (g *GrantReply) encode() []byte {
	var w abi.Writer
	w.Uint(g.Month)
	w.Int(g.AmountPico)
	w.Uint(uint64(len(g.Recall)))
	for _, key := range g.Recall {
		w.String(key)
	}
	return w.Buf
}

// DecodeGrantReply reads the answer to Grant.
func DecodeGrantReply(data []byte) (GrantReply, error) {
	r := abi.Reader{Buf: data}
	g := GrantReply{Month: r.Uint(), AmountPico: r.Int()}
	for n := r.Count(); n > 0; n-- {
		g.Recall = append(g.Recall, r.String())
	}
	return g, r.End()
}

// EncodeUsage appends u, and DecodeUsage takes it off again: meters keep unreported usage in this form.
func EncodeUsage(w *abi.Writer, u *Usage) {
	w.Uint(u.Day)
	w.String(u.Model)
	w.Uint(u.Requests)
	w.Uint(u.Hits)
	w.Uint(u.Misses)
	w.Uint(u.Failed)
	w.Uint(u.Prompt)
	w.Uint(u.Completion)
	w.Int(u.CostPico)
	w.Uint(u.Estimated)
	w.Uint(u.Expired)
}

// DecodeUsage is EncodeUsage's other half.
func DecodeUsage(r *abi.Reader) Usage {
	return Usage{
		r.Uint(), r.String(), r.Uint(), r.Uint(), r.Uint(), r.Uint(), r.Uint(), r.Uint(), r.Int(), r.Uint(), r.Uint(),
	}
}

// Encode is the command.
func (c *Absorb) Encode() []byte {
	var w abi.Writer
	w.Uint(opAbsorb)
	w.String(c.Key)
	w.Uint(c.Seq)
	w.Uint(c.Month)
	w.Int(c.ReturnedPico)
	w.Bool(c.Closed)
	w.Uint(c.GrantSeq)
	w.Uint(c.LastUsedMs)

	w.Uint(uint64(len(c.Usage)))
	for i := range c.Usage {
		EncodeUsage(&w, &c.Usage[i])
	}
	return w.Buf
}

func decodeAbsorb(r *abi.Reader) Absorb {
	c := Absorb{r.String(), r.Uint(), r.Uint(), r.Int(), r.Bool(), r.Uint(), r.Uint(), nil}
	for n := r.Count(); n > 0; n-- {
		c.Usage = append(c.Usage, DecodeUsage(r))
	}
	return c
}

// Encode is the command.
func (c *Report) Encode() []byte {
	var w abi.Writer
	w.Uint(opReport)
	w.Uint(c.FirstDay)
	w.Uint(c.EndDay)
	w.Uint(c.AsOfMs)
	w.Bool(c.Waited)
	w.Bool(c.Final)
	return w.Buf
}

func decodeReport(r *abi.Reader) Report {
	return Report{r.Uint(), r.Uint(), r.Uint(), r.Bool(), r.Bool()}
}

func (p *ReportReply) encode() []byte {
	var w abi.Writer
	w.Uint(uint64(len(p.Flush)))
	for _, key := range p.Flush {
		w.String(key)
	}
	w.Uint(p.WaitMs)
	w.Int(p.BudgetPico)
	w.Int(p.UsedPico)
	w.Uint(uint64(len(p.Models)))
	for i := range p.Models {
		EncodeUsage(&w, &p.Models[i])
	}
	return w.Buf
}

// DecodeReportReply reads the answer to Report.
func DecodeReportReply(data []byte) (ReportReply, error) {
	r := abi.Reader{Buf: data}
	var p ReportReply
	for n := r.Count(); n > 0; n-- {
		p.Flush = append(p.Flush, r.String())
	}
	p.WaitMs, p.BudgetPico, p.UsedPico = r.Uint(), r.Int(), r.Int()
	for n := r.Count(); n > 0; n-- {
		p.Models = append(p.Models, DecodeUsage(&r))
	}
	return p, r.End()
}

// Encode is the command.
func (c *Keys) Encode() []byte {
	var w abi.Writer
	w.Uint(opKeys)
	w.String(c.After)
	w.Uint(c.Limit)
	return w.Buf
}

func encodeKeyUses(uses []KeyUse) []byte {
	var w abi.Writer
	w.Uint(uint64(len(uses)))
	for _, u := range uses {
		w.String(u.Key)
		w.Uint(u.LastUsedMs)
	}
	return w.Buf
}

// DecodeKeyUses reads the answer to Keys.
func DecodeKeyUses(data []byte) ([]KeyUse, error) {
	r := abi.Reader{Buf: data}
	var uses []KeyUse
	for n := r.Count(); n > 0; n-- {
		uses = append(uses, KeyUse{r.String(), r.Uint()})
	}
	return uses, r.End()
}

// Batch is a command that absorbs several batches of one meter, in order.
func Batch(absorbs [][]byte) []byte {
	var w abi.Writer
	w.Uint(opBatch)
	w.Uint(uint64(len(absorbs)))
	for _, a := range absorbs {
		w.Bytes(a)
	}
	return w.Buf
}
