package ledger

import (
	"errors"

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

	maxKeys   = 1000 // meters that a recall or a report looks at
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
	period        calendar.Period
	live          bool
	granted       int64
	spent         int64
	grantSeq      uint64 // the last answered, with its answer
	grantPeriod   calendar.Period
	grantedAmount int64
	absorbed      uint64 // the last batch
	lastUsedMs    uint64
}

func (b *budget) encode() []byte {
	var w abi.Writer
	w.Uint(budgetFormat)
	w.Uint(b.version)
	w.Int(b.pico)
	w.Uint(uint64(b.period))
	w.Int(b.committed)
	w.Int(b.spent)
	w.Uint(b.waveMs)
	w.Uint(b.recent)
	return w.Buf
}

func (m *meter) encode() []byte {
	var w abi.Writer
	w.Uint(format)
	w.Uint(uint64(m.period))
	w.Bool(m.live)
	w.Int(m.granted)
	w.Int(m.spent)
	w.Uint(m.grantSeq)
	w.Uint(uint64(m.grantPeriod))
	w.Int(m.grantedAmount)
	w.Uint(m.absorbed)
	w.Uint(m.lastUsedMs)
	return w.Buf
}

func decodeBudget(data []byte) (budget, error) {
	r := abi.Reader{Buf: data}
	version := r.Uint()
	if version != format && version != budgetFormat {
		return budget{}, abi.ErrMalformed
	}
	b := budget{r.Uint(), r.Int(), calendar.ReadPeriod(r.Uint()), r.Int(), r.Int(), r.Uint(), 0}
	if version == budgetFormat {
		b.recent = r.Uint()
	}
	return b, r.End()
}

func decodeMeter(data []byte) (meter, error) {
	r := abi.Reader{Buf: data}
	if r.Uint() != format {
		return meter{}, abi.ErrMalformed
	}
	m := meter{
		calendar.ReadPeriod(r.Uint()), r.Bool(), r.Int(), r.Int(), r.Uint(), calendar.ReadPeriod(r.Uint()), r.Int(), r.Uint(), r.Uint(),
	}
	return m, r.End()
}

// Reads names the rows that a command needs.
func Reads(in *abi.ObjectInput) ([]abi.Range, error) {
	ranges := []abi.Range{{Start: rowBudget}}
	if len(in.Command) == 0 {
		return append(ranges, abi.Range{Start: rowAlerts}), nil
	}
	r := abi.Reader{Buf: in.Command}
	switch r.Uint() {
	case abi.OpPosted:
		_, err := abi.DecodePosted(in.Command)
		return append(ranges, abi.Range{Start: rowAlerts}), err
	case opPut:
		decodePut(&r)
		ranges = append(ranges, abi.Range{Start: rowAlerts})
	case opPolicy:
		ranges = append(ranges, abi.Range{Start: rowPolicy})
	case opQuery:
		q := decodeQuery(&r)
		ranges = append(ranges, q.reads()...)
	case opPrune:
		p := Prune{r.Uint(), r.Uint()}
		ranges = append(ranges, p.reads()...)
	case opRecent:
		r.Uint()
		r.Uint()
	case opGrant:
		ranges = append(ranges, abi.Range{Start: rowKeys + decodeGrant(&r).Key})
	case opAbsorb, opOldAbsorb:
		c, err := decodeBatched(in.Command)
		if err != nil {
			return nil, err
		}
		return append(append(ranges, abi.Range{Start: rowAlerts}), absorbRanges(&c)...), nil
	case opBatch:
		ranges = append(ranges, abi.Range{Start: rowAlerts})
		for n := r.Count(); n > 0; n-- {
			c, err := decodeBatched(r.Bytes())
			if err != nil {
				return nil, err
			}
			ranges = append(ranges, absorbRanges(&c)...)
		}
	case opReport:
		c := decodeReport(&r)
		ranges = append(ranges,
			abi.Range{Start: rowKeys, End: endKeys, Limit: maxKeys},
			abi.Range{Start: rowModels + abi.Fixed(c.FirstDay), End: rowModels + abi.Fixed(c.EndDay), Limit: maxUsage})
	case opKeys:
		for n := r.Count(); n > 0; n-- {
			ranges = append(ranges, abi.Range{Start: rowKeys + r.String()})
		}
	default:
		return nil, abi.ErrMalformed
	}
	return ranges, r.End()
}

