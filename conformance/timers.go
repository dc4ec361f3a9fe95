package conformance

import (
	"errors"
	"sync/atomic"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/host"
)

// timedEngine is an engine that counts the timers that exchanges start.
type timedEngine struct {
	host.Engine
	timers *atomic.Int64
}

func (e timedEngine) Step(message []byte) ([]byte, error) {
	encoded, err := e.Engine.Step(message)
	if err != nil {
		return nil, err
	}
	out, err := abi.DecodeStepOutput(encoded)
	for i := range out.Actions {
		if out.Actions[i].Kind == abi.ActionWait {
			e.timers.Add(1)
		}
	}
	return encoded, err
}

// waiting runs "waiting N": it waits until exchanges have started N timers since the reset. Only the Go host counts them.
func (x *run) waiting(s Step) error {
	var failure error
	err := x.await(s, func() (have int, what string) {
		var answer []byte
		answer, failure = x.controlBody("GET", "stats", nil)
		return int(gjson.GetBytes(answer, "timers").Int()), "the exchanges started %d timers"
	})
	return errors.Join(err, failure)
}
