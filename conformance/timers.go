package conformance

import (
	"errors"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/lease"
	objects "github.com/postern-ai/postern/core/object"
	"github.com/postern-ai/postern/host"
)

// While the clock is virtual, the keeper of a key's entry sleeps for reportMs, because settle waits for the keeper in
// real time.
const reportMs = 20

// timedEngine is an engine that counts the timers of exchanges and shortens the timers of keepers.
type timedEngine struct {
	host.Engine
	local *Local
}

func (e timedEngine) Step(message []byte) ([]byte, error) {
	encoded, err := e.Engine.Step(message)
	if err != nil {
		return nil, err
	}
	out, err := abi.DecodeStepOutput(encoded)
	if !e.shorten(out.Actions) {
		return encoded, err
	}
	var w abi.Writer
	out.Encode(&w)
	return w.Buf, err
}

// shorten counts and shortens the timers among the actions of a step. It reports whether it has shortened any.
func (e timedEngine) shorten(actions []abi.Action) (shortened bool) {
	for i := range actions {
		a := &actions[i]
		if a.Kind != abi.ActionWait {
			continue
		}
		if a.ID < exchange.FirstKeeping {
			e.local.timers.Add(1)
		}
		if a.ID >= exchange.FirstKeeping && a.KeepMs > reportMs && !e.local.wall.Load() && !e.local.naps.Load() {
			a.KeepMs, shortened = reportMs, true
		}
	}
	return shortened
}

// timedNative is a timedEngine that does not encode its inputs and outputs, as the native engine in production.
type timedNative struct {
	timedEngine
	native host.Decoded
}

func (e timedNative) Begin() host.Stepper { return timedStepper{e.native.Begin(), e.timedEngine} }
func (e timedNative) Run(rows objects.Rows, in abi.ObjectInput) (abi.ObjectOutput, error) {
	return e.native.Run(rows, in)
}

type timedStepper struct {
	host.Stepper
	engine timedEngine
}

func (s timedStepper) Step(in *abi.StepInput, entry *lease.Entry) (abi.StepOutput, *lease.Entry, error) {
	out, next, err := s.Stepper.Step(in, entry)
	s.engine.shorten(out.Actions)
	return out, next, err
}

// waiting runs "waiting N": it waits until exchanges have started N timers since the reset. Only the Go host counts them.
func (x *run) waiting(s Step) error {
	return x.awaitStat(s, "timers", "the exchanges started %d timers")
}

// followers runs "followers N": it waits until N exchanges follow another exchange's request.
func (x *run) followers(s Step) error {
	return x.awaitStat(s, "followers", "%d exchanges follow another")
}

func (x *run) awaitStat(s Step, name, what string) error {
	var failure error
	err := x.await(s.Args[0], func() (int, string) {
		var answer []byte
		answer, failure = x.controlBody("GET", "stats", nil)
		return int(gjson.GetBytes(answer, name).Int()), what
	})
	return errors.Join(err, failure)
}
