package keymeter

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

// Rows of the object:
//
//	h                  the meter
//	x/<request id>     a reservation that expired, in case a settle comes late
//	i/<hash>           an idempotency record, and a/<hash> its answer
//	t/<time>/<row key> when a row of the kinds above is to be forgotten
//	o/<number>         the outbox: batches for the project's Ledger
const (
	rowMeter   = "h"
	rowExpired = "x/"
	rowIdem    = "i/"
	rowAnswer  = "a/"
	rowTimes   = "t/"
	endTimes   = "t0"

	maxPending = 32      // batches that one flush hands over
	maxForget  = 100     // rows that one alarm forgets
	rememberMs = 86400e3 // how long expired reservations and idempotency records are kept
)

// command is one that was decoded.
type command interface {
	message
	reads() []abi.Range // besides the meter
	apply(*call)
}

func decodeCommand(data []byte) (command, error) {
	r := abi.Reader{Buf: data}
	var c command
	switch r.Uint() {
	case opAdmit:
		c = new(Admit)
	case opSettle:
		c = new(Settle)
	case opExtend:
		c = new(Extend)
	case opPut:
		c = new(Put)
	case opFlush:
		c = new(Flush)
	default:
		return nil, abi.ErrMalformed
	}
	c.fields(abi.ReadFrom(&r))
	return c, r.End()
}

// Reads names the rows that a command needs.
func Reads(in *abi.ObjectInput) ([]abi.Range, error) {
	ranges := []abi.Range{{Start: rowMeter}}
	if len(in.Command) == 0 {
		return append(ranges, abi.Range{Start: rowTimes, End: endTimes, Limit: maxForget}), nil
	}
	c, err := decodeCommand(in.Command)
	if err != nil {
		return nil, err
	}
	return append(ranges, c.reads()...), nil
}

func (c *Admit) reads() []abi.Range {
	if c.Idempotency == "" {
		return nil
	}
	return []abi.Range{{Start: rowIdem + c.Idempotency}, {Start: rowAnswer + c.Idempotency}}
}

func (c *Settle) reads() []abi.Range {
	if c.Idempotency == "" {
		return nil
	}
	return []abi.Range{{Start: rowIdem + c.Idempotency}}
}

func (*Extend) reads() []abi.Range { return nil }

func (*Put) reads() []abi.Range { return nil }

func (*Flush) reads() []abi.Range {
	return []abi.Range{{Start: abi.OutboxPrefix, End: abi.OutboxEnd, Limit: maxPending}}
}

// call is one command being applied.
type call struct {
	config *config.Config
	in     *abi.ObjectInput
	m      *meter // nil: this key was never put
	out    abi.ObjectOutput
}

