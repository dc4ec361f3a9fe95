package ledger

import (
	"errors"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/money"
)

// errEarly is for a meter that knows of a new cycle before this object does: it asks again.
var errEarly = errors.New("ledger: the budget's cycle is not known yet")

// meter reads a meter's row as it stands in the budget's period.
func (c *call) meter(key string) (m meter, err error) {
	if row, ok := c.row(rowKeys + key); ok {
		err = decode(row, &m)
	}
	if m.period < c.b.period {
		m.period, m.live, m.granted, m.spent = c.b.period, false, 0, 0
	}
	return m, err
}

func (m *meter) committed() int64 { return max(m.granted, m.spent) }

// adopt takes over what a meter says it had in a later epoch than the last one known. What was given in an older
// epoch and is still on its way is void.
func (m *meter) adopt(epoch uint64, period calendar.Period, heldPico int64) {
	m.epoch = epoch
	switch {
	case period == m.period:
		m.granted = heldPico
	case period < m.period:
		m.granted = 0 // it has had nothing of this period before that epoch
	}
}

// giveBack takes what a batch says of the slice. A grant in the same epoch holds, whatever the batch says.
func (m *meter) giveBack(a *Absorb) {
	switch {
	case a.Epoch > m.epoch:
		m.adopt(a.Epoch, a.Period, a.HeldPico)
		m.live = m.live && !a.Closed
	case a.Epoch == 0 && m.epoch == 1 && a.Period == m.period:
		m.granted -= a.returnedPico
		m.live = m.live && !a.Closed
	}
}

// grant raises a meter's slice by what it needs and, to save the next question, a little more. The sum of the
// slices and of what was spent stays within the budget.
func (c *call) grant(g *Grant) error {
	if g.Period.Epoch() > c.b.period.Epoch() {
		return errEarly
	}
	c.turn(g.Period)
	// The question may have been asked before midnight, and what is missing then is there now.
	c.turn(c.b.period.At(calendar.Day(c.in.NowMs)))
	m, err := c.meter(g.Key)
	if err != nil {
		return err
	}
	before := m
	c.meet(g, &m)
	reply := GrantReply{}
	raise, ok := c.raise(g, &m)
	switch {
	case ok:
		reply.Granted = true
	case c.hopeless(g, &m):
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
		c.give(&m, raise)
	} else {
		reply.Spent = c.b.pico-c.b.spent < g.LeastPico
	}
	if m != before {
		c.put(rowKeys+g.Key, encode(0, &m, 64))
		c.put(rowBudget, encode(0, &c.b, 64))
	}
	c.answer(&reply, &m)
	return nil
}

// answer says, whatever came of the question, what the meter has now.
func (c *call) answer(reply *GrantReply, m *meter) {
	reply.Period, reply.Epoch, reply.TotalPico = c.b.period, m.epoch, m.granted
	c.out.Reply = encode(0, reply, 64)
}

// meet brings a meter's row to the epoch that it asks in.
func (c *call) meet(g *Grant, m *meter) {
	if g.Epoch > m.epoch {
		before := m.committed()
		m.adopt(g.Epoch, g.Period, g.HeldPico)
		c.b.committed += m.committed() - before
	}
}

func (c *call) give(m *meter, pico int64) {
	before := m.committed()
	m.live, m.granted = true, money.Add(m.granted, pico)
	c.b.committed += m.committed() - before
}

// room is how much more a meter can be given. A debt, which was spent beyond the slice, is committed already.
func (c *call) room(m *meter) int64 {
	return money.Add(max(0, c.b.pico-c.b.committed), max(0, m.spent-m.granted))
}

// scarce is the part of a budget below which nobody is given more than they need: what one key holds for its next
// request, another one would have to have recalled.
const scarce = 8

// raise says how much more a meter gets, if no others have to give back for it. Nothing is raised for a question
// that the meter has moved on from; nor, if there is not enough, while the meter was given more than it has: it may
// have been lost on its way, and is to be counted before anybody is refused.
func (c *call) raise(g *Grant, m *meter) (pico int64, ok bool) {
	room, underWay := c.room(m), m.granted-g.held(m)
	switch {
	case g.NeedPico <= 0 || g.Epoch < m.epoch:
		return 0, true
	case g.NeedPico > room:
		return 0, underWay > 0
	case underWay != 0, room < c.b.pico/scarce:
		return g.NeedPico, true // not more: many may be asking at once, or others need the rest
	}
	return min(room, max(g.NeedPico, min(c.b.pico/64, money.Cost(16, g.NeedPico)))), true
}

// held is what the meter had in the budget's period when it asked.
func (g *Grant) held(m *meter) int64 {
	if g.Period != m.period {
		return 0
	}
	return g.HeldPico
}

// hopeless says that so much was spent that nothing which is given back can help.
func (c *call) hopeless(g *Grant, m *meter) bool {
	return max(0, c.b.pico-c.b.spent-(m.granted-m.spent)) < g.LeastPico
}

// recall names meters that hold more than they have spent, from a page of them. (The asking one's own row was
// read before the page, and is perhaps in it once more.)
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
