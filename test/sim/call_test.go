package sim_test

import "github.com/postern-ai/postern/core/abi"

// call sends a command to an object and injects faults into the call. The command or its reply is lost, on the first
// try or on both tries, or the command arrives twice. Hosts retry once.
func (x *exchange) call(a *abi.Action) {
	w := x.w
	o := &open{id: a.ID}
	if a.ID != 0 {
		o = x.outstanding(a.ID)
	}
	x.recordCall(a)
	target := w.object(a.Class, a.Name)
	back := func(reply []byte, code uint64) {
		if code != abi.OutcomeOK {
			x.history.failed = true
		}
		w.after(w.delay(x.random), func() {
			if a.ID != 0 {
				x.reply(o, abi.Event{Kind: abi.EventReply, ID: a.ID, Code: code, Data: reply}, true)
			}
		})
	}
	run := func(then func([]byte, bool)) {
		w.after(w.delay(x.random), func() { then(target.call(a.Data)) })
	}
	finish := func(reply []byte, ok bool) {
		if !ok {
			// The object has failed. The host retries once and then reports the failure.
			run(func(reply []byte, ok bool) {
				code := uint64(abi.OutcomeOK)
				if !ok {
					code = abi.OutcomeFailed
				}
				back(reply, code)
			})
			return
		}
		back(reply, abi.OutcomeOK)
	}
	f := w.plan.Faults
	draw := x.random.below(40)
	switch {
	case x.slowly(a, draw, run, finish):
	case f.Late && a.Class == abi.ClassKeyMeter && op(a.Data) == opSettle && draw >= 35:
		w.stats.Faults++
		w.logf("%s: its settle is delayed", x.id)
		x.history.faulty = true
		w.after(x.random.between(5, 30)*minuteMs, func() { run(finish) })
	case f.Late && a.Class == abi.ClassKeyMeter && op(a.Data) == opReport && draw >= 30:
		x.delayReport(draw, run, finish)
	case f.Overload && draw < 2:
		w.stats.Faults++
		w.logf("%s: the %s is overloaded", x.id, className(a.Class))
		back(nil, abi.OutcomeOverloaded)
	case f.Calls && draw < 6:
		w.stats.Faults++
		x.callFault(draw, a, target, back, run, finish)
	default:
		run(finish)
	}
}

// delayReport delays a report or its reply, by seconds or beyond the lease's grace period.
func (x *exchange) delayReport(draw uint64, run func(func([]byte, bool)), finish func([]byte, bool)) {
	w := x.w
	w.stats.Faults++
	late := x.random.between(2, 20) * secondMs
	if draw == 30 {
		late = x.random.between(5, 30) * minuteMs
	}
	w.logf("%s: its report is delayed by %d ms", x.id, late)
	x.history.faulty = true
	if draw >= 35 {
		run(func(reply []byte, ok bool) { w.after(late, func() { finish(reply, ok) }) })
		return
	}
	w.after(late, func() { run(finish) })
}

// callFault makes a call fail in one of five ways.
func (x *exchange) callFault(draw uint64, a *abi.Action, target *object, back func([]byte, uint64), run func(func([]byte, bool)), finish func([]byte, bool)) {
	w := x.w
	none := func([]byte, bool) {}
	x.history.faulty = true
	switch draw {
	case 0, 2: // the command is lost, but the retry arrives
		w.logf("%s: a call to the %s is lost and retried", x.id, className(a.Class))
		run(finish)
	case 1: // both are lost
		w.logf("%s: a call to the %s and its retry are lost", x.id, className(a.Class))
		back(nil, abi.OutcomeFailed)
	case 3: // the reply is lost, and the command runs again
		w.logf("%s: a reply from the %s is lost, the call is retried", x.id, className(a.Class))
		run(func([]byte, bool) { run(finish) })
	case 4: // both replies are lost
		w.logf("%s: both replies from the %s are lost", x.id, className(a.Class))
		run(func([]byte, bool) { run(func([]byte, bool) { back(nil, abi.OutcomeFailed) }) })
	case 5: // the command is delivered twice
		w.logf("%s: a call to the %s is delivered twice", x.id, className(a.Class))
		if w.plan.Faults.Late {
			run(none)
			run(finish)
			return
		}
		run(func([]byte, bool) { run(finish) })
	}
}
