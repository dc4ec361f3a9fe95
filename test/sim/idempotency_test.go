package sim_test

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
)

// idemID identifies an idempotency key of an API key.
type idemID struct {
	key  *key
	name string
}

// idempotent is the part of an exchange's past that the rules about idempotency keys use.
type idempotent struct {
	before    *exchange        // when this exchange arrived, the latest one that had been dispatched under the key
	freed     bool             // it has sent a settlement that frees the key
	sentAt    uint64           // time of its first fetch, on the meter's clock
	answer    bool             // its settlement arrived before its response was sent
	settled   keymeter.Outcome // of that settlement
	oversized bool             // its response is too long for a replay
}

func (x *exchange) idemID() idemID { return idemID{x.key, x.item.Idem} }

func (x *exchange) meterClock() uint64 { return x.w.object(abi.ClassKeyMeter, x.key.hash).clock() }

// noteSettle records whether a settlement frees the idempotency key, and whether its response is too long for a
// replay.
func (x *exchange) noteSettle(command []byte) {
	s := keymeter.Open(command).(*keymeter.Settle)
	x.history.idem.oversized = x.history.idem.oversized || s.Oversized
	x.history.idem.freed = x.history.idem.freed || s.Idempotency != "" && len(s.Answer) == 0 && !s.Oversized
}

// checkFirstFetch checks that at most one exchange is dispatched under an idempotency key. There are three
// exceptions: the previous exchange has failed, its record has expired, or the caller asks to run it again. It must
// not run again while the previous exchange may still be in progress, and not after the previous exchange was
// acknowledged.
func (x *exchange) checkFirstFetch() {
	w := x.w
	if x.item.Idem == "" || !x.request.completion || len(x.history.fetches) > 0 {
		return
	}
	before := w.dispatched[x.idemID()]
	w.dispatched[x.idemID()] = x
	x.history.idem.sentAt = x.meterClock()
	if before == nil || before.history.idem.freed || x.meterClock() >= before.history.idem.sentAt+dayMs {
		return
	}
	switch v := before.history.resv; {
	case !x.item.Rerun:
		w.fail("idempotency", "%s is sent to a provider although %s was, with the same idempotency key", x.id, before.id)
	case v != nil && !v.settled && !v.expired && v.expiresMs > x.meterClock(): // a clock that jumped may have gone back
		w.fail("idempotency", "%s is sent to a provider while %s is in progress", x.id, before.id)
	case before.acknowledged(x):
		w.fail("idempotency", "%s runs again although %s was acknowledged", x.id, before.id)
	}
	w.stats.Reruns++
}

// acknowledged reports whether the caller had a complete response before another request arrived. If a fault kept
// that response from being stored, it returns false.
func (x *exchange) acknowledged(by *exchange) bool {
	s := &x.history
	return s.status == 200 && (!x.streamed() || s.complete) && x.done && !x.disconnected && s.endedAt < by.history.arrivedAt &&
		!s.faulty && !s.failed
}

// checkConflict checks I11 for a 409. The previous exchange must not be acknowledged, unless its response is too long
// for a replay. An outcome may be unknown only if a request with the key was lost or a clock has jumped.
func (x *exchange) checkConflict() {
	before := x.history.idem.before
	if before != nil && before.acknowledged(x) && before == x.w.dispatched[x.idemID()] && !before.history.idem.oversized {
		x.w.fail("idempotency", "%s got %s although %s was acknowledged", x.id, x.history.code, before.id)
	}
	if x.history.code != "idempotency_outcome_unknown" {
		return
	}
	x.w.stats.Unknown++
	lost := slices.ContainsFunc(x.w.exchanges, func(o *exchange) bool {
		return o != x && o.idemID() == x.idemID() && (o.dead || o.history.faulty || o.history.failed)
	})
	x.justified(lost || x.key.jumped > 0, "no request with its idempotency key was lost")
}

// addRepeats repeats requests with idempotency keys up to 15 minutes later. By then, their reservations may have
// expired. Some of the repeats ask to run again. addRepeats uses its own seeds, so the rest of a plan does not
// change.
func (g *generator) addRepeats() {
	for _, it := range slices.Clone(g.p.Items) {
		r := fork(it.Seed, 4711)
		if it.Do != "ask" || it.Idem == "" || r.one(3) {
			continue
		}
		if !g.calm && r.one(2) {
			g.add(item{At: it.At + r.below(3000), Do: "kill", Isolate: it.Isolate})
		}
		for range r.between(1, 3) {
			again := it
			again.At += r.between(0, 15) * minuteMs
			again.Seed, again.Times, again.Rerun = r.next(), 0, r.one(2)
			if r.one(3) {
				again.Times, again.Every = 2, 0
			}
			g.add(again)
		}
	}
}

// idempotencyDefects are bugs that concern idempotency keys.
var idempotencyDefects = []injected{
	{"an expired idempotency key is forgotten", "idempotency", func() defect {
		return defect{before: func(o *object, command []byte) bool {
			if isMeter(o, command, opAdmit) {
				a := keymeter.Open(command).(*keymeter.Admit)
				if _, open, _ := meterState(o); a.Idempotency != "" && len(open) == 0 {
					o.remove("i/" + a.Idempotency)
				}
			}
			return false
		}}
	}},
	{"a response is acknowledged before it is stored", "idempotency", func() defect {
		return defect{before: func(o *object, command []byte) bool {
			if !isMeter(o, command, opSettle) {
				return false
			}
			s := keymeter.Open(command).(*keymeter.Settle)
			return len(s.Answer) > 0 && o.w.byID[s.RequestID].number%2 == 0
		}}
	}},
	{"every request runs again", "idempotency", func() defect {
		return defect{action: func(x *exchange, a *abi.Action) bool {
			if a.Kind != abi.ActionCall || a.Class != abi.ClassKeyMeter || op(a.Data) != opAdmit {
				return false
			}
			if c := keymeter.Open(a.Data).(*keymeter.Admit); c.Idempotency != "" {
				c.Rerun = true
				a.Data = c.Encode()
			}
			return false
		}}
	}},
}

func meterState(o *object) (leases []keymeter.LeaseState, open []string, err error) {
	row, ok := o.find("h")
	if !ok {
		return nil, nil, nil
	}
	return keymeter.StateOf(o.rows[row].Value)
}
