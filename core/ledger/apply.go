package ledger

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/money"
)

// Rows of the object:
//
//	b                       the budget and the amounts granted and spent
//	p                       the project's policy: an encoded doc.Policy
//	al                      the alert endpoint and pending alerts
//	k/<meter>               a meter's slice, last batch and last use
//	u/<day>/<model>         usage by day and model
//	x/<day>/<key>/<model>   usage by day, key and model
//	y/<hour>                usage by hour, of older versions
//	h/<span>, d/<day>       activity of ten minutes or, later, of a day, by minute, model and key; see span.go
//	r/<number>              ring buffer: metadata of a batch of requests
//	e/<day>                 endings by day
//	f/<day>/<key>           endings by day and key
//	g/<hour>                endings by hour, of older versions
//	q/<number>              ring buffer: a chunk of records of requests that were not served
//	qs                      the numbers of the last tallies and of the newest chunk
//	up                      the paths, and the usage that is not yet in the outbox for the nodes above the project
//	sm                      the last summary sent to the deployment's Ledger
//	sp/…, sh/…, sd/…        of the deployment: summaries; see overview.go
//	sa/…, sb/…, sc          of the deployment: the summaries of all projects together; see together.go
//	vs, v/<id>, w/<age>     violations; see violations.go
//	o/<number>              the outbox: audit entries for the Directory
//	ch/…, cd                the chain of events: see chain.go
const (
	rowBudget   = "b"
	rowPolicy   = "p"
	rowAlerts   = "al"
	rowKeys     = "k/"
	endKeys     = "k0"
	rowModels   = "u/"
	rowDetails  = "x/"
	rowHours    = "y/"
	rowSpans    = "h/"
	rowSpanDays = "d/"
	rowRecent   = "r/"
	rowEnds     = "e/"
	rowKeyEnds  = "f/"
	rowHourEnds = "g/"
	rowRecords  = "q/"
	rowTallies  = "qs"
	rowUpward   = "up"
	rowSummary  = "sm"
	rowStatus   = "sp/"
	rowSumHours = "sh/"
	rowSumDays  = "sd/"
	format      = 1 // of rows not listed below

	budgetFormat      = 2 // of row "b"; format 1 lacked the number of the last batch of requests
	usageFormat       = 2 // of usage rows; format 1 lacked hours and latencies
	promptCacheFormat = 3 // of usage rows with prompt cache figures
	attemptsFormat    = 4 // of usage rows with failed attempts
	contributedFormat = 5 // of the usage rows of projects in the Ledger of a node above them

	meterFormat = 2 // of rows "k/"; format 1 had the last grant's number and reply in place of the epoch

	maxKeys         = 1000   // meters that one report, or one page of a recall, reads
	maxRecall       = 32     // meters in one GrantReply.Recall
	maxWave         = 256    // meters in one ReportReply.Flush
	maxUsage        = 8192   // usage rows of one report
	rolloverGraceMs = 3600e3 // time after the start of a period during which requests of the previous period may still be in flight
	waveMs          = 1000   // minimum interval between waves of flushes
)

// budget is row "b".
type budget struct {
	version   uint64          // of the last Put
	pico      int64           // the budget of one period
	period    calendar.Period // the largest seen
	committed int64           // sum of meter.committed in this period, plus this period's spending before a change of cycle
	spent     int64           // in this period
	waveMs    uint64          // start of the last wave of flushes
	recent    uint64          // number of the last batch of requests
}

// meter is a row "k/": the Ledger's view of one KeyMeter.
type meter struct {
	period     calendar.Period
	live       bool   // the meter has a grant, perhaps of 0, and may have unreported usage
	granted    int64  // in this period and epoch
	spent      int64  // in this period
	epoch      uint64 // the last one known
	absorbed   uint64 // number of the last batch
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

// Reads returns the ranges of rows that a command needs. An empty command is the alarm.
func Reads(in *abi.ObjectInput) ([]abi.Range, error) {
	ranges := []abi.Range{{Start: rowBudget}}
	if len(in.Command) == 0 {
		return append(append(append(ranges, alertReads...), summaryReads...), abi.Range{Start: rowUpward}), nil
	}
	c, err := decodeCommand(in.Command)
	if err != nil {
		return nil, err
	}
	return append(append(ranges, c.reads()...), spanReads(c, in.NowMs)...), nil
}

// alertReads are the rows that the delivery of alerts needs.
var alertReads = []abi.Range{{Start: rowAlerts}, {Start: rowViolations}}

func (*posted) reads() []abi.Range { return alertReads }

func (p *Put) reads() []abi.Range {
	if len(p.Paths) > 0 {
		return append([]abi.Range{{Start: rowUpward}}, alertReads...)
	}
	return alertReads
}

func (policy) reads() []abi.Range { return []abi.Range{{Start: rowPolicy}} }

func (*Recent) reads() []abi.Range { return nil }

func (c *Grant) reads() []abi.Range { return []abi.Range{{Start: rowKeys + c.Key}} }

func (c *Report) reads() []abi.Range {
	ranges := []abi.Range{
		{Start: rowKeys, End: endKeys, Limit: maxKeys},
		{Start: rowModels + abi.Fixed(c.FirstDay), End: rowModels + abi.Fixed(c.EndDay), Limit: maxUsage},
	}
	if c.Ends {
		ranges = append(ranges, abi.Range{Start: dayEndsKey(c.FirstDay), End: dayEndsKey(c.EndDay), Limit: maxEndRows})
	}
	return ranges
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
		if c.placed() {
			ranges = append(ranges, abi.Range{Start: rowUpward})
		}
		for i := range c.Usage {
			for _, key := range usageKeys(&c.Usage[i], c.KeyID) {
				ranges = append(ranges, abi.Range{Start: key})
			}
		}
	}
	return append(ranges, b.violationReads()...)
}

