package ledger_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/testobject"
)

const (
	today    = 20_778 // 2026-11-21
	start    = today*calendar.DayMs + 8*calendar.HourMs
	minuteMs = 60_000
)

// harness is one Ledger with its own clock.
type harness struct {
	*testing.T
	*testobject.Object
	now     uint64
	version uint64            // of the last put
	seq     uint64            // of the last absorb
	seqs    map[string]uint64 // of serve, by key
}

func newHarness(t *testing.T) *harness {
	return &harness{T: t, now: start, seqs: map[string]uint64{}, Object: &testobject.Object{Class: abi.ClassLedger, Name: "proj_1", Reads: ledger.Reads, Apply: ledger.Apply}}
}

func (b *harness) call(command []byte) []byte {
	b.Helper()
	reply, err := b.Call(b.now, command)
	if err != nil {
		b.Fatal(err)
	}
	return reply
}

func (b *harness) rowsOf(prefix string) (n int) {
	for name := range b.Rows {
		if strings.HasPrefix(name, prefix) {
			n++
		}
	}
	return n
}

var hook = doc.Alerts{URL: "https://hooks.example/a", Secret: []byte("0123456789abcdefghijklmn")}

// put sends the next version of a Put, with a budget in dollars.
func (b *harness) put(dollars int64, period calendar.Period, to doc.Alerts) {
	b.Helper()
	b.version++
	command := ledger.Put{Version: b.version, BudgetPico: dollars * money.Dollar, Period: period, Alerts: to}
	b.call(command.Encode())
}

func month() calendar.Period { return calendar.NewPeriod(calendar.Monthly, 0, today) }

// spend reports usage of the current hour that cost the given number of cents.
func (b *harness) spend(cents int64) {
	b.Helper()
	b.absorb(ledger.Usage{Day: calendar.Day(b.now), Hour: calendar.Hour(b.now), Model: "m", Requests: 1, CostPico: cents * money.Cent})
}

// absorb reports the next batch of usage of the meter "meter".
func (b *harness) absorb(usage ...ledger.Usage) {
	b.Helper()
	b.seq++
	command := ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: b.seq, Usage: usage}
	b.call(command.Encode())
}

// takePosts returns the posts since the last call.
func (b *harness) takePosts() []abi.Post {
	posts := b.Posts
	b.Posts = nil
	return posts
}

func (b *harness) report() ledger.ReportReply {
	b.Helper()
	query := ledger.Report{Final: true}
	reply, err := ledger.DecodeReportReply(b.call(query.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	return reply
}
