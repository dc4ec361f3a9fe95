package host

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keys"
)

var durations = regexp.MustCompile(`"?(?:dur|durationMs|admitMs|upstreamMs)"?[=:]([0-9]+)`)

// TestDurationsWhenTheClockJumps: a clock that an hour is taken from, or added to, while a provider or an
// object answers must not make nonsense of what a request is said to have taken.
func TestDurationsWhenTheClockJumps(t *testing.T) {
	for _, jump := range []int64{-3600_000, -1, 3600_000} {
		for _, env := range []keys.Environment{keys.Production, keys.Development} {
			w := newWorld(newNative(t))
			e := &durationsOf{Engine: w.engine}
			w.engine = e
			move := func() { w.clock = fixedClock(int64(w.clock) + jump) }
			w.objects.Engine = &jumping{e.Engine, move}
			w.upstream = func(a abi.Action) abi.Event {
				move()
				return goodResponse(&a)
			}
			if status := w.exchange(complete(env, say)); status != 200 {
				t.Errorf("jump of %d ms: answered %d", jump, status)
			}
			if len(e.seen) < 3 {
				t.Errorf("only the durations %v were seen", e.seen)
			}
			for _, ms := range e.seen {
				if n, err := strconv.ParseUint(ms, 10, 64); err != nil || n > 20*3600_000 {
					t.Errorf("jump of %d ms: a duration of %s ms", jump, ms)
				}
			}
		}
	}
}

// jumping moves the clock with each command on an object.
type jumping struct {
	Engine
	move func()
}

func (j *jumping) Apply(data []byte) ([]byte, error) {
	j.move()
	return j.Engine.Apply(data)
}

// durationsOf collects the durations that answers and log lines tell.
type durationsOf struct {
	Engine
	seen []string
}

func (d *durationsOf) Step(data []byte) ([]byte, error) {
	message, err := d.Engine.Step(data)
	if err != nil {
		return message, err
	}
	out, err := abi.DecodeStepOutput(message)
	for _, a := range out.Actions {
		text := string(a.Data)
		for _, h := range a.Headers {
			text += " " + h.Value
		}
		for _, match := range durations.FindAllStringSubmatch(text, -1) {
			d.seen = append(d.seen, match[1])
		}
	}
	return message, err
}
