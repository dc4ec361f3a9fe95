// Package ledger is the object that owns a project's budget and usage. The object's name is the project's
// id. Usage comes to it from the keys' meters, in numbered batches.
package ledger

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
)

// Commands start with one of these.
const (
	opPut    = 1
	opGrant  = 2
	opReport = 4
	opKeys   = 5
	opBatch  = 6
	opPolicy = 7
	opQuery  = 8
	opPrune  = 9
	opRecent = 10
	opAbsorb = 11

	opOldAbsorb = 3 // without hours, latencies, the key's id and recent requests
)

// Put sets what the control plane says of the project, if Version is newer than the last.
type Put struct {
	Version    uint64
	BudgetPico int64           // a turn of the cycle
	Period     calendar.Period // the present one: its cycle and epoch count
	Alerts     doc.Alerts
	Policy     []byte // a doc.Policy, encoded; empty: the project has none
}

// Grant asks for a slice of the period's budget. The same Seq gets the same answer.
type Grant struct {
	Key      string // the meter's name
	Period   calendar.Period
	Seq      uint64
	NeedPico int64
}

// GrantReply answers Grant. A negative amount means that the budget has no more; Recall names the
// meters that hold unused slices.
type GrantReply struct {
	Period     calendar.Period // may be later than asked: the period has turned
	AmountPico int64
	Recall     []string
}

// Absorb is one batch of a meter's news. A Seq that was seen before is dropped.
type Absorb struct {
	Key          string // the meter's name
	KeyID        string
	Seq          uint64
	Period       calendar.Period // of ReturnedPico
	ReturnedPico int64           // part of the slice that the meter gives back
	Closed       bool            // the meter gave back all and will ask again before it admits
	GrantSeq     uint64          // the last grant that it had when it closed
	LastUsedMs   uint64
	Usage        []Usage
	Recent       []Request // the newest requests since the last batch, oldest first
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

// Encode is the command.
func (c *Put) Encode() []byte {
	var w abi.Writer
	w.Uint(opPut)
	w.Uint(c.Version)
	w.Int(c.BudgetPico)
	w.Uint(uint64(c.Period))
	w.String(c.Alerts.URL)
	w.Bytes(c.Alerts.Secret)
	w.Bytes(c.Policy)
	return w.Buf
}

func decodePut(r *abi.Reader) Put {
	p := Put{Version: r.Uint(), BudgetPico: r.Int()}
	if len(r.Buf) == 0 {
		return p // from before there was more: it may wait in an outbox
	}
	p.Period, p.Alerts, p.Policy = calendar.ReadPeriod(r.Uint()), doc.Alerts{URL: r.String(), Secret: r.Bytes()}, r.Bytes()
	return p
}

// Encode is the command.
func (c *Grant) Encode() []byte {
	var w abi.Writer
	w.Uint(opGrant)
	w.String(c.Key)
	w.Uint(uint64(c.Period))
	w.Uint(c.Seq)
	w.Int(c.NeedPico)
	return w.Buf
}

func decodeGrant(r *abi.Reader) Grant {
	return Grant{r.String(), calendar.ReadPeriod(r.Uint()), r.Uint(), r.Int()}
}

func (g *GrantReply) encode() []byte {
	var w abi.Writer
	w.Uint(uint64(g.Period))
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
	g := GrantReply{Period: calendar.ReadPeriod(r.Uint()), AmountPico: r.Int()}
	for n := r.Count(); n > 0; n-- {
		g.Recall = append(g.Recall, r.String())
	}
	return g, r.End()
}

// Encode is the command.
func (c *Absorb) Encode() []byte {
	var w abi.Writer
	w.Uint(opAbsorb)
	w.String(c.Key)
	w.String(c.KeyID)
	w.Uint(c.Seq)
	w.Uint(uint64(c.Period))
	w.Int(c.ReturnedPico)
	w.Bool(c.Closed)
	w.Uint(c.GrantSeq)
	w.Uint(c.LastUsedMs)

	w.Uint(uint64(len(c.Usage)))
	for i := range c.Usage {
		EncodeUsage(&w, &c.Usage[i])
	}
	EncodeRequests(&w, c.Recent)
	return w.Buf
}

func decodeAbsorb(r *abi.Reader) Absorb {
	c := Absorb{
		Key: r.String(), KeyID: r.String(), Seq: r.Uint(), Period: calendar.ReadPeriod(r.Uint()), ReturnedPico: r.Int(), Closed: r.Bool(),
		GrantSeq: r.Uint(), LastUsedMs: r.Uint(),
	}
	for n := r.Count(); n > 0; n-- {
		c.Usage = append(c.Usage, DecodeUsage(r))
	}
	c.Recent = DecodeRequests(r)
	return c
}

func decodeOldAbsorb(r *abi.Reader) Absorb {
	c := Absorb{
		Key: r.String(), Seq: r.Uint(), Period: calendar.ReadPeriod(r.Uint()), ReturnedPico: r.Int(), Closed: r.Bool(),
		GrantSeq: r.Uint(), LastUsedMs: r.Uint(),
	}
	for n := r.Count(); n > 0; n-- {
		c.Usage = append(c.Usage, DecodeOldUsage(r))
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
	w.Uint(uint64(p.Period))
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
	p.WaitMs, p.BudgetPico, p.UsedPico, p.Period = r.Uint(), r.Int(), r.Int(), calendar.ReadPeriod(r.Uint())
	for n := r.Count(); n > 0; n-- {
		p.Models = append(p.Models, DecodeUsage(&r))
	}
	return p, r.End()
}

// Encode is the command.
func (c *Keys) Encode() []byte {
	var w abi.Writer
	w.Uint(opKeys)
	w.Uint(uint64(len(c.Names)))
	for _, name := range c.Names {
		w.String(name)
	}
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

// Policy is the command that asks for the project's policy: the reply is a doc.Policy, encoded, or empty.
func Policy() []byte { return []byte{opPolicy} }

// Encode is the command.
func (q *Query) Encode() []byte {
	var w abi.Writer
	w.Uint(opQuery)
	w.Uint(q.FirstDay)
	w.Uint(q.EndDay)
	w.Uint(uint64(q.By))
	w.String(q.Key)
	w.String(q.Model)
	w.String(q.After)
	return w.Buf
}

func decodeQuery(r *abi.Reader) Query {
	return Query{r.Uint(), r.Uint(), Grouping(r.Byte()), r.String(), r.String(), r.String()}
}

func (p *QueryReply) encode() []byte {
	w := abi.Writer{Buf: make([]byte, 0, 64+64*len(p.Groups))}
	w.Uint(uint64(len(p.Groups)))
	for i := range p.Groups {
		w.String(p.Groups[i].KeyID)
		EncodeUsage(&w, &p.Groups[i].Usage)
	}
	w.String(p.Next)
	return w.Buf
}

// DecodeQueryReply reads the answer to Query.
func DecodeQueryReply(data []byte) (QueryReply, error) {
	r := abi.Reader{Buf: data}
	var p QueryReply
	for n := r.Count(); n > 0; n-- {
		p.Groups = append(p.Groups, Group{r.String(), DecodeUsage(&r)})
	}
	p.Next = r.String()
	return p, r.End()
}

// Encode is the command.
func (p *Prune) Encode() []byte {
	var w abi.Writer
	w.Uint(opPrune)
	w.Uint(p.FirstDay)
	w.Uint(p.FirstHourDay)
	return w.Buf
}

// DecodePruned reads the answer to Prune: how many rows were removed.
func DecodePruned(data []byte) (uint64, error) {
	r := abi.Reader{Buf: data}
	n := r.Uint()
	return n, r.End()
}
