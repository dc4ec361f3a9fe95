package keymeter

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
)

// Rows of the object:
//
//	h                  the meter
//	x/<request id>     an expired reservation, kept for a late settle
//	i/<hash>           an idempotency record
//	a/<hash>           its stored response
//	l/<lease>          a lease that was booked without a report, kept for a late one
//	t/<time>/<row key> the time at which to delete a row of the kinds x/, l/ and i/ (and its a/)
//	o/<number>         the outbox: batches for the project's Ledger
const (
	rowMeter   = "h"
	rowExpired = "x/"
	rowIdem    = "i/"
	rowAnswer  = "a/"
	rowLease   = "l/"
	rowForget  = "t/"
	endForget  = "t0"

	maxPending  = 32      // batches per flush
	maxForget   = 100     // rows deleted per alarm
	retentionMs = 86400e3 // of expired reservations, and of idempotency records once their outcome is known or lost
)

// command is a decoded command.
type command interface {
	message
	reads() []abi.Range // in addition to the meter
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
	case opReport:
		c = new(Report)
	case opRestart:
		c = new(Restart)
	case opIdentify:
		c = new(Identify)
	default:
		return nil, abi.ErrMalformed
	}
	c.fields(abi.ReadFrom(&r))
	return c, r.End()
}

// Reads returns the ranges of rows that a command needs. An empty command is the alarm.
func Reads(in *abi.ObjectInput) ([]abi.Range, error) {
	if len(in.Command) == 0 {
		return reads(nil), nil
	}
	c, err := decodeCommand(in.Command)
	if err != nil {
		return nil, err
	}
	return reads(c), nil
}

