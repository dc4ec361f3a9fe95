package ledger

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/money"
)

// Rows of the object:
//
//	b                   the budget and what of it is given out
//	k/<meter>           what one meter holds and when it was last heard of
//	u/<day>/<model>     usage
const (
	rowBudget = "b"
	rowKeys   = "k/"
	endKeys   = "k0"
	rowUsage  = "u/"
	format    = 1

	maxKeys   = 1000 // meters that a recall or a report looks at
	maxRecall = 32
	maxWave   = 256    // meters that one report has flushed
	maxUsage  = 8192   // rows of one report
	turnMs    = 3600e3 // for so long into a month, last month's requests may still be under way
	waveMs    = 1000   // waves of flushes are at least so far apart
)

// budget is the row "b".
type budget struct {
	version   uint64
	pico      int64
	month     uint64 // the largest seen
	committed int64  // the sum, over the meters, of what they were granted or spent this month, whichever is more
	spent     int64  // this month
	waveMs    uint64 // when the last wave of flushes began
}

// meter is a row "k/".
type meter struct {
	month         uint64
	live          bool
	granted       int64
	spent         int64
	grantSeq      uint64 // the last answered, with its answer
	grantMonth    uint64
	grantedAmount int64
	absorbed      uint64 // the last batch
	lastUsedMs    uint64
}

func (b *budget) encode() []byte {
	var w abi.Writer
	w.Uint(format)
	w.Uint(b.version)
	w.Int(b.pico)
	w.Uint(b.month)
	w.Int(b.committed)
	w.Int(b.spent)
	w.Uint(b.waveMs)
	return w.Buf
}

func (m *meter) encode() []byte {
	var w abi.Writer
	w.Uint(format)
	w.Uint(m.month)
	w.Bool(m.live)
	w.Int(m.granted)
	w.Int(m.spent)
	w.Uint(m.grantSeq)
	w.Uint(m.grantMonth)
	w.Int(m.grantedAmount)
	w.Uint(m.absorbed)
	w.Uint(m.lastUsedMs)
	return w.Buf
}

func decodeBudget(data []byte) (budget, error) {
	r := abi.Reader{Buf: data}
	if r.Uint() != format {
		return budget{}, abi.ErrMalformed
	}
	b := budget{r.Uint(), r.Int(), r.Uint(), r.Int(), r.Int(), r.Uint()}
	return b, r.End()
}

func decodeMeter(data []byte) (meter, error) {
	r := abi.Reader{Buf: data}
	if r.Uint() != format {
		return meter{}, abi.ErrMalformed
	}
	m := meter{r.Uint(), r.Bool(), r.Int(), r.Int(), r.Uint(), r.Uint(), r.Int(), r.Uint(), r.Uint()}
	return m, r.End()
}

func usageKey(day uint64, model string) string { return rowUsage + abi.Fixed(day) + "/" + model }

// Reads names the rows that a command needs.
func Reads(in *abi.ObjectInput) ([]abi.Range, error) {
	ranges := []abi.Range{{Start: rowBudget}}
	r := abi.Reader{Buf: in.Command}
	switch r.Uint() {
	case opPut:
		r.Uint()
		r.Int()
	case opGrant:
		ranges = append(ranges, abi.Range{Start: rowKeys + decodeGrant(&r).Key})
	case opAbsorb:
		c := decodeAbsorb(&r)
		ranges = append(ranges, absorbRanges(&c)...)
	case opBatch:
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
			abi.Range{Start: rowUsage + abi.Fixed(c.FirstDay), End: rowUsage + abi.Fixed(c.EndDay), Limit: maxUsage})
	case opKeys:
		after, limit := r.String(), r.Uint()
		ranges = append(ranges, abi.Range{Start: rowKeys + after + "\x20", End: endKeys, Limit: limit})
	default:
		return nil, abi.ErrMalformed
	}
	return ranges, r.End()
}

func absorbRanges(c *Absorb) []abi.Range {
	ranges := []abi.Range{{Start: rowKeys + c.Key}}
	for i := range c.Usage {
		ranges = append(ranges, abi.Range{Start: usageKey(c.Usage[i].Day, c.Usage[i].Model)})
	}
	return ranges
}

func decodeBatched(command []byte) (Absorb, error) {
	r := abi.Reader{Buf: command}
	if r.Uint() != opAbsorb {
		return Absorb{}, abi.ErrMalformed
	}
	c := decodeAbsorb(&r)
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
	r := abi.Reader{Buf: in.Command}
	switch r.Uint() {
	case opPut:
		c.setBudget(Put{r.Uint(), r.Int()})
	case opGrant:
		err = c.grant(decodeGrant(&r))
	case opAbsorb:
		err = c.absorb(decodeAbsorb(&r))
	case opBatch:
		for n := r.Count(); n > 0 && err == nil; n-- {
			var a Absorb
			if a, err = decodeBatched(r.Bytes()); err == nil {
				err = c.absorb(a)
			}
		}
	case opReport:
		err = c.report(decodeReport(&r))
	case opKeys:
		err = c.keys()
	}
	return c.out, err
}

func (c *call) setBudget(p Put) {
	if p.Version <= c.b.version {
		return
	}
	c.b.version, c.b.pico = p.Version, p.BudgetPico
	c.put(rowBudget, c.b.encode())
}

// turn begins a later month: nothing of its budget is given out yet.
func (c *call) turn(month uint64) {
	if month > c.b.month {
		c.b.month, c.b.committed, c.b.spent = month, 0, 0
	}
}

