package host

import (
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// queueEngine is an engine whose exchanges wait in one queue, except those with a path of the form /wake/xx. These wake
// as many exchanges as the path has letters at its end.
type queueEngine struct {
	mu    sync.Mutex
	again bool // the next exchange that is woken waits again, first in the queue
	log   []string
}

func (q *queueEngine) step(in *abi.StepInput) abi.StepOutput {
	q.mu.Lock()
	defer q.mu.Unlock()
	path := string(in.State)
	out := abi.StepOutput{State: in.State, Actions: []abi.Action{respond(200, "")}}
	switch {
	case in.Event.Kind == abi.EventRequest:
		at := slices.IndexFunc(in.Event.Headers, func(h abi.Header) bool { return h.Name == abi.PseudoPath })
		out.State = []byte(in.Event.Headers[at].Value)
		out.Actions = []abi.Action{{Kind: abi.ActionPin, Key: "entry"}, {Kind: abi.ActionSupply, ID: 2, Buffer: 1}}
	case in.Event.Kind == abi.EventSupplied && strings.HasPrefix(path, "/wake/"):
		out.PinnedChanged, out.Pinned, out.PinnedKeepMs, out.Wake = true, []byte{1}, 1000, uint64(len(path)-len("/wake/"))
	case in.Event.Kind == abi.EventSupplied:
		out.Actions = []abi.Action{{Kind: abi.ActionWait, ID: 1, Code: abi.WaitLast, KeepMs: 60_000}}
	case q.again:
		q.again = false
		q.log = append(q.log, path+" again")
		out.Actions = []abi.Action{{Kind: abi.ActionWait, ID: 1, Code: abi.WaitFirst, KeepMs: 60_000}}
	case in.Event.Code == abi.TimerWoken:
		q.log = append(q.log, path)
	default:
		q.log = append(q.log, path+" late")
	}
	return out
}

// TestQueue: exchanges are woken in the order in which they began to wait. One that no longer waits passes its turn on.
// The end of the time and of the host end a wait, too.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queueEngine{}
		h := newStubHost(t, &stub{step: q.step}, func(o *Options) { o.Engine = pinning{o.Engine} })
		send := func(paths ...string) {
			for _, path := range paths {
				go h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
				synctest.Wait()
			}
		}
		send("/a", "/b", "/c", "/d", "/e", "/wake/xx")
		q.again = true
		send("/wake/x", "/wake/x")
		wake([]*exchange{{host: h, pinned: "entry"}}) // it has ended
		synctest.Wait()
		h.Wait() // until the time of the last one is over
		send("/f", "/g")
		h.Cut()
		h.Wait()
		want := "/a, /b, /c again, /c, /d, /e late"
		slices.Sort(q.log[min(len(q.log), 6):])
		if got := strings.Join(q.log, ", "); got != want+", /f late, /g late" {
			t.Errorf("got %s", got)
		}
		send("/wake/xxxx")
		if left := len(h.isolate.queues); left > 0 {
			t.Errorf("%d queues are left", left)
		}
		time.Sleep(3 * trimPeriod) // until no worker is idle
	})
}

// pinning is an engine whose host has room for a pinned entry.
type pinning struct{ Engine }

func (pinning) Configured() abi.Configured {
	c := stubConfigured
	c.PinnedEntries = 1
	return c
}

// TestNoWakeIsMissed: while a step decides to wait, another one changes the entry. The first one runs again, because
// nobody else would wake its exchange.
func TestNoWakeIsMissed(t *testing.T) {
	var clock store.Clock = new(fixedClock)
	i := newIsolate(clock, &stubConfigured, 1)
	now := func() uint64 { return 1 }
	change := stepFunc(func(*abi.StepInput) (abi.StepOutput, error) {
		return abi.StepOutput{PinnedChanged: true, Pinned: []byte{1}, PinnedKeepMs: 1000, Wake: 1}, nil
	})
	var runs int
	x := &exchange{}
	waits := stepFunc(func(in *abi.StepInput) (out abi.StepOutput, err error) {
		if runs++; len(in.Pinned) == 0 {
			_, err = i.step(&abi.StepInput{}, "entry", now, change, nil)
			out.Actions = []abi.Action{{Kind: abi.ActionWait, ID: 1, Code: abi.WaitLast}}
		}
		return out, err
	})
	if _, err := i.step(&abi.StepInput{}, "entry", now, waits, x); err != nil || runs != 2 || x.queued {
		t.Errorf("%d runs, waits %t, %v", runs, x.queued, err)
	}
}
