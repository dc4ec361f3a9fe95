package control_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/test/controltest"
)

// leases makes meters reply to each Put with a wait. It records how long the control plane would sleep instead of
// sleeping.
type leases struct {
	*controltest.Bench
	slept []time.Duration
	err   error
}

// lend makes the Put with number n, counted over all meters from 0, return waitMs(n).
func lend(t *testing.T, waitMs func(n int) uint64) *leases {
	b := controltest.New(t)
	l := &leases{Bench: b}
	n := 0
	b.Memory.Meters = func([]byte) []byte {
		reply := keymeter.PutReply{WaitMs: waitMs(n)}
		n++
		return reply.Encode()
	}
	b.Configure(func(c *kernel.Config) {
		c.Sleep = func(_ context.Context, d time.Duration) error {
			l.slept = append(l.slept, d)
			return l.err
		}
	})
	return l
}

// forget clears the recorded waits and calls.
func (l *leases) forget() {
	l.Memory.Forget()
	l.slept = nil
}

func always(ms uint64) func(int) uint64 { return func(int) uint64 { return ms } }

// TestChangesWaitForLeases makes each kind of change twice. The second acknowledgment also means that the change is
// in force.
func TestChangesWaitForLeases(t *testing.T) {
	l := lend(t, always(1500))
	path := l.Project()
	keyPath, _ := l.Key(path)
	for _, c := range []struct{ name, method, path, body string }{
		{"deactivation", "POST", keyPath + "/deactivate", ""},
		{"reactivation", "POST", keyPath + "/reactivate", ""},
		{"limits", "PATCH", keyPath, `{"limits":{"requestsPerSecond":1}}`},
		{"models of the key", "PATCH", keyPath, `{"models":["balanced"]}`},
		{"plan", "PATCH", path, `{"plan":"team"}`},
		{"budget period", "PATCH", path, `{"budgetPeriod":"day"}`},
		{"cache", "PATCH", path, `{"cacheTtlSeconds":0}`},
		{"unbounded", "PATCH", path, `{"unbounded":true}`},
		{"provider errors", "PATCH", path, `{"recordProviderErrors":true}`},
		{"contact", "PATCH", path, `{"contact":"platform@example.com"}`},
		{"policy", "PATCH", path, `{"models":["balanced"]}`},
		{"routes", "PATCH", path, `{"routes":{"balanced":{"targets":[{"model":"gpt-4.1"}]}}}`},
		{"enforcement", "PUT", path + "/models-registry/enforcement", `{"enforcement":"warn"}`},
		{"plan with the Governor", "PATCH", path, `{"plan":"unlimited"}`},
		{"Governor", "PUT", path + "/governor", `{"enabled":true}`},
		{"archive", "POST", path + "/archive", ""},
		{"restore", "POST", path + "/restore", ""},
	} {
		for _, attempt := range []string{"first", "repeated"} {
			l.forget()
			l.Must(200, c.method, c.path, c.body)
			if fmt.Sprint(l.slept) != "[1.5s]" {
				t.Errorf("%s, %s: slept %v", c.name, attempt, l.slept)
			}
		}
	}
	l.forget()
	if l.Must(201, "POST", keyPath+"/rotate", `{"graceSeconds":0}`); fmt.Sprint(l.slept) != "[1.5s]" {
		t.Errorf("rotation: slept %v", l.slept)
	}
	l.forget()
	if l.Must(204, "DELETE", keyPath, ""); fmt.Sprint(l.slept) != "[1.5s]" {
		t.Errorf("removal: slept %v", l.slept)
	}
}

// A change does not wait if it is delivered to no meter, or only to meters without leases.
func TestNoWaitWithoutLeases(t *testing.T) {
	l := lend(t, always(0))
	path := l.Project()
	keyPath, _ := l.Key(path)
	l.Must(200, "POST", keyPath+"/deactivate", "")
	l.Must(200, "PATCH", path, `{"plan":"team"}`)
	l.Memory.Meters = func([]byte) []byte { return nil } // the reply of an older version
	l.Must(200, "PATCH", path, `{"plan":"free"}`)
	l.Memory.Meters = func([]byte) []byte { t.Error("a meter got a change of the name or the budget"); return nil }
	l.Must(200, "PATCH", path, `{"name":"New","budget":7}`)
	if len(l.slept) != 0 {
		t.Errorf("slept %v", l.slept)
	}
}

// Once all keys of a project have the change, there is a single wait, for the longest lease.
func TestManyKeysWaitOnce(t *testing.T) {
	l := lend(t, func(n int) uint64 { return uint64(n) * 10 })
	path := l.Project()
	for range kernel.MaxUpdatedKeys {
		l.Must(201, "POST", path+"/keys", `{"name":"k"}`)
	}
	n := 0
	l.Memory.Meters = func([]byte) []byte {
		n++
		reply := keymeter.PutReply{WaitMs: uint64(n) * 10}
		return reply.Encode()
	}
	l.forget()
	l.Must(200, "PATCH", path, `{"plan":"team"}`)
	if fmt.Sprint(l.slept) != "[2s]" || n != kernel.MaxUpdatedKeys {
		t.Errorf("slept %v after %d deliveries", l.slept, n)
	}
}