// call is one command being applied.
type call struct {
	in *abi.ObjectInput
	b  budget
	v  *violations // nil: not loaded
	up *upward     // nil: not loaded
	// togetherFrom is the first hour of the sums of all projects.
	togetherFrom uint64
	// changes are the changes to violations, for the chain of events.
	changes jsontext.Builder
	out     abi.ObjectOutput
}

// row returns the current value of a row, including writes of this call.
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

// delete deletes a row, including one written by this call.
func (c *call) delete(key string) {
	for i := range c.out.Puts {
		if c.out.Puts[i].Key == key {
			c.out.Puts = append(c.out.Puts[:i], c.out.Puts[i+1:]...)
			break
		}
	}
	c.out.Deletes = append(c.out.Deletes, key)
}

// Apply applies a command, or the alarm if the command is empty. It fails if the command or a row is malformed, or if
// a Grant is for a budget cycle that the Ledger does not know yet.
func Apply(in *abi.ObjectInput) (out abi.ObjectOutput, err error) {
	c := call{in: in}
	if row, ok := c.row(rowBudget); ok {
		if err = abi.DecodeFields(row, c.b.fields); err != nil {
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
	if err == nil {
		err = c.appendChanges()
	}
	return c.out, err
}

func (p *posted) apply(c *call) error { return c.posted(p.Posted) }

func (p *Put) apply(c *call) error { return c.applyPut(p) }

func (policy) apply(c *call) error {
	c.out.Reply, _ = c.row(rowPolicy)
	return nil
}

func (q *Query) apply(c *call) error { return c.query(q) }

func (p *Prune) apply(c *call) error { return c.prune(p) }

func (q *Recent) apply(c *call) error { return c.recent(q) }

func (g *Grant) apply(c *call) error { return c.grant(g) }

func (q *Report) apply(c *call) error { return c.report(q) }

func (*Keys) apply(c *call) error {
	var reply keyUses
	c.eachMeter(c.in.Rows, func(key string, m *meter) { reply.uses = append(reply.uses, KeyUse{key, m.lastUsedMs}) })
	c.out.Reply = abi.EncodeFields(0, 256, reply.fields)
	return nil
}

func (b *batch) apply(c *call) error {
	for i := range b.absorbs {
		if err := c.absorb(&b.absorbs[i]); err != nil {
			return err
		}
	}
	c.pruneViolations()
	c.dueSummary()
	c.sendFull()
	return c.checkAlerts()
}

// rollover starts a later period, with nothing granted or spent.
func (c *call) rollover(period calendar.Period) {
	if period > c.b.period {
		c.b.period, c.b.committed, c.b.spent = period, 0, 0
	}
}

func (c *call) eachMeter(rows []abi.Row, f func(key string, m *meter)) {
	for _, row := range rows {
		if key, ok := strings.CutPrefix(row.Key, rowKeys); ok {
			var m meter
			if abi.DecodeFields(row.Value, m.fields) == nil {
				f(key, &m)
			}
		}
	}
}

// absorb adds a batch if it follows the meter's last one. Repeats are dropped.
func (c *call) absorb(a *Absorb) error {
	for i := range a.Usage {
		c.rollover(c.b.period.At(a.Usage[i].Day))
	}
	m, err := c.meter(a.Key)
	if err != nil || a.Seq != m.absorbed+1 {
		return err
	}
	before := m.committed()
	m.absorbed = a.Seq
	m.lastUsedMs = max(m.lastUsedMs, a.LastUsedMs)
	m.applyReturn(a)
	for i := range a.Usage {
		if c.b.period.Contains(a.Usage[i].Day) {
			m.spent = money.Add(m.spent, a.Usage[i].CostPico)
			c.b.spent = money.Add(c.b.spent, a.Usage[i].CostPico)
		}
		if err := c.addUsage(a, &a.Usage[i]); err != nil {
			return err
		}
		if err := c.addUpward(&a.Usage[i]); err != nil {
			return err
		}
	}
	if err := c.addSlices(a.Returned); err != nil {
		return err
	}
	c.b.committed = money.Add(c.b.committed, m.committed()-before)
	c.addRecentBatch(a)
	if err := c.addViolations(a); err != nil {
		return err
	}
	if err := c.addCrossings(a); err != nil {
		return err
	}
	c.put(rowKeys+a.Key, abi.EncodeFields(0, 64, m.fields))
	c.put(rowBudget, abi.EncodeFields(0, 64, c.b.fields))
	return nil
}
