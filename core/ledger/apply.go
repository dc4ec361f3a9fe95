package ledger

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/money"
)

// Rows of the object:
//
//	b                       the budget and what of it is given out
//	p                       the project's policy, as exchanges want it
//	al                      alerts, told and to be told
//	k/<meter>               what one meter holds and when it was last heard of
//	u/<day>/<model>         usage, and by other sums:
//	x/<day>/<key>/<model>
//	y/<hour>
//	r/<number>              a batch of requests' metadata, in a ring
const (
	rowBudget  = "b"
	rowPolicy  = "p"
	rowAlerts  = "al"
	rowKeys    = "k/"
	endKeys    = "k0"
	rowModels  = "u/"
	rowDetails = "x/"
	rowHours   = "y/"
	rowRecent  = "r/"
	format     = 1

	budgetFormat = 2 // of "b": 1 had no number of batches
	usageFormat  = 2 // of sums: 1 had no hours and latencies
	meterFormat  = 2 // of "k/": 1 had the number of the last grant and its answer in place of the epoch

	maxKeys   = 1000 // meters that a page of a recall, or a report, looks at
	maxRecall = 32
	maxWave   = 256    // meters that one report has flushed
	maxUsage  = 8192   // rows of one report
	turnMs    = 3600e3 // for so long into a period, the last one's requests may still be under way
	waveMs    = 1000   // waves of flushes are at least so far apart
)

// budget is the row "b".
type budget struct {
	version   uint64
	pico      int64
	period    calendar.Period // the largest seen
	committed int64           // what meters were granted or spent in this period, whichever is more of each, and base
	spent     int64           // in this period
	waveMs    uint64          // when the last wave of flushes began
	recent    uint64          // number of the last batch of requests
}

// meter is a row "k/".
type meter struct {
	period     calendar.Period
	live       bool
	granted    int64 // in this epoch
	spent      int64
	epoch      uint64 // the meter's, as far as it is known
	absorbed   uint64 // the last batch
	lastUsedMs uint64
}

func (b *budget) fields(f *abi.Fields) {
	version := uint64(budgetFormat)
	if f.Uint(&version); version == 0 || version > budgetFormat {
		f.Fail()
	}
	f.Uint(&b.version)
	f.Int(&b.pico)
	PeriodFields(f, &b.period)
	f.Int(&b.committed)
	f.Int(&b.spent)
	f.Uint(&b.waveMs)
	if version > 1 {
		f.Uint(&b.recent)
	}
}

func (m *meter) fields(f *abi.Fields) {
	version := uint64(meterFormat)
	if f.Uint(&version); version == 0 || version > meterFormat {
		f.Fail()
	}
	PeriodFields(f, &m.period)
	f.Bool(&m.live)
	f.Int(&m.granted)
	f.Int(&m.spent)
	if version > 1 {
		f.Uint(&m.epoch)
	} else {
		var seq, period uint64
		var amount int64
		f.Uint(&seq)
		f.Uint(&period)
		f.Int(&amount)
		m.epoch = 1
	}
	f.Uint(&m.absorbed)
	f.Uint(&m.lastUsedMs)
}

// command is one that was decoded.
type command interface {
	message
	reads() []abi.Range // besides the budget
	apply(*call) error
}

func decodeCommand(data []byte) (command, error) {
	r := abi.Reader{Buf: data}
	op := r.Uint()
	switch op {
	case abi.OpPosted:
		p, err := abi.DecodePosted(data)
		return &posted{p}, err
	case opAbsorb, opFirstAbsorb, opSecondAbsorb:
		c, err := DecodeAbsorb(data)
		return &batch{[]Absorb{c}}, err
	}
	c := newCommand(op)
	if c == nil {
		return nil, abi.ErrMalformed
	}
	c.fields(abi.ReadFrom(&r))
	return c, r.End()
}

func newCommand(op uint64) command {
	switch op {
	case opPut:
		return new(Put)
	case opReport:
		return new(Report)
	case opKeys:
		return new(Keys)
	case opBatch:
		return new(batch)
	case opPolicy:
		return policy{}
	case opQuery:
		return new(Query)
	case opPrune:
		return new(Prune)
	case opRecent:
		return new(Recent)
	case opGrant:
		return new(Grant)
	}
	return nil
}