func reads(c command) []abi.Range {
	ranges := []abi.Range{{Start: rowMeter}}
	if c == nil {
		return append(ranges, abi.Range{Start: rowForget, End: endForget, Limit: maxForget})
	}
	return append(ranges, c.reads()...)
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

// limits returns the limits of the plan, or the key's own limits where they are lower. 0 means no limit.
func (c *call) limits() config.Limits {
	plan, key := c.config.Plan(c.m.record.Plan).For(c.m.record.Environment), c.m.record.Limits
	return config.Limits{
		PerSecond:       minNonZero(plan.PerSecond, key.PerSecond),
		PerDay:          minNonZero(plan.PerDay, key.PerDay),
		TokensPerMinute: minNonZero(plan.TokensPerMinute, key.TokensPerMinute),
	}
}

// scheduleForget schedules a row for deletion retentionMs after a given time, and returns the time of the deletion.
func (c *call) scheduleForget(key string, afterMs uint64) uint64 {
	at := afterMs + retentionMs
	c.put(forgetKey(at, key), []byte{1})
	c.m.nextForgetMs = minNonZero(c.m.nextForgetMs, at)
	return at
}

func forgetKey(at uint64, key string) string { return rowForget + abi.Fixed(at) + "/" + key }

// Apply applies a command, or the alarm if the command is empty. It fails if the command or the meter's row is
// malformed.
func Apply(cfg *config.Config, in *abi.ObjectInput) (abi.ObjectOutput, error) {
	c := call{config: cfg, in: in}
	if row, ok := c.row(rowMeter); ok {
		m, err := decodeMeter(row)
		if err != nil {
			return abi.ObjectOutput{}, err
		}
		c.m = m
	}
	var command command
	if len(in.Command) > 0 {
		var err error
		if command, err = decodeCommand(in.Command); err != nil {
			return abi.ObjectOutput{}, err
		}
	}
	c.apply(command)
	return c.out, nil
}

// apply applies a command, or the alarm.
func (c *call) apply(command command) {
	if c.m != nil {
		c.m.soften()
	}
	if command == nil {
		c.alarm()
	} else {
		command.apply(c)
	}
}

func (a *Admit) apply(c *call) {
	reply := c.admit(a)
	c.returnGranted(&reply)
	c.out.Reply = abi.EncodeFields(0, 128, reply.fields)
}

func (e *Extend) apply(c *call) {
	reply := c.extend(e)
	c.returnGranted(&reply)
	c.out.Reply = abi.EncodeFields(0, 32, reply.fields)
}

func (s *Settle) apply(c *call) { c.settle(s) }

func (f *Flush) apply(c *call) {
	reply := c.flush(f)
	c.out.Reply = abi.EncodeFields(0, 512, reply.fields)
}

// apply replaces the record and status with newer ones. Older ones may arrive late and are ignored.
func (p *Put) apply(c *call) {
	if c.m == nil {
		c.m = newMeter()
	}
	if p.Record.Version > c.m.record.Version {
		before := c.m.record.Chain
		c.m.status, c.m.record, c.m.recordRow = p.Status, p.Record, nil
		hardened := c.m.setPath(c.in.NowMs)
		if c.m.lower(c.in.NowMs, before); p.Status == doc.Removed {
			c.m.level().RecalledMs = c.in.NowMs // what its requests in progress do not need returns, too
		}
		if !c.returnRemoved() && hardened {
			c.reportNow()
		}
		c.store()
	}
	reply := PutReply{WaitMs: c.m.contradictedMs(c.in.NowMs)}
	c.out.Reply = reply.Encode()
}

// contradictedMs returns the time until all leases that began under an older record have ended.
func (m *meter) contradictedMs(now uint64) (ms uint64) {
	for i := range m.leases {
		if l := &m.leases[i]; l.version < m.record.Version && !l.ended {
			ms = max(ms, min(l.endMs-min(l.endMs, now), allowed(config.MaxLeaseMs))) // the clock may have gone back
		}
	}
	return ms
}

// alarm does the work that is due. Often nothing is, because the request whose reservation would have expired has settled.
// The alarm then writes no row.
func (c *call) alarm() {
	if c.m == nil {
		return
	}
	if c.work() {
		c.store()
	}
	c.out.AlarmMs, c.out.Deliver = c.m.alarmMs(), true
}

// work deletes old rows, expires reservations and reports usage. It returns false if nothing was due.
func (c *call) work() bool {
	m := c.m
	jumped, forgetMs, open := m.advance(c.in.NowMs, c.limits()), m.nextForgetMs, len(m.reservations)+len(m.leases)
	// forget runs first, because it recomputes nextForgetMs from the stored rows, and expire adds new ones.
	c.forget()
	c.expire(c.in.NowMs)
	c.bookLeases(c.in.NowMs)
	reports := m.flushMs != 0 && m.flushMs <= c.in.NowMs
	if reports {
		m.returnWithBatch()
	}
	returns := m.returnsDue(reports)
	if returns {
		c.returnAll(reports && !m.dollarsUsedUp())
	}
	if reports {
		c.report(m.nextBatch(c.in.Name, false))
	}
	return jumped || reports || returns || m.nextForgetMs != forgetMs || len(m.reservations)+len(m.leases) != open
}

// report adds a batch to the outbox.
func (c *call) report(batch []byte) {
	d := abi.Delivery{Class: abi.ClassLedger, Name: c.m.record.ProjectID, Region: c.m.record.Region, Data: batch}
	c.put(abi.OutboxKey(c.m.outSeq), d.Encode())
}

// forget deletes the rows that are due, and computes when the next one is due.
func (c *call) forget() {
	c.m.nextForgetMs = 0
	for _, row := range c.in.Rows {
		name, ok := strings.CutPrefix(row.Key, rowForget)
		if !ok {
			continue
		}
		at, key, _ := strings.Cut(name, "/")
		if due := abi.Unfixed(at); due > c.in.NowMs {
			c.m.nextForgetMs = minNonZero(c.m.nextForgetMs, due)
			continue
		}
		c.out.Deletes = append(c.out.Deletes, row.Key, key)
		if hash, ok := strings.CutPrefix(key, rowIdem); ok {
			c.out.Deletes = append(c.out.Deletes, rowAnswer+hash)
		}
		if c.m.nextForgetMs == 0 {
			// There may be more rows than maxForget, which limited the read.
			c.m.nextForgetMs = c.in.NowMs + violationDelayMs
		}
	}
}

// flush returns all batches that the Ledger might not have. They also stay in the outbox until they are delivered, in
// case the caller dies. The Ledger drops repeats.
func (c *call) flush(f *Flush) (reply FlushReply) {
	if c.m == nil {
		return reply
	}
	if f.Ledger != "" {
		return c.recallLevel(f)
	}
	reply.Absorbs = c.undelivered()
	c.m.advance(c.in.NowMs, c.limits())
	reply.Open = uint64(len(c.m.reservations) + len(c.m.leases))
	if f.Recall {
		if reply.LentMs = c.m.lentMs(); reply.LentMs > 0 {
			c.m.rest()
			c.store()
		}
	}
	if len(reply.Absorbs) >= maxPending {
		c.flushLater(f, &reply)
		return reply
	}
	newEpoch, closed, waitMs := c.returnUnused(f)
	reply.Frees = f.Recall && newEpoch && len(c.m.chain.Levels) > 1 && c.m.slice().Granted < f.HeldPico
	reply.LentMs = max(reply.LentMs, waitMs)
	reports := c.m.hasReport() || newEpoch
	c.flushReturns(reports)
	if !reports {
		return reply
	}
	// The caller delivers the batches. The meter delivers them only if many have accumulated.
	c.out.Deliver = len(reply.Absorbs) >= maxPending/2
	batch := c.m.nextBatch(c.in.Name, closed)
	reply.Absorbs = append(reply.Absorbs, batch)
	c.report(batch)
	c.store()
	c.out.AlarmMs = minNonZero(c.out.AlarmMs, c.in.NowMs+abi.RedeliverMs)
	return reply
}

// flushLater completes a reply that has no room for more batches and cannot return a slice. The caller asks again when
// the outbox has been delivered.
func (c *call) flushLater(f *Flush, reply *FlushReply) {
	reply.Open, c.out.Deliver = max(reply.Open, 1), true
	if f.Recall {
		reply.LentMs = max(reply.LentMs, reportMs)
	}
}

// undelivered returns the batches in the outbox, at most maxPending.
func (c *call) undelivered() (batches [][]byte) {
	for _, row := range c.in.Rows {
		if strings.HasPrefix(row.Key, abi.OutboxPrefix) {
			if d, err := abi.DecodeDelivery(row.Value); err == nil && abi.Unfixed(strings.TrimPrefix(row.Key, abi.OutboxPrefix)) < firstReturn {
				batches = append(batches, d.Data)
			}
		}
	}
	return batches
}

// idleMs is the time without a request after which a flush closes a key's slice. Later reports skip closed keys.
const idleMs = 60_000

// returnUnused returns the free part of the slice to the Ledger if the slice is recalled or the key is idle. It does
// so by starting a new epoch. The slices above the project of an idle key return, too.
func (c *call) returnUnused(f *Flush) (newEpoch, closed bool, waitMs uint64) {
	m := c.m
	closed = m.slice().Live && len(m.reservations)+len(m.leases) == 0 && m.lastUsedMs+idleMs <= c.in.NowMs
	if f.Recall {
		newEpoch, waitMs = m.chain.Recall(c.in.NowMs, m.chain.ProjectAt(), f.HeldPico)
	}
	if closed {
		if !newEpoch {
			m.level().Return()
		}
		m.slice().Live = false
		m.chain.ReturnAbove()
	}
	return newEpoch || closed, closed, waitMs
}

// debtDelayMs is the delay before the meter reports an overspent slice.
const debtDelayMs = 500

// balance reports the state of the slice to the Ledger when a request or lease that began at admittedMs ends. A debt
// is reported early, so that other keys do not spend the amount again. Requests admitted before the last
// unconditional recall were granted under a budget that may be lower now. The rest of their reservations is therefore
// returned.
func (m *meter) balance(admittedMs uint64) {
	switch s := m.slice(); {
	case s.Free() < 0 && m.hasReport() && !m.level().Soft:
		m.reportWithin(debtDelayMs)
	case s.Free() > 0 && admittedMs <= m.level().RecalledMs:
		m.level().Return()
	}
	for i := range m.chain.ProjectAt() {
		l := &m.chain.Levels[i]
		switch free := l.Slice.Free(); {
		case free < 0 && l.Unsent && !l.Soft:
			m.returnDirectly(debtDelayMs)
		case free > 0 && admittedMs <= l.RecalledMs:
			l.Return()
			m.returnDirectly(debtDelayMs)
		}
	}
}
