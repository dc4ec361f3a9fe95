package server

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// While the disk is full, alarms can be read but not fired. The pauses must still grow. They end once an alarm has
// been fired.
func TestAlarmsBackOff(t *testing.T) {
	a := newAlarms(&Server{})
	for range 20 {
		a.blocked = time.Time{} // the pause is over
		a.note(5, nil)
		a.tried(errors.New("the disk is full"))
	}
	if a.backoff.last != backoffLongest || a.blockedFor() < backoffLongest/4 {
		t.Errorf("backoff %v, pause %v", a.backoff.last, a.blockedFor())
	}
	before := a.blocked
	if a.tried(errors.New("another worker")); a.blocked != before {
		t.Error("workers that fail together prolong the pause")
	}
	if a.tried(nil); a.backoff.last != 0 {
		t.Errorf("backoff %v after a success", a.backoff.last)
	}
}

// Failures in the same second are counted, not logged one by one.
func TestAlarmsLogRarely(t *testing.T) {
	a, failure := newAlarms(&Server{}), errors.New("the disk is full")
	if err := a.rarely(failure); err != failure {
		t.Errorf("the first failure: %v", err)
	}
	a.logged = time.Now().Add(time.Hour)
	for range 3 {
		if err := a.rarely(failure); err != nil {
			t.Errorf("logged: %v", err)
		}
	}
	a.logged = time.Time{}
	if err := a.rarely(failure); !errors.Is(err, failure) || !strings.Contains(err.Error(), "4 failures") {
		t.Errorf("the count: %v", err)
	}
	if err := a.rarely(nil); err != nil {
		t.Error(err)
	}
}
