package sim_test

import "github.com/postern-ai/postern/core/abi"

// call sends a command to an object. What may be lost is lost here: the command, the reply, either of them in the
// first try only, so that the host's one repetition helps. A repetition may come after the first try ran.
func (x *exchange) call(a *abi.Action) {
	w := x.w
	o := &open{id: a.ID}
	if a.ID != 0 {
		o = x.outstanding(a.ID)
	}
	x.calls(a)
	target := w.object(a.Class, a.Name)
	back := func(reply []byte, code uint64) {
		if code != abi.OutcomeOK {
			x.story.failed = true
		}
		w.after(w.delay(x.random), func() {
			if a.ID != 0 {
				x.answered(o, abi.Event{Kind: abi.EventReply, ID: a.ID, Code: code, Data: reply}, true)
			}
		})
	}
	run := func(then func([]byte, bool)) {
		w.after(w.delay(x.random), func() { then(target.call(a.Data)) })
	}
	finish := func(reply []byte, ok bool) {
		if !ok {
			// A command that the object refuses is unavailable to the host, which repeats it once.
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
	case f.Late && a.Class == abi.ClassKeyMeter && op(a.Data) == opSettle && draw >= 35:
		w.stats.Faults++
		w.say("%s: its settle is stuck", x.id)
		x.story.shaky = true
		w.after(x.random.between(5, 30)*minuteMs, func() { run(finish) })
	case f.Overload && draw < 2:
		w.stats.Faults++
		w.say("%s: %s is overloaded", x.id, className(a.Class))
		back(nil, abi.OutcomeOverloaded)
	case f.Calls && draw < 6:
		w.stats.Faults++
		x.callFault(draw, a, target, back, run, finish)
	default:
		run(finish)
	}
}

// callFault is a call that meets a fault.
func (x *exchange) callFault(draw uint64, a *abi.Action, target *object, back func([]byte, uint64), run func(func([]byte, bool)), finish func([]byte, bool)) {
	w := x.w
	none := func([]byte, bool) {}
	x.story.shaky = true
	switch draw {
	case 0, 2: // the command is lost, the repetition arrives
		w.say("%s: a call of %s is lost and repeated", x.id, className(a.Class))
		run(finish)
	case 1: // both are lost
		w.say("%s: a call of %s is lost twice", x.id, className(a.Class))
		back(nil, abi.OutcomeFailed)
	case 3: // the reply is lost, and the command runs again
		w.say("%s: a reply of %s is lost, its call repeated", x.id, className(a.Class))
		run(func([]byte, bool) { run(finish) })
	case 4: // both replies are lost
		w.say("%s: a reply of %s is lost", x.id, className(a.Class))
		run(func([]byte, bool) { run(func([]byte, bool) { back(nil, abi.OutcomeFailed) }) })
	case 5: // the command comes twice
		w.say("%s: a call of %s comes twice", x.id, className(a.Class))
		if w.plan.Faults.Late {
			run(none)
			run(finish)
			return
		}
		run(func([]byte, bool) { run(finish) })
	}
}
