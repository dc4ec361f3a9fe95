package ledger

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/money"
)

// Return is the command with which a meter reports its slice to a Ledger above its project. It contains the slice's
// state and not a change of it. If a Return is lost, the next one makes up for it. It has no reply.
type Return struct {
	Key       string // name of the meter
	Seq       uint64 // only grows; a Return that is not newer than the last one is dropped
	Period    calendar.Period
	Epoch     uint64
	HeldPico  int64 // the meter's total grant in the epoch
	SpentPico int64 // in the period
}

// Encode encodes the command.
func (c *Return) Encode() []byte { return abi.EncodeFields(opReturn, 96, c.fields) }

// Returns encodes a command that contains the encoded Returns of several meters.
func Returns(encoded [][]byte) []byte {
	var w abi.Writer
	w.Uint(opReturns)
	abi.List(abi.WriteTo(&w), &encoded, (*abi.Fields).Bytes)
	return w.Buf
}

// returns is the decoded form of Returns.
type returns struct{ list []Return }

func (r *returns) fields(f *abi.Fields) {
	abi.List(f, &r.list, func(f *abi.Fields, c *Return) {
		var encoded []byte
		f.Bytes(&encoded)
		in := abi.Reader{Buf: encoded}
		if in.Uint() != opReturn {
			f.Fail()
		}
		if c.fields(abi.ReadFrom(&in)); in.End() != nil {
			f.Fail()
		}
	})
}

func (r *returns) reads() []abi.Range {
	ranges := []abi.Range{{Start: rowAlerts}}
	for i := range r.list {
		ranges = append(ranges, abi.Range{Start: rowKeys + r.list[i].Key})
	}
	return ranges
}

func (r *returns) apply(to *call) (err error) {
	for i := range r.list {
		if err = r.list[i].take(to); err != nil {
			return err
		}
	}
	return to.checkAlerts()
}

func (c *Return) fields(f *abi.Fields) {
	f.String(&c.Key)
	f.Uint(&c.Seq)
	PeriodFields(f, &c.Period)
	f.Uint(&c.Epoch)
	f.Int(&c.HeldPico)
	f.Int(&c.SpentPico)
}

func (c *Return) reads() []abi.Range {
	return []abi.Range{{Start: rowAlerts}, {Start: rowKeys + c.Key}}
}

func (c *Return) apply(to *call) error {
	if err := c.take(to); err != nil {
		return err
	}
	return to.checkAlerts()
}

// take applies the report of a meter's slice.
func (c *Return) take(to *call) error {
	if c.Period.Epoch() > to.b.period.Epoch() {
		return errUnknownCycle
	}
	to.rollover(c.Period)
	m, err := to.meter(c.Key)
	if err != nil || c.Seq <= m.absorbed {
		return err
	}
	before := m.committed()
	m.absorbed = c.Seq
	if c.Epoch > m.epoch {
		m.adopt(c.Epoch, c.Period, c.HeldPico)
	}
	if c.Period == m.period {
		to.b.spent = money.Add(to.b.spent, c.SpentPico-m.spent)
		m.spent = c.SpentPico
	}
	to.b.committed += m.committed() - before
	to.put(rowKeys+c.Key, abi.EncodeFields(0, 64, m.fields))
	to.put(rowBudget, abi.EncodeFields(0, 64, to.b.fields))
	return nil
}

// Returned is a Return to the Ledger of a group or of the deployment. It travels with usage, in a batch to the project's
// Ledger and then in a Contribution.
type Returned struct {
	Ledger string // its name
	Return
}

func returnedFields(f *abi.Fields, r *Returned) {
	f.String(&r.Ledger)
	r.Return.fields(f)
}
