package control_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/controltest"
)

// All days of many projects are exported.
func TestExportsOfManyProjects(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	kept := &controltest.Exports{Files: map[string]string{}}
	b.Configure(func(c *kernel.Config) { c.Exports = kept.Put })
	var paths []string
	for range largeProjects {
		b.Now = b.Now.Add(time.Millisecond)
		paths = append(paths, b.Project())
	}
	for day := uint64(controltest.Today); day < controltest.Today+3; day++ {
		for _, path := range paths {
			id := path[strings.LastIndex(path, "/")+1:]
			b.Absorb(path, []controltest.Booked{{Day: day, Hour: 1, Key: "key_of_" + id + fmt.Sprint(day), Model: "m", Requests: 1, Pico: 1}})
		}
		b.Now = b.Now.AddDate(0, 0, 1)
		if err := b.Hourly(); err != nil {
			t.Fatal(err)
		}
		if want := largeProjects * int(day-controltest.Today+1); len(kept.Files) != want {
			t.Fatalf("%d files after day %d, want %d", len(kept.Files), day, want)
		}
	}
}

// manyProjects returns a deployment with n projects, its exported files, and the ID of the last project.
func manyProjects(t *testing.T, n int) (b *controltest.Bench, kept *controltest.Exports, last string) {
	b = controltest.New(t)
	b.Memory.Reducers = true
	kept = &controltest.Exports{Files: map[string]string{}}
	b.Configure(func(c *kernel.Config) { c.Exports = kept.Put })
	for range n {
		b.Now = b.Now.Add(time.Millisecond)
		last = b.Project()
	}
	return b, kept, last
}

// Each run does a limited amount of work, and later runs continue it for every day and any number of projects.
func TestRoundOfManyRuns(t *testing.T) {
	b, kept, last := manyProjects(t, kernel.MaxRunCalls/2)
	for day := uint64(controltest.Today); day < controltest.Today+2; day++ {
		b.Absorb(last, []controltest.Booked{{Day: day, Hour: 1, Key: "key_" + fmt.Sprint(day), Model: "m", Requests: 1, Pico: 1}})
		b.Now = b.Now.AddDate(0, 0, 1)
		runs := 0
		for ; len(kept.Files) <= int(day-controltest.Today) && runs < 12; runs++ {
			before := b.Memory.Calls
			if err := b.Hourly(); err != nil {
				t.Fatal(err)
			}
			if n := b.Memory.Calls - before; n > kernel.MaxRunCalls+100 {
				t.Fatalf("a run made %d calls", n)
			}
		}
		if day == controltest.Today && runs < 2 || runs == 12 { // the second day's runs begin near the last project
			t.Errorf("day %d: exported after %d runs", day, runs)
		}
	}
}

// If the runs of a day are too few for all projects, the next day's runs continue, so the last project has its turn.
func TestRoundContinuesOnTheNextDay(t *testing.T) {
	b, kept, last := manyProjects(t, kernel.MaxRunCalls/4)
	b.Absorb(last, []controltest.Booked{{Day: controltest.Today, Hour: 1, Key: "key_1", Model: "m", Requests: 1, Pico: 1}})
	days := 0
	for ; len(kept.Files) == 0 && days < 6; days++ { // one run a day
		b.Now = b.Now.AddDate(0, 0, 1)
		if err := b.Hourly(); err != nil {
			t.Fatal(err)
		}
	}
	if days < 2 || days == 6 {
		t.Errorf("the last project was exported after %d days", days)
	}
}

// The daily work prunes the deployment's ledger like the ledgers of projects.
func TestRootIsPruned(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	count := ledger.EndCount{Hour: b.Memory.NowMs() / calendar.HourMs, End: ledger.EndUnauthorized, Count: 3}
	b.Tally(ledger.Root, ledger.Tally{Source: 1, Seq: 1, Counts: []ledger.EndCount{count}})
	for _, want := range []struct{ days, hours, groups int }{{0, 1, 1}, {2*ledger.KeepHourDays + 2, 0, 1}, {ledger.KeepDays, 0, 0}} {
		b.Now = b.Now.AddDate(0, 0, want.days)
		if err := b.Hourly(); err != nil {
			t.Fatal(err)
		}
		for by, n := range map[ledger.Grouping]int{ledger.ByHour: want.hours, ledger.ByDay: want.groups, ledger.ByKey: want.groups} {
			query := ledger.EndsQuery{Query: ledger.Query{FirstDay: count.Hour / 24, EndDay: count.Hour/24 + 1, By: by}}
			reply, err := ledger.DecodeEndsReply(b.Ask(abi.ClassLedger, ledger.Root, query.Encode()))
			if err != nil || len(reply.Groups) != n || n > 0 && reply.Groups[0].Usage.Ends.By[ledger.EndUnauthorized] != 3 {
				t.Errorf("after %d days, by %d: %v %+v", want.days, by, err, reply.Groups)
			}
		}
	}
}