// meter reads a meter's row as it stands in the budget's month.
func (c *call) meter(key string) (meter, error) {
	row, ok := c.row(rowKeys + key)
	if !ok {
		return meter{month: c.b.month}, nil
	}
	m, err := decodeMeter(row)
	if m.month < c.b.month {
		m.month, m.live, m.granted, m.spent = c.b.month, false, 0, 0
	}
	return m, err
}

func (m *meter) committed() int64 { return max(m.granted, m.spent) }

// grant gives a meter a slice: what it needs and, to save the next question, a little more. The sum of the
// slices and of what was spent stays within the budget.
func (c *call) grant(g Grant) error {
	c.turn(g.Month)
	m, err := c.meter(g.Key)
	if err != nil {
		return err
	}
	if g.Seq <= m.grantSeq {
		reply := GrantReply{Month: m.grantMonth, AmountPico: m.grantedAmount}
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
	m.grantSeq, m.grantMonth, m.grantedAmount = g.Seq, c.b.month, amount
	c.b.committed += m.committed() - before
	c.put(rowKeys+g.Key, m.encode())
	c.put(rowBudget, c.b.encode())
	reply := GrantReply{Month: c.b.month, AmountPico: amount}
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
	reply := GrantReply{Month: c.b.month, AmountPico: -1}
	c.eachMeter(func(key string, m meter) {
		if m.month == c.b.month && m.granted > m.spent && len(reply.Recall) < maxRecall && !contains(reply.Recall, key) {
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
		c.turn(calendar.Month(a.Usage[i].Day))
	}
	m, err := c.meter(a.Key)
	if err != nil || a.Seq != m.absorbed+1 {
		return err
	}
	before := m.committed()
	m.absorbed = a.Seq
	m.lastUsedMs = max(m.lastUsedMs, a.LastUsedMs)
	if a.Month == c.b.month {
		m.granted -= a.ReturnedPico
		// A grant that was given since holds: that the meter closed before it is old news.
		m.live = m.live && (!a.Closed || a.GrantSeq < m.grantSeq)
	}
	for i := range a.Usage {
		if calendar.Month(a.Usage[i].Day) == c.b.month {
			m.spent = money.Add(m.spent, a.Usage[i].CostPico)
			c.b.spent = money.Add(c.b.spent, a.Usage[i].CostPico)
		}
		if err := c.add(&a.Usage[i]); err != nil {
			return err
		}
	}
	c.b.committed = money.Add(c.b.committed, m.committed()-before)
	c.put(rowKeys+a.Key, m.encode())
	c.put(rowBudget, c.b.encode())
	return nil
}

// add sums usage up in its row.
func (c *call) add(u *Usage) error {
	key := usageKey(u.Day, u.Model)
	total := Usage{Day: u.Day, Model: u.Model}
	if row, ok := c.row(key); ok {
		r := abi.Reader{Buf: row}
		if r.Uint() != format {
			return abi.ErrMalformed
		}
		total = DecodeUsage(&r)
		if err := r.End(); err != nil {
			return err
		}
	}
	total.plus(u)
	w := abi.Writer{}
	w.Uint(format)
	EncodeUsage(&w, &total)
	c.put(key, w.Buf)
	return nil
}

func (u *Usage) plus(o *Usage) {
	u.Requests += o.Requests
	u.Hits += o.Hits
	u.Misses += o.Misses
	u.Failed += o.Failed
	u.Prompt += o.Prompt
	u.Completion += o.Completion
	u.CostPico = money.Add(u.CostPico, o.CostPico)
	u.Estimated += o.Estimated
	u.Expired += o.Expired
}

// report answers with the figures, once all meters that may have news were flushed after the question came.
func (c *call) report(q Report) error {
	c.turn(calendar.Month(calendar.Day(c.in.NowMs)))
	reply := ReportReply{BudgetPico: c.b.pico, UsedPico: c.b.spent}
	var live []string
	c.eachMeter(func(key string, m meter) {
		if m.live && m.month >= c.newsSince() && len(live) < maxWave {
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

// newsSince is the first month whose slices may still bring usage that was not reported.
func (c *call) newsSince() uint64 {
	if c.in.NowMs < calendar.MonthStart(c.b.month)*calendar.DayMs+turnMs {
		return c.b.month - 1
	}
	return c.b.month
}

// models sums the usage rows that were read by model, in order of the name.
func (c *call) models() ([]Usage, error) {
	var models []Usage
	for _, row := range c.in.Rows {
		if len(row.Key) < len(rowUsage) || row.Key[:len(rowUsage)] != rowUsage {
			continue
		}
		r := abi.Reader{Buf: row.Value}
		r.Uint()
		u := DecodeUsage(&r)
		if err := r.End(); err != nil {
			return nil, err
		}
		models = insert(models, u)
	}
	return models, nil
}

func insert(models []Usage, u Usage) []Usage {
	at := 0
	for at < len(models) && models[at].Model < u.Model {
		at++
	}
	if at < len(models) && models[at].Model == u.Model {
		models[at].plus(&u)
		return models
	}
	u.Day = 0
	models = append(models, Usage{})
	copy(models[at+1:], models[at:])
	models[at] = u
	return models
}

// keys answers when the meters that were read were last used.
func (c *call) keys() error {
	var uses []KeyUse
	c.eachMeter(func(key string, m meter) { uses = append(uses, KeyUse{key, m.lastUsedMs}) })
	c.out.Reply = encodeKeyUses(uses)
	return nil
}
