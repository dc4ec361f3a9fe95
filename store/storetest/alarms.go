package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

// ring rings once with a command that records the object in the row "rang" and sets no alarm.
func (f *fixture) ring() (name string, rang bool) {
	f.Helper()
	rang, err := f.store.Ring(context.Background(), func(o store.Object, r store.Rows, _ uint64) error {
		if r.Alarm() != 0 {
			f.Errorf("%v: alarm %d during Ring", o, r.Alarm())
		}
		name = o.Name
		return r.Commit(puts("rang", "yes"), nil, 0)
	})
	if err != nil {
		f.Error(err)
	}
	return name, rang
}

// commandAlarm checks that a commit sets the alarm only if it is earlier.
func commandAlarm(f *fixture) {
	o := meter("a")
	for _, step := range []struct{ set, want uint64 }{
		{0, 0}, {StartMs + 500, StartMs + 500}, {StartMs + 900, StartMs + 500}, {0, StartMs + 500}, {StartMs + 100, StartMs + 100},
	} {
		f.commit(o, step.set)
		if at, next := f.alarm(o), f.next(); at != step.want || next != step.want {
			f.Errorf("set %d: alarm %d, next %d instead of %d", step.set, at, next, step.want)
		}
	}
	if _, rang := f.ring(); rang {
		f.Error("rang early")
	}
	f.clock.Set(StartMs + 99)
	if _, rang := f.ring(); rang {
		f.Error("rang early")
	}
	f.clock.Set(StartMs + 100)
	if name, rang := f.ring(); !rang || name != "a" {
		f.Errorf("%q %v", name, rang)
	}
	f.expect(o, everything, "rang", "yes")
	if f.alarm(o) != 0 || f.next() != 0 {
		f.Errorf("alarm %d, next %d", f.alarm(o), f.next())
	}
	if _, rang := f.ring(); rang {
		f.Error("rang twice")
	}
}

// alarmOrder checks that alarms ring in order of time. Alarms with the same time ring in order of name. It also
// checks that an alarm's command can set the next alarm.
func alarmOrder(f *fixture) {
	for name, at := range map[string]uint64{"d": 20, "b": 10, "c": 10, "a": 30, "e": 40} {
		f.commit(meter(name), StartMs+at)
	}
	f.clock.Set(StartMs + 35)
	var order []string
	for len(order) < 9 {
		name, rang := f.ring()
		if !rang {
			break
		}
		if order = append(order, name); len(order) == 1 {
			f.commit(meter("b"), StartMs+25)
		}
	}
	if !slices.Equal(order, []string{"b", "c", "d", "b", "a"}) || f.next() != StartMs+40 {
		f.Errorf("%q, next %d", order, f.next())
	}
	f.clock.Set(StartMs + 40)
	for range 2 { // the first alarm sets the next one, which then rings
		rang, err := f.store.Ring(context.Background(), func(o store.Object, r store.Rows, now uint64) error {
			return r.Commit(puts("at", fmt.Sprint(now-StartMs)), nil, now+60)
		})
		if !rang || err != nil || f.next() != f.clock.Now()+60 {
			f.Errorf("%v, %v, next %d", rang, err, f.next())
		}
		f.clock.Advance(60)
	}
	f.expect(meter("e"), everything, "at", "100")
}

// failedAlarm lets the command of an alarm fail. The command must change nothing, the alarm must stay set, and it
// must ring again.
func failedAlarm(f *fixture) {
	o := meter("a")
	f.commit(o, StartMs+10, "k", "old")
	f.clock.Set(StartMs + 10)
	for range 3 {
		_, err := f.store.Ring(context.Background(), func(_ store.Object, r store.Rows, _ uint64) error {
			_ = r.Commit(puts("k", "new"), nil, StartMs+99)
			return errCommand
		})
		if !errors.Is(err, errCommand) || f.alarm(o) != StartMs+10 || f.next() != StartMs+10 {
			f.Errorf("%v, alarm %d, next %d", err, f.alarm(o), f.next())
		}
	}
	f.expect(o, everything, "k", "old")
	if name, rang := f.ring(); !rang || name != "a" {
		f.Errorf("%q %v", name, rang)
	}
	if f.next() != 0 {
		f.Errorf("next %d", f.next())
	}
}

// failingAlarm checks that an alarm does not prevent others from ringing if its command always fails.
func failingAlarm(f *fixture) {
	f.commit(meter("broken"), StartMs+1)
	for i := range 3 {
		f.commit(meter(fmt.Sprint("fine", i)), StartMs+5+uint64(i))
	}
	f.clock.Set(StartMs + 100)
	rang, failed := map[string]int{}, 0
	for range 8 {
		_, err := f.store.Ring(context.Background(), func(o store.Object, r store.Rows, _ uint64) error {
			if o.Name == "broken" {
				return errCommand
			}
			rang[o.Name]++
			return r.Commit(nil, nil, 0)
		})
		if errors.Is(err, errCommand) {
			failed++
		} else if err != nil {
			f.Error(err)
		}
	}
	if len(rang) != 3 || rang["fine0"] != 1 || failed < 2 {
		f.Errorf("rang %v, failed %d times", rang, failed)
	}
	if at := f.alarm(meter("broken")); at != StartMs+1 {
		f.Errorf("alarm %d", at)
	}
}

// alarmsOnce checks that each alarm rings exactly once, although several goroutines ring alarms and commands run on
// the same objects.
func alarmsOnce(f *fixture) {
	const objects = 40
	for i := range objects {
		f.commit(meter(fmt.Sprint("o", i)), StartMs+uint64(i%7))
	}
	f.clock.Set(StartMs + 10)
	var mu sync.Mutex
	times := map[string]int{}
	atOnce(func(worker int) {
		for i := 0; i < objects; i++ {
			_, err := f.store.Ring(context.Background(), func(o store.Object, r store.Rows, _ uint64) error {
				mu.Lock()
				times[o.Name]++
				mu.Unlock()
				return r.Commit(puts("rang", "yes"), nil, 0)
			})
			if err != nil {
				f.Error(err)
			}
			f.commit(meter(fmt.Sprint("o", (i+worker)%objects)), 0, fmt.Sprint("w", worker), "x")
		}
	})
	for i := range objects {
		if name := fmt.Sprint("o", i); times[name] != 1 {
			f.Errorf("%s rang %d times", name, times[name])
		}
		f.expect(meter(fmt.Sprint("o", i)), abi.Range{Start: "rang"}, "rang", "yes")
	}
	if f.next() != 0 {
		f.Errorf("next %d", f.next())
	}
}