// Reads names the rows that a command needs.
func Reads(in *abi.ObjectInput) ([]abi.Range, error) {
	ranges := []abi.Range{{Start: rowBudget}}
	if len(in.Command) == 0 {
		return append(ranges, abi.Range{Start: rowAlerts}), nil
	}
	c, err := decodeCommand(in.Command)
	if err != nil {
		return nil, err
	}
	return append(ranges, c.reads()...), nil
}

func (*posted) reads() []abi.Range { return []abi.Range{{Start: rowAlerts}} }

func (*Put) reads() []abi.Range { return []abi.Range{{Start: rowAlerts}} }

func (policy) reads() []abi.Range { return []abi.Range{{Start: rowPolicy}} }

func (*Recent) reads() []abi.Range { return nil }

func (c *Grant) reads() []abi.Range { return []abi.Range{{Start: rowKeys + c.Key}} }

func (c *Report) reads() []abi.Range {
	return []abi.Range{
		{Start: rowKeys, End: endKeys, Limit: maxKeys},
		{Start: rowModels + abi.Fixed(c.FirstDay), End: rowModels + abi.Fixed(c.EndDay), Limit: maxUsage},
	}
}

func (c *Keys) reads() (ranges []abi.Range) {
	for _, name := range c.Names {
		ranges = append(ranges, abi.Range{Start: rowKeys + name})
	}
	return ranges
}

func (b *batch) reads() []abi.Range {
	ranges := []abi.Range{{Start: rowAlerts}}
	for i := range b.absorbs {
		c := &b.absorbs[i]
		ranges = append(ranges, abi.Range{Start: rowKeys + c.Key})
		for i := range c.Usage {
			for _, key := range sumKeys(&c.Usage[i], c.KeyID) {
				ranges = append(ranges, abi.Range{Start: key})
			}
		}
	}
	return ranges
}

// call is one command being applied.
type call struct {
	in  *abi.ObjectInput
	b   budget
	out abi.ObjectOutput
}

// row is a row as it stands now: what this call wrote comes before what was read.
func (c *call) row(key string) ([]byte, bool) {
	for _, row := range c.out.Puts {
		if row.Key == key {
			return row.Value, true
		}
	}
	for _, row := range c.in.Rows {
		if row.Key == key {
			return row.Value, true
		}
	}
	return nil, false
}

func (c *call) put(key string, value []byte) {
	for i := range c.out.Puts {
		if c.out.Puts[i].Key == key {
			c.out.Puts[i].Value = value
			return
		}
	}
	c.out.Puts = append(c.out.Puts, abi.Row{Key: key, Value: value})
}

// Apply runs a command on its rows.
func Apply(in *abi.ObjectInput) (out abi.ObjectOutput, err error) {
	c := call{in: in}
	if row, ok := c.row(rowBudget); ok {
		if err = decode(row, &c.b); err != nil {
			return out, err
		}
	}
	if len(in.Command) == 0 {
		err = c.alarm()
		return c.out, err
	}
	command, err := decodeCommand(in.Command)
	if err == nil {
		err = command.apply(&c)
	}
	return c.out, err
}

func (p *posted) apply(c *call) error { return c.posted(p.Posted) }

func (p *Put) apply(c *call) error { return c.set(p) }

func (policy) apply(c *call) error {
	c.out.Reply, _ = c.row(rowPolicy)
	return nil
}

func (q *Query) apply(c *call) error { return c.query(q) }

func (*Prune) apply(c *call) error {
	c.prune()
	return nil
}

func (q *Recent) apply(c *call) error { return c.recent(q) }

func (g *Grant) apply(c *call) error { return c.grant(g) }

func (q *Report) apply(c *call) error { return c.report(q) }

func (*Keys) apply(c *call) error {
	var reply keyUses
	c.eachMeter(c.in.Rows, func(key string, m *meter) { reply.uses = append(reply.uses, KeyUse{key, m.lastUsedMs}) })
	c.out.Reply = encode(0, &reply, 256)
	return nil
}

func (b *batch) apply(c *call) error {
	for i := range b.absorbs {
		if err := c.absorb(&b.absorbs[i]); err != nil {
			return err
		}
	}
	return c.watch()
}

