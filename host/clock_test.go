package host

import (
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keys"
)

var durationPattern = regexp.MustCompile(`"?(?:dur|durationMs|admitMs|upstreamMs)"?[=:]([0-9]+)`)

// TestClockJumps: if the clock jumps back or forward during a call to a provider or an object, the reported durations
// stay plausible. In particular, they do not underflow.
func TestClockJumps(t *testing.T) {
	for _, jump := range []int64{-3600_000, -1, 3600_000} {
		for _, env := range []keys.Environment{keys.Production, keys.Development} {
			w := newWorld(newNative(t))
			e := &durationRecorder{Engine: w.engine}
			w.engine = e
			jumpClock := func() { w.clock = fixedClock(int64(w.clock) + jump) }
			w.objects.Engine = &clockJumper{e.Engine, jumpClock}
			w.upstream = func(a abi.Action) abi.Event {
				jumpClock()
				return goodResponse(&a)
			}
			if status := w.exchange(completeRequest(env, helloBody)); status != 200 {
				t.Errorf("jump of %d ms: status %d, want 200", jump, status)
			}
			if len(e.durations) < 3 {
				t.Errorf("jump of %d ms: only the durations %v, want at least 3", jump, e.durations)
			}
			for _, ms := range e.durations {
				if n, err := strconv.ParseUint(ms, 10, 64); err != nil || n > 20*3600_000 {
					t.Errorf("jump of %d ms: duration of %s ms", jump, ms)
				}
			}
		}
	}
}

type clockJumper struct {
	Engine
	jumpClock func()
}

func (j *clockJumper) Apply(data []byte) ([]byte, error) {
	j.jumpClock()
	return j.Engine.Apply(data)
}

type durationRecorder struct {
	Engine
	durations []string
}

func (d *durationRecorder) Step(data []byte) ([]byte, error) {
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
		for _, match := range durationPattern.FindAllStringSubmatch(text, -1) {
			d.durations = append(d.durations, match[1])
		}
	}
	return message, err
}

// TestMachineClockIsSet: if somebody sets the machine's clock during a request, this does not change the request's
// time. The next request has the new time.
func TestMachineClockIsSet(t *testing.T) {
	const hour = 3600_000
	clock := fixedClock(5 * hour)
	var times []uint64
	e := &stub{step: func(in *abi.StepInput) abi.StepOutput {
		times = append(times, in.NowMs)
		switch in.Event.Kind {
		case abi.EventRequest:
			clock -= 2 * hour
			return abi.StepOutput{Actions: []abi.Action{{Kind: abi.ActionWait, ID: 1, KeepMs: 5}}}
		default:
			return abi.StepOutput{Actions: []abi.Action{respond(200, "")}}
		}
	}}
	h := newStubHost(t, e, func(o *Options) { o.Clock, o.MachineClock = &clock, true })
	for range 2 {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		h.Wait()
	}
	want := []uint64{5 * hour, 5*hour + 5, 3 * hour, 3*hour + 5}
	if len(times) != len(want) {
		t.Fatalf("times of %d steps, want %d", len(times), len(want))
	}
	for i, ms := range times {
		if ms < want[i] || ms > want[i]+hour {
			t.Errorf("step %d at %d, want %d", i, ms, want[i])
		}
	}
}