func absorbRanges(c *Absorb) []abi.Range {
	ranges := []abi.Range{{Start: rowKeys + c.Key}}
	for i := range c.Usage {
		for _, key := range sumKeys(&c.Usage[i], c.KeyID) {
			ranges = append(ranges, abi.Range{Start: key})
		}
	}
	return ranges
}

func decodeBatched(command []byte) (Absorb, error) {
	r := abi.Reader{Buf: command}
	var c Absorb
	switch r.Uint() {
	case opAbsorb:
		c = decodeAbsorb(&r)
	case opOldAbsorb:
		c = decodeOldAbsorb(&r)
	default:
		return c, abi.ErrMalformed
	}
	return c, r.End()
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
		if c.b, err = decodeBudget(row); err != nil {
			return out, err
		}
	}
	if len(in.Command) == 0 {
		err = c.alarm()
		return c.out, err
	}
	r := abi.Reader{Buf: in.Command}
	switch r.Uint() {
	case abi.OpPosted:
		var p abi.Posted
		if p, err = abi.DecodePosted(in.Command); err == nil {
			err = c.posted(p)
		}
	case opPut:
		p := decodePut(&r)
		err = c.set(&p)
	case opPolicy:
		c.out.Reply, _ = c.row(rowPolicy)
	case opQuery:
		q := decodeQuery(&r)
		err = c.query(&q)
	case opPrune:
		c.prune()
	case opRecent:
		err = c.recent(&Recent{r.Uint(), r.Uint()})
	case opGrant:
		err = c.grant(decodeGrant(&r))
	case opAbsorb, opOldAbsorb:
		var a Absorb
		if a, err = decodeBatched(in.Command); err == nil {
			err = c.absorb(a)
		}
		if err == nil {
			err = c.watch()
		}
	case opBatch:
		for n := r.Count(); n > 0 && err == nil; n-- {
			var a Absorb
			if a, err = decodeBatched(r.Bytes()); err == nil {
				err = c.absorb(a)
			}
		}
		if err == nil {
			err = c.watch()
		}
	case opReport:
		err = c.report(decodeReport(&r))
	case opKeys:
		err = c.keys()
	}
	return c.out, err
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
	c.put(rowBudget, c.b.encode())
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

// errEarly is for a meter that knows of a new cycle before this object does: it asks again.
var errEarly = errors.New("ledger: the budget's cycle is not known yet")

// meter reads a meter's row as it stands in the budget's period.
func (c *call) meter(key string) (meter, error) {
	row, ok := c.row(rowKeys + key)
	if !ok {
		return meter{period: c.b.period}, nil
	}
	m, err := decodeMeter(row)
	if m.period < c.b.period {
		m.period, m.live, m.granted, m.spent = c.b.period, false, 0, 0
	}
	return m, err
}

func (m *meter) committed() int64 { return max(m.granted, m.spent) }