// set takes what the control plane says, if it is news. If the budget's cycle is another one, what was spent
// in its present turn has to be summed up first.
func (c *call) set(p *Put) error {
	if p.Version <= c.b.version {
		return nil
	}
	if p.Period.Epoch() > c.b.period.Epoch() && c.b.period != 0 {
		first, end := p.Period.Bounds()
		if c.in.Round == 0 {
			c.out.Ranges = []abi.Range{{Start: rowModels + abi.Fixed(first), End: rowModels + abi.Fixed(end), Limit: maxUsage}}
			return nil
		}
		spent, err := c.spent()
		if err != nil {
			return err
		}
		c.b.period, c.b.spent, c.b.committed = p.Period, spent, spent
	}
	c.b.version, c.b.pico = p.Version, p.BudgetPico
	c.turn(p.Period)
	c.put(rowBudget, encode(0, &c.b, 64))
	c.put(rowPolicy, p.Policy)
	if err := c.setAlerts(p.Alerts); err != nil {
		return err
	}
	return c.watch()
}

// turn begins a later period: nothing of its budget is given out yet.
func (c *call) turn(period calendar.Period) {
	if period > c.b.period {
		c.b.period, c.b.committed, c.b.spent = period, 0, 0
	}
}

func (c *call) eachMeter(rows []abi.Row, f func(key string, m *meter)) {
	for _, row := range rows {
		if key, ok := strings.CutPrefix(row.Key, rowKeys); ok {
			var m meter
			if decode(row.Value, &m) == nil {
				f(key, &m)
			}
		}
	}
}

// absorb books a batch, if it is the one that follows the last.
func (c *call) absorb(a *Absorb) error {
	for i := range a.Usage {
		c.turn(c.b.period.At(a.Usage[i].Day))
	}
	m, err := c.meter(a.Key)
	if err != nil || a.Seq != m.absorbed+1 {
		return err
	}
	before := m.committed()
	m.absorbed = a.Seq
	m.lastUsedMs = max(m.lastUsedMs, a.LastUsedMs)
	m.giveBack(a)
	for i := range a.Usage {
		if c.b.period.Contains(a.Usage[i].Day) {
			m.spent = money.Add(m.spent, a.Usage[i].CostPico)
			c.b.spent = money.Add(c.b.spent, a.Usage[i].CostPico)
		}
		if err := c.add(&a.Usage[i], a.KeyID); err != nil {
			return err
		}
	}
	c.b.committed = money.Add(c.b.committed, m.committed()-before)
	c.remember(a)
	c.put(rowKeys+a.Key, encode(0, &m, 64))
	c.put(rowBudget, encode(0, &c.b, 64))
	return nil
}

// report answers with the figures, once who asks has flushed the meters that may have news.
func (c *call) report(q *Report) error {
	c.turn(c.b.period.At(calendar.Day(c.in.NowMs)))
	reply := ReportReply{BudgetPico: c.b.pico, UsedPico: c.b.spent, Period: c.b.period}
	var live []string
	c.eachMeter(c.in.Rows, func(key string, m *meter) {
		if m.live && c.hasNews(m) && len(live) < maxWave {
			live = append(live, key)
		}
	})
	switch {
	case q.Final || len(live) == 0:
	case c.b.waveMs+waveMs > c.in.NowMs && c.b.waveMs <= c.in.NowMs && !q.Waited:
		reply.WaitMs = c.b.waveMs + waveMs - c.in.NowMs
		c.out.Reply = encode(0, &reply, 512)
		return nil
	default:
		c.b.waveMs = c.in.NowMs
		c.put(rowBudget, encode(0, &c.b, 64))
		reply.Flush = live
		c.out.Reply = encode(0, &reply, 512)
		return nil
	}
	models, err := c.models()
	reply.Models = models
	c.out.Reply = encode(0, &reply, 512)
	return err
}

// hasNews says whether a meter may have usage that it has not reported: in this period, or, before a change of
// the budget's cycle, in one of the cycle before.
func (c *call) hasNews(m *meter) bool {
	return m.period >= c.newsSince() || m.period.Epoch() < c.b.period.Epoch()
}

// newsSince is the first period whose slices may still bring usage that was not reported.
func (c *call) newsSince() calendar.Period {
	first, _ := c.b.period.Bounds()
	if c.in.NowMs < first*calendar.DayMs+turnMs {
		return c.b.period.At(first - 1)
	}
	return c.b.period
}
