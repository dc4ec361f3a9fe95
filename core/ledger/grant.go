package ledger

import (
	"errors"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/money"
)

// errUnknownCycle means that a key's record has a new budget cycle, but the Put that sets it has not arrived yet.
var errUnknownCycle = errors.New("ledger: the budget's new cycle has not arrived yet; try again")

// meter decodes a meter's row and moves it to the budget's period.
func (c *call) meter(key string) (m meter, err error) {
	if row, ok := c.row(rowKeys + key); ok {
		err = abi.DecodeFields(row, m.fields)
	}
	if m.period < c.b.period {
		m.period, m.live, m.granted, m.spent = c.b.period, false, 0, 0
	}
	return m, err
}

// committed returns the part of the budget that the meter was granted or has spent, whichever is larger.
func (m *meter) committed() int64 { return max(m.granted, m.spent) }

// adopt sets the slice that a meter reports in a new epoch. Grants of earlier epochs that are still in flight are void.
func (m *meter) adopt(epoch uint64, period calendar.Period, heldPico int64) {
	m.epoch = epoch
	switch {
	case period == m.period:
		m.granted = heldPico
	case period < m.period:
		m.granted = 0 // the meter received no grant of this period before the new epoch
	}
}

// applyReturn applies a batch's report of the meter's slice. Only a new epoch changes the slice, because in a known
// epoch the Ledger may have granted more since. The exception is an amount returned by a batch in an old layout
// (epoch 0).
func (m *meter) applyReturn(a *Absorb) {
	switch {
	case a.Epoch > m.epoch:
		m.adopt(a.Epoch, a.Period, a.HeldPico)
		m.live = m.live && !a.Closed
	case a.Epoch == 0 && m.epoch == 1 && a.Period == m.period:
		m.granted -= a.returnedPico
		m.live = m.live && !a.Closed
	}
}

// grant raises a meter's slice by the amount needed, plus some extra to save later Grants. The sum of the meters'
// committed amounts stays within the budget.
func (c *call) grant(g *Grant) error {
	if g.Period.Epoch() > c.b.period.Epoch() {
		return errUnknownCycle
	}
	c.rollover(g.Period)
	// The caller may have sent the Grant before midnight, but the new period's budget is available now.
	c.rollover(c.b.period.At(calendar.Day(c.in.NowMs)))
	m, err := c.meter(g.Key)
	if err != nil {
		return err
	}
	before := m
	c.syncEpoch(g, &m)
	reply := GrantReply{}
	raise, ok := c.raise(g, &m)
	switch {
	case ok:
		reply.Granted = true
	case c.insufficient(g, &m):
	case c.in.Round == 0:
		c.out.Ranges = []abi.Range{{Start: rowKeys + g.After + "\x00", End: endKeys, Limit: maxKeys}}
		return nil
	default:
		c.recall(g, &reply)
		if room := c.room(&m); reply.Next == "" && room >= g.LeastPico {
			reply.Granted, reply.Final, raise = true, true, min(room, g.NeedPico)
		}
	}
	if reply.Granted {
		c.applyRaise(&m, raise)
	} else {
		c.deny(g, &m, &reply)
	}
	if m != before {
		c.put(rowKeys+g.Key, abi.EncodeFields(0, 64, m.fields))
		c.put(rowBudget, abi.EncodeFields(0, 64, c.b.fields))
	}
	c.replyGrant(&reply, &m)
	return nil
}

// deny completes the reply to a Grant that is not granted. If there are no slices to recall, it adds the budget and
// the spending.
func (c *call) deny(g *Grant, m *meter, reply *GrantReply) {
	spent := c.b.spent
	if g.Period == m.period {
		spent = money.Add(spent, max(0, g.SpentPico-m.spent))
	}
	reply.Spent = c.b.pico-spent < g.LeastPico
	if reply.Next == "" {
		reply.Told, reply.BudgetPico, reply.SpentPico = true, c.b.pico, spent
	}
}

// replyGrant completes the reply with the meter's slice and sets it as the command's reply.
func (c *call) replyGrant(reply *GrantReply, m *meter) {
	reply.Period, reply.Epoch, reply.TotalPico = c.b.period, m.epoch, m.granted
	c.out.Reply = abi.EncodeFields(0, 64, reply.fields)
}