// If a budget is lowered or set to the same value, the slices of all meters are recalled, and the change waits until
// nothing is lent. If the budget is raised, no slice is recalled.
func TestRecall(t *testing.T) {
	for name, c := range map[string]struct {
		budget string
		lent   []uint64 // a meter's replies to recalls, in order; 0 after the last one
		slept  string
		code   int
	}{
		"lower":       {`9`, nil, "[]", 200},
		"the same":    {`10`, nil, "[]", 200},
		"higher":      {`11`, nil, "[]", 200},
		"lent":        {`9`, []uint64{2250, 250}, "[2.25s 250ms]", 200},
		"for ever":    {`9`, []uint64{5000, 5000, 5000}, "[5s 5s]", 503},
		"no duration": {`9`, []uint64{1 << 62}, "[]", 503},
	} {
		t.Run(name, func(t *testing.T) {
			controltest.Quiet(t)
			l := lend(t, always(0))
			path := l.Project()
			l.Key(path)
			l.Key(path)
			l.Must(201, "POST", path+"/keys", `{"name":"p","kind":"project"}`)
			l.Must(200, "PATCH", path, `{"budget":10}`)
			calls := map[string]int{}
			l.slept = nil
			l.Memory.Before = nil
			l.Memory.Fail = func(class abi.Class, meter string, command []byte) error {
				if class == abi.ClassKeyMeter && bytes.Equal(command, controltest.RecallCommand.Encode()) {
					calls[meter]++
				}
				return nil
			}
			recalls := 0
			l.Memory.Meters = func(command []byte) []byte {
				if !bytes.Equal(command, controltest.RecallCommand.Encode()) {
					return waitReply(0)
				}
				recalls++
				if i := (recalls - 1) / 2; i < len(c.lent) {
					return controltest.FlushReply(c.lent[i])
				}
				return controltest.FlushReply(0)
			}
			if got := l.Do("PATCH", path, `{"budget":`+c.budget+`}`); got.Code != c.code || fmt.Sprint(l.slept) != c.slept {
				t.Errorf("%d, slept %v, want %d, %s", got.Code, l.slept, c.code, c.slept)
			}
			if want := 2; (len(calls) == want) != (name != "higher") {
				t.Errorf("recalled %v", calls)
			}
		})
	}
}

// If the wait for leases fails, the change is not acknowledged, and the error reveals no details to the client.
func TestUnfinishedWaits(t *testing.T) {
	for name, c := range map[string]struct {
		reply []byte
		err   error
		slept string
	}{
		"longest":               {reply: waitReply(10_000), slept: "[10s]"},
		"longer than any":       {reply: waitReply(10_001), slept: "[]", err: controltest.ErrOut},
		"overflow":              {reply: waitReply(1<<64 - 1), slept: "[]", err: controltest.ErrOut},
		"malformed":             {reply: []byte{0x80}, slept: "[]", err: controltest.ErrOut},
		"trailing bytes":        {reply: []byte{1, 2}, slept: "[]", err: controltest.ErrOut},
		"a disconnected client": {reply: waitReply(2000), slept: "[2s]", err: errors.New("sk_live_secret")},
	} {
		t.Run(name, func(t *testing.T) {
			controltest.Quiet(t)
			l := lend(t, always(0))
			keyPath, _ := l.Key(l.Project())
			l.Memory.Meters = func([]byte) []byte { return c.reply }
			l.err = c.err
			got := l.Do("POST", keyPath+"/deactivate", "")
			if fmt.Sprint(l.slept) != c.slept {
				t.Errorf("slept %v, want %s", l.slept, c.slept)
			}
			if c.err == nil {
				if got.Code != 200 {
					t.Error(got.Body)
				}
				return
			}
			if l.Refused(got, fault.Unavailable); strings.Contains(got.Body.String(), "sk_live") {
				t.Error(got.Body)
			}
		})
	}
}

func waitReply(ms uint64) []byte {
	reply := keymeter.PutReply{WaitMs: ms}
	return reply.Encode()
}

// If one meter has a lease and another fails, the change is not acknowledged, and the next attempt waits.
func TestFailedDeliveryDoesNotWait(t *testing.T) {
	controltest.Quiet(t)
	l := lend(t, always(700))
	path := l.Project()
	l.Key(path)
	l.Key(path)
	l.forget()
	calls := 0
	l.Memory.Fail = func(class abi.Class, _ string, _ []byte) error {
		if class != abi.ClassKeyMeter {
			return nil
		}
		if calls++; calls == 2 {
			return controltest.ErrOut
		}
		return nil
	}
	l.Refused(l.Do("PATCH", path, `{"plan":"team"}`), fault.Unavailable)
	if calls != 2 || len(l.slept) != 0 {
		t.Fatalf("%d calls, slept %v", calls, l.slept)
	}
	if l.Must(200, "PATCH", path, `{"plan":"team"}`); fmt.Sprint(l.slept) != "[700ms]" || calls != 4 {
		t.Errorf("%d calls, slept %v", calls, l.slept)
	}
}
