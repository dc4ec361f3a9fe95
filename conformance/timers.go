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
	return x.awaitStat(s, "timers", "the exchanges started %d timers")
}

// followers runs "followers N": it waits until N exchanges follow the request of another.
func (x *run) followers(s Step) error {
	return x.awaitStat(s, "followers", "%d exchanges follow another")
}

func (x *run) awaitStat(s Step, name, what string) error {
	var failure error
	err := x.await(s, func() (int, string) {
		var answer []byte
		answer, failure = x.controlBody("GET", "stats", nil)
		return int(gjson.GetBytes(answer, name).Int()), what
	})
	return errors.Join(err, failure)
}
