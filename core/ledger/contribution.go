package ledger

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/money"
)

// Contribution is the command with which a project's Ledger adds usage to a node above it. A node has the sum of all
// contributions by day and model and, in place of a key's usage, that of each project. It has no reply.
type Contribution struct {
	Project string
	Seq     uint64     // grows with each Contribution of a project; the node drops repeats
	Usage   []Usage    // by day and model, without hours
	Spent   []Spending // the costs of the project's pending usage
	Slices  []Return   // the slices of the project's keys

	node string // the receiver, in the project's Ledger
}

// Spending is the cost of usage of one day.
type Spending struct {
	Day uint64
	// Counted usage had a reservation of the node's budget, after Epoch changes of its cycle. The meters report it too.
	Counted  bool
	Epoch    uint64
	CostPico int64
}

// maxContribution limits the usage and the slices in a Contribution. Usage of a day and a model changes two rows, and a
// slice changes one.
const maxContribution = 128

// Encode encodes the command.
func (q *Contribution) Encode() []byte {
	return abi.EncodeFields(opContribution, 64+64*len(q.Usage), q.fields)
}

func (q *Contribution) fields(f *abi.Fields) {
	f.String(&q.Project)
	f.Uint(&q.Seq)
	abi.List(f, &q.Usage, UsageFields)
	abi.List(f, &q.Spent, func(f *abi.Fields, s *Spending) {
		f.Uint(&s.Day)
		f.Bool(&s.Counted)
		f.Uint(&s.Epoch)
		f.Int(&s.CostPico)
	})
	abi.List(f, &q.Slices, func(f *abi.Fields, r *Return) { r.fields(f) })
	Extras(f, len(q.Usage), func(i int) *Usage { return &q.Usage[i] })
	n, most := len(q.Usage)+len(q.Slices), max(len(q.Usage), len(q.Slices))
	if q.Seq == 0 || q.Project == "" || strings.Contains(q.Project, "/") || n == 0 || most > maxContribution {
		f.Fail()
	}
}

func (q *Contribution) reads() []abi.Range {
	ranges := []abi.Range{{Start: rowAlerts}}
	for i := range q.Slices {
		ranges = append(ranges, abi.Range{Start: rowKeys + q.Slices[i].Key})
	}
	for i := range q.Usage {
		for _, key := range usageKeys(&q.Usage[i], q.Project) {
			ranges = append(ranges, abi.Range{Start: key})
		}
	}
	return ranges
}

// apply adds the usage, unless it is a repeat, and takes the slices, which have numbers of their own.
func (q *Contribution) apply(c *call) error {
	repeat, err := q.isRepeat(c)
	if err != nil || repeat {
		return err
	}
	for i := range q.Slices {
		if err := q.Slices[i].take(c); err != nil {
			return err
		}
	}
	if err := q.addUsage(c); err != nil {
		return err
	}
	return c.checkAlerts()
}

// isRepeat reports whether the usage was added before. All of a Contribution is added in one commit, so one of its rows
// shows whether it was.
func (q *Contribution) isRepeat(c *call) (bool, error) {
	if len(q.Usage) == 0 {
		return false, nil
	}
	first := &q.Usage[0]
	var last usageRow
	if row, ok := c.row(detailKey(first.Day, q.Project, first.Model)); ok {
		if err := abi.DecodeFields(row, last.fields); err != nil {
			return false, err
		}
	}
	return q.Seq <= last.seq, nil
}

func (q *Contribution) addUsage(c *call) error {
	for i := range q.Usage {
		u := &q.Usage[i]
		if err := c.addToRow(modelKey(u.Day, u.Model), u, 0); err != nil {
			return err
		}
		if err := c.addToRow(detailKey(u.Day, q.Project, u.Model), u, q.Seq); err != nil {
			return err
		}
	}
	if c.addSpending(q.Spent) {
		c.put(rowBudget, abi.EncodeFields(0, 64, c.b.fields))
	}
	return nil
}

// addSpending adds the costs that no meter reports. It returns false if there are none.
func (c *call) addSpending(list []Spending) (added bool) {
	for i := range list {
		s := &list[i]
		if c.b.version == 0 { // the first Put adds up the rows
			break
		}
		if c.isReported(s) {
			continue
		}
		if c.rollover(c.b.period.At(s.Day)); !c.b.period.Contains(s.Day) {
			continue
		}
		c.b.spent = money.Add(c.b.spent, s.CostPico)
		c.b.committed = money.Add(c.b.committed, s.CostPico)
		added = true
	}
	return added
}

// isReported reports whether the meters report a cost, or have reported it. A budget whose cycle has changed since the
// reservation began with the usage that the node had by then, and the meters report nothing of the earlier cycle any
// more. A budget that never resets began with nothing.
func (c *call) isReported(s *Spending) bool {
	if s.Epoch < c.b.period.Epoch() {
		return !c.b.period.Resets()
	}
	return s.Counted
}