func (c *call) row(key string) ([]byte, bool) {
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

// store writes the meter back and sets the alarm for what is due next.
func (c *call) store() {
	c.put(rowMeter, c.m.encode())
	c.out.AlarmMs = c.m.alarmMs()
}

// limits are the plan's, or the key's own where those are narrower.
func (c *call) limits() config.Limits {
	limits, own := c.config.Plan(c.m.record.Plan).For(c.m.record.Environment), c.m.record.Limits
	return config.Limits{
		PerSecond:       smaller(limits.PerSecond, own.PerSecond),
		PerDay:          smaller(limits.PerDay, own.PerDay),
		TokensPerMinute: smaller(limits.TokensPerMinute, own.TokensPerMinute),
	}
}

// remember makes the alarm forget a row after a day; it gives the time.
func (c *call) remember(key string) uint64 {
	at := c.m.lastMs + rememberMs
	c.put(timesKey(at, key), []byte{1})
	c.m.cleanMs = smaller(c.m.cleanMs, at)
	return at
}

func timesKey(at uint64, key string) string { return rowTimes + abi.Fixed(at) + "/" + key }

// Apply runs a command on its rows.
func Apply(cfg *config.Config, in *abi.ObjectInput) (abi.ObjectOutput, error) {
	c := call{config: cfg, in: in}
	if row, ok := c.row(rowMeter); ok {
		m, err := decodeMeter(row)
		if err != nil {
			return abi.ObjectOutput{}, err
		}
		c.m = m
	}
	if len(in.Command) == 0 {
		c.alarm()
		return c.out, nil
	}
	command, err := decodeCommand(in.Command)
	if err == nil {
		command.apply(&c)
	}
	return c.out, err
}

func (a *Admit) apply(c *call) {
	reply := c.admit(a)
	c.out.Reply = encode(0, &reply, 128)
}

func (e *Extend) apply(c *call) {
	reply := c.extend(e)
	c.out.Reply = encode(0, &reply, 32)
}

func (s *Settle) apply(c *call) { c.settle(s) }

func (f *Flush) apply(c *call) {
	reply := c.flush(f)
	c.out.Reply = encode(0, &reply, 512)
}

// apply takes a newer record. An older one, delivered late, changes nothing.
func (p *Put) apply(c *call) {
	if c.m == nil {
		c.m = &meter{epoch: 1}
	}
	if p.Record.Version > c.m.record.Version {
		c.m.status, c.m.record = p.Status, p.Record
		c.store()
	}
}

// alarm expires reservations, reports usage and forgets old rows.
func (c *call) alarm() {
	if c.m == nil {
		return
	}
	c.m.advance(c.in.NowMs, c.limits())
	// First, because it works out anew when the next row is due, from the rows that were there.
	c.forget()
	c.expire()
	if c.m.flushMs != 0 && c.m.flushMs <= c.in.NowMs {
		c.report(c.m.cut(c.in.Name, false))
	}
	c.store()
	c.out.Deliver = true
}

// report puts a batch into the outbox.
func (c *call) report(batch []byte) {
	d := abi.Delivery{Class: abi.ClassLedger, Name: c.m.record.ProjectID, Region: c.m.record.Region, Data: batch}
	c.put(abi.OutboxKey(c.m.outSeq), d.Encode())
}

// forget deletes the rows whose time has come.
func (c *call) forget() {
	c.m.cleanMs = 0
	for _, row := range c.in.Rows {
		name, ok := strings.CutPrefix(row.Key, rowTimes)
		if !ok {
			continue
		}
		at, key, _ := strings.Cut(name, "/")
		if due := abi.Unfixed(at); due > c.in.NowMs {
			c.m.cleanMs = smaller(c.m.cleanMs, due)
			continue
		}
		c.out.Deletes = append(c.out.Deletes, row.Key, key)
		if hash, ok := strings.CutPrefix(key, rowIdem); ok {
			c.out.Deletes = append(c.out.Deletes, rowAnswer+hash)
		}
		if c.m.cleanMs == 0 {
			// There may be more rows than were read.
			c.m.cleanMs = c.in.NowMs + flushDelayMs
		}
	}
}

// flush hands over all batches that the Ledger may not have yet. They stay in the outbox until they are
// delivered from there too; the Ledger drops repeats.
func (c *call) flush(f *Flush) FlushReply {
	var reply FlushReply
	if c.m == nil {
		return reply
	}
	for _, row := range c.in.Rows {
		if strings.HasPrefix(row.Key, abi.OutboxPrefix) {
			if d, err := abi.DecodeDelivery(row.Value); err == nil {
				reply.Absorbs = append(reply.Absorbs, d.Data)
			}
		}
	}
	c.m.advance(c.in.NowMs, c.limits())
	reply.Open = uint64(len(c.m.reservations))
	began, closed := c.giveBack(f)
	if len(c.m.usage)+len(c.m.recent) == 0 && !began || len(reply.Absorbs) >= maxPending {
		return reply
	}
	batch := c.m.cut(c.in.Name, closed)
	reply.Absorbs = append(reply.Absorbs, batch)
	c.report(batch)
	c.store()
	c.out.AlarmMs = smaller(c.out.AlarmMs, c.in.NowMs+abi.RedeliverMs)
	return reply
}

// idleMs is after how long without a request a key's slice is closed, so that the reports that follow do
// not have to ask it.
const idleMs = 60_000

// giveBack frees what is neither spent nor reserved, if it is recalled or the key has been idle. A new epoch begins also
// where that is nothing but the Ledger has granted more: it counts grants that were lost until it hears of one.
func (c *call) giveBack(f *Flush) (began, closed bool) {
	s := &c.m.slice
	closed = s.live && len(c.m.reservations) == 0 && c.m.lastUsedMs+idleMs <= c.in.NowMs
	recall := f.Recall && (s.free() > 0 || f.HeldPico == 0 || s.granted != f.HeldPico)
	if !recall && !closed {
		return false, false
	}
	c.m.epoch++
	s.granted -= max(0, s.free())
	if closed {
		s.live = false
	}
	return true, closed
}