// syncEpoch moves the Ledger's row of a meter to the epoch of its Grant.
func (c *call) syncEpoch(g *Grant, m *meter) {
	if g.Epoch > m.epoch {
		before := m.committed()
		m.adopt(g.Epoch, g.Period, g.HeldPico)
		c.b.committed += m.committed() - before
	}
}

// applyRaise adds an amount to a meter's slice.
func (c *call) applyRaise(m *meter, pico int64) {
	before := m.committed()
	m.live, m.granted = true, money.Add(m.granted, pico)
	c.b.committed += m.committed() - before
}

// room returns the amount by which a meter's slice can be raised. It includes the meter's debt (spending beyond the
// slice), which is already committed.
func (c *call) room(m *meter) int64 {
	return money.Add(max(0, c.b.pico-c.b.committed), max(0, m.spent-m.granted))
}

// scarceDivisor defines when a budget is scarce: when less than 1/scarceDivisor of it is uncommitted. Meters of a
// project then get only what they need, because extra budget of one key would have to be recalled for another.
const scarceDivisor = 8

// scarceRaise returns the amount of a grant from a scarce budget. A group shares its budget among many more keys than a
// project. If every request of all these keys asked for it, the group's Ledger would be too busy. So its grants still
// have an extra, which shrinks with the room.
func (c *call) scarceRaise(g *Grant, room int64) int64 {
	if !doc.IsNode(c.in.Name) {
		return g.NeedPico
	}
	return max(g.NeedPico, min(room/64, money.Cost(16, g.NeedPico)))
}

// raise returns the amount by which a meter's slice is raised. ok is false if other slices must be recalled first.
// The amount is 0 for a Grant of an old epoch. It is also 0 if the room is too small and the Grant does not reflect
// an earlier grant. The reply with the earlier grant may be lost, so that grant is repeated before the meter is
// rejected.
func (c *call) raise(g *Grant, m *meter) (pico int64, ok bool) {
	room, inFlight := c.room(m), m.granted-g.held(m)
	switch {
	case g.Epoch < m.epoch, g.NeedPico <= 0 && (inFlight != 0 || room < c.b.pico/scarceDivisor):
		return 0, true
	case g.NeedPico <= 0:
		return min(room, c.b.pico/64, g.WantPico), true
	case g.NeedPico > room:
		return 0, inFlight > 0
	case inFlight != 0:
		return g.NeedPico, true // no extra: there may be many concurrent requests
	case room < c.b.pico/scarceDivisor:
		return c.scarceRaise(g, room), true
	}
	return min(room, max(g.NeedPico, min(c.b.pico/64, max(g.WantPico, money.Cost(16, g.NeedPico))))), true
}

// held returns the slice of the current period that the meter held when it sent the Grant.
func (g *Grant) held(m *meter) int64 {
	if g.Period != m.period {
		return 0
	}
	return g.HeldPico
}

// insufficient reports whether the unspent budget is too small even if every other meter returns its unused slice.
func (c *call) insufficient(g *Grant, m *meter) bool {
	return max(0, c.b.pico-c.b.spent-(m.granted-m.spent)) < g.LeastPico
}

// recall lists up to maxRecall meters of a page that hold more than they have spent. The row of the requesting meter
// was read before the page and may also be in it.
func (c *call) recall(g *Grant, reply *GrantReply) {
	page := c.in.Rows
	for _, read := range [...]string{rowBudget, rowKeys + g.Key} {
		if len(page) > 0 && page[0].Key == read {
			page = page[1:]
		}
	}
	last := ""
	c.eachMeter(page, func(key string, m *meter) {
		if len(reply.Recall) == maxRecall {
			return
		}
		last = key
		if m.period == c.b.period && m.granted > m.spent && key != g.Key {
			reply.Recall, reply.HeldPico = append(reply.Recall, key), append(reply.HeldPico, m.granted)
		}
	})
	if len(reply.Recall) > 0 || len(page) >= maxKeys {
		reply.Next = last
	}
}