// grant gives a meter a slice: what it needs and, to save the next question, a little more. The sum of the
// slices and of what was spent stays within the budget.
func (c *call) grant(g Grant) error {
	if g.Period.Epoch() > c.b.period.Epoch() {
		return errEarly
	}
	c.turn(g.Period)
	m, err := c.meter(g.Key)
	if err != nil {
		return err
	}
	if g.Seq <= m.grantSeq {
		reply := GrantReply{Period: m.grantPeriod, AmountPico: m.grantedAmount}
		if g.Seq < m.grantSeq {
			reply.AmountPico = 0 // the meter has gone on: it would not take a slice for this question
		}
		c.out.Reply = reply.encode()
		return nil
	}
	free := max(0, c.b.pico-c.b.committed)
	if g.NeedPico > free {
		c.refuse(g)
		return nil
	}
	amount := min(free, max(g.NeedPico, min(c.b.pico/64, money.Cost(16, max(g.NeedPico, 1)))))
	if g.NeedPico == 0 {
		amount = 0
	}
	before := m.committed()
	m.live, m.granted = true, money.Add(m.granted, amount)
	m.grantSeq, m.grantPeriod, m.grantedAmount = g.Seq, c.b.period, amount
	c.b.committed += m.committed() - before
	c.put(rowKeys+g.Key, m.encode())
	c.put(rowBudget, c.b.encode())
	reply := GrantReply{Period: c.b.period, AmountPico: amount}
	c.out.Reply = reply.encode()
	return nil
}

// refuse answers with who holds unused slices. The question's number stays open: asked again after they
// were recalled, it may get another answer.
func (c *call) refuse(g Grant) {
	if c.in.Round == 0 {
		c.out.Ranges = []abi.Range{{Start: rowKeys, End: endKeys, Limit: maxKeys}}
		return
	}
	reply := GrantReply{Period: c.b.period, AmountPico: -1}
	c.eachMeter(func(key string, m meter) {
		if m.period == c.b.period && m.granted > m.spent && len(reply.Recall) < maxRecall && !contains(reply.Recall, key) {
			reply.Recall = append(reply.Recall, key)
		}
	})
	c.out.Reply = reply.encode()
}

func contains(list []string, text string) bool {
	for _, t := range list {
		if t == text {
			return true
		}
	}
	return false
}

func (c *call) eachMeter(f func(key string, m meter)) {
	for _, row := range c.in.Rows {
		if len(row.Key) > len(rowKeys) && row.Key[:len(rowKeys)] == rowKeys {
			if m, err := decodeMeter(row.Value); err == nil {
				f(row.Key[len(rowKeys):], m)
			}
		}
	}
}

// absorb books a batch, if it is the one that follows the last.
func (c *call) absorb(a Absorb) error {
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
	if a.Period == c.b.period {
		m.granted -= a.ReturnedPico
		// A grant that was given since holds: that the meter closed before it is old news.
		m.live = m.live && (!a.Closed || a.GrantSeq < m.grantSeq)
	}
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
	c.remember(&a)
	c.put(rowKeys+a.Key, m.encode())
	c.put(rowBudget, c.b.encode())
	return nil
}

// report answers with the figures, once all meters that may have news were flushed after the question came.
func (c *call) report(q Report) error {
	c.turn(c.b.period.At(calendar.Day(c.in.NowMs)))
	reply := ReportReply{BudgetPico: c.b.pico, UsedPico: c.b.spent, Period: c.b.period}
	var live []string
	c.eachMeter(func(key string, m meter) {
		if m.live && c.hasNews(&m) && len(live) < maxWave {
			live = append(live, key)
		}
	})
	switch {
	case q.Final || len(live) == 0 || c.b.waveMs > q.AsOfMs && c.b.waveMs <= c.in.NowMs && !q.Waited:
	case c.b.waveMs+waveMs > c.in.NowMs && c.b.waveMs <= c.in.NowMs && !q.Waited:
		reply.WaitMs = c.b.waveMs + waveMs - c.in.NowMs
		c.out.Reply = reply.encode()
		return nil
	default:
		c.b.waveMs = c.in.NowMs
		c.put(rowBudget, c.b.encode())
		reply.Flush = live
		c.out.Reply = reply.encode()
		return nil
	}
	models, err := c.models()
	reply.Models = models
	c.out.Reply = reply.encode()
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

// keys answers when the meters that were read were last used.
func (c *call) keys() error {
	var uses []KeyUse
	c.eachMeter(func(key string, m meter) { uses = append(uses, KeyUse{key, m.lastUsedMs}) })
	c.out.Reply = encodeKeyUses(uses)
	return nil
}
