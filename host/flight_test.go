package host

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

func newFlights(t *testing.T) (*flights, *memoryCache) {
	h := newStubHost(t, &stub{}, nil)
	return h.isolate.flights, h.isolate.memory
}

// TestFlightReaders checks that followers read everything in order while the leader publishes, no matter when they
// join.
func TestFlightReaders(t *testing.T) {
	f, memory := newFlights(t)
	_, leader := f.join(memory, "", "name")
	var all sync.WaitGroup
	read := func() {
		_, follower := f.join(memory, "", "name")
		all.Go(func() {
			var got []byte
			for {
				code, data := follower.next(context.Background())
				if code != abi.FlightMore {
					if code != abi.FlightLanded || string(data) != "entry" {
						t.Errorf("the flight ends with %d %q", code, data)
					}
					break
				}
				got = append(got, data...)
			}
			if want := "head" + string(bytes.Repeat([]byte("x"), 200)); string(got) != want {
				t.Errorf("read %q, want %q", got, want)
			}
			follower.leave(0, nil)
		})
	}
	read()
	leader.publish(&abi.Action{Buffer: 6, Limit: 1000}, []byte("head"), nil)
	var body []byte
	for i := range 200 {
		if i%20 == 0 {
			read()
		}
		body = append(body, 'x')
		leader.grow(6, body)
	}
	if n := leader.waiting(); n != 11 {
		t.Errorf("%d exchanges follow, want 11", n)
	}
	leader.leave(abi.FlightLanded, []byte("entry"))
	all.Wait()
	if n := leader.waiting(); n != 0 {
		t.Errorf("%d exchanges follow after the end, want none", n)
	}
}

// TestFlightJoin checks that memory is looked up first, and that a landed or full flight gets no new followers.
func TestFlightJoin(t *testing.T) {
	f, memory := newFlights(t)
	_, first := f.join(memory, "key", "name")
	if _, follower := f.join(memory, "key", "name"); !first.leads || follower.leads {
		t.Fatal("want one leader and one follower")
	}
	memory.write("key", []byte("value"), 1000)
	if value, s := f.join(memory, "key", "name"); string(value) != "value" || s != nil {
		t.Errorf("a value in memory: got %q and a part in the flight: %t", value, s != nil)
	}
	first.publish(&abi.Action{Buffer: 6, Limit: 3}, nil, []byte("four"))
	_, second := f.join(memory, "", "name")
	if !second.leads {
		t.Error("an exchange joins a flight whose buffer is full")
	}
	first.leave(abi.FlightLanded, nil) // another flight has taken its name
	if _, third := f.join(memory, "", "name"); third.leads {
		t.Error("the landing of a replaced flight removes its successor")
	}
	second.leave(abi.FlightLanded, nil)
	if _, last := f.join(memory, "", "name"); !last.leads {
		t.Error("an exchange joins a flight that has landed")
	}
}

// TestLeaderWithoutSharedStores: an exchange that takes the lead learns if the host has none of the stores in which it
// would look next.
func TestLeaderWithoutSharedStores(t *testing.T) {
	for where, want := range map[uint64]uint64{
		0: abi.OutcomeUnsupported, abi.WhereColo: abi.OutcomeUnsupported, abi.WhereKV: abi.OutcomeAbsent, abi.WhereColo | abi.WhereKV: abi.OutcomeAbsent,
	} {
		h := newStubHost(t, &stub{step: func(in *abi.StepInput) abi.StepOutput {
			if in.Event.Kind == abi.EventRequest {
				return actions(abi.Action{Kind: abi.ActionJoin, ID: 1, Name: "name", Where: where})
			}
			return actions(respond(200, fmt.Sprint(in.Event.Code)))
		}}, nil)
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, httptest.NewRequest("GET", "/", nil))
		h.Wait()
		if answer.Body.String() != fmt.Sprint(want) {
			t.Errorf("stores %d: outcome %s, want %d", where, answer.Body, want)
		}
	}
}

// TestFlightOfFailedLeader: a flight ends with its leader's exchange, even if the core fails.
func TestFlightOfFailedLeader(t *testing.T) {
	joined := make(chan struct{})
	h := newStubHost(t, &stub{step: func(in *abi.StepInput) abi.StepOutput {
		e := &in.Event
		switch {
		case e.Kind == abi.EventRequest:
			return actions(abi.Action{Kind: abi.ActionJoin, ID: 1, Name: "name", Where: abi.WhereKV})
		case e.Kind == abi.EventStored && e.Code == abi.OutcomeAbsent:
			return actions(abi.Action{Kind: abi.ActionCall, ID: 2})
		case e.Kind == abi.EventStored && e.Code == abi.OutcomeJoined:
			close(joined)
			return actions(abi.Action{Kind: abi.ActionFollow, ID: 3})
		case e.Kind == abi.EventFlight:
			return actions(respond(200, fmt.Sprint("flight ", e.Code)))
		}
		panic("the leader's step fails")
	}}, func(o *Options) {
		o.Objects = objectsFunc(func(string) ([]byte, error) {
			<-joined
			return nil, nil
		})
	})
	var answers [2]*httptest.ResponseRecorder
	var all sync.WaitGroup
	for i := range answers {
		answers[i] = httptest.NewRecorder()
		all.Go(func() { h.ServeHTTP(answers[i], httptest.NewRequest("GET", "/", nil)) })
	}
	all.Wait()
	h.Wait()
	got := []string{answers[0].Body.String(), answers[1].Body.String()}
	if !slices.Contains(got, fmt.Sprint("flight ", abi.FlightFailed)) || answers[0].Code+answers[1].Code != 700 {
		t.Errorf("got %q, want an error and the news of it", got)
	}
}

func actions(all ...abi.Action) abi.StepOutput { return abi.StepOutput{Actions: all} }

type slowKV struct{ store.KV }

func (slowKV) Read(ctx context.Context, _ string) ([]byte, bool, error) {
	<-ctx.Done()
	return nil, false, ctx.Err()
}

// TestSlowKV: a lookup that exceeds its time limit counts as a miss, not as a failure.
func TestSlowKV(t *testing.T) {
	var log bytes.Buffer
	h := newStubHost(t, &stub{step: func(in *abi.StepInput) abi.StepOutput {
		if in.Event.Kind == abi.EventStored {
			return actions(respond(200, fmt.Sprint(in.Event.Code)))
		}
		return actions(abi.Action{Kind: abi.ActionRead, ID: 1, Key: "key", Where: abi.WhereKV | abi.WhereColo, Limit: 1})
	}}, func(o *Options) { o.KV, o.Log = slowKV{}, &log })
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequest("GET", "/", nil))
	h.Wait()
	if answer.Body.String() != fmt.Sprint(abi.OutcomeAbsent) || log.Len() > 0 {
		t.Errorf("outcome %s, log %q", answer.Body, log.String())
	}
}
