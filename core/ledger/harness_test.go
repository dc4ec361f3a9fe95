package ledger_test

import (
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/internal/testobject"
)

const (
	today    = 20_778 // 2026-11-21
	start    = today*calendar.DayMs + 8*calendar.HourMs
	minuteMs = 60_000
)

// book is a ledger on a clock of its own.
type book struct {
	*testing.T
	*testobject.Object
	now     uint64
	version uint64
	seq     uint64
}

func newBook(t *testing.T) *book {
	return &book{T: t, now: start, Object: &testobject.Object{Class: abi.ClassLedger, Name: "proj_1", Reads: ledger.Reads, Apply: ledger.Apply}}
}

func (b *book) do(command []byte) []byte {
	b.Helper()
	reply, err := b.Call(b.now, command)
	if err != nil {
		b.Fatal(err)
	}
	return reply
}

var hook = doc.Alerts{URL: "https://hooks.example/a", Secret: []byte("0123456789abcdefghijklmn")}

// put sets a budget of whole dollars, in the next version.
func (b *book) put(dollars int64, period calendar.Period, to doc.Alerts) {
	b.Helper()
	b.version++
	command := ledger.Put{Version: b.version, BudgetPico: dollars * money.Dollar, Period: period, Alerts: to}
	b.do(command.Encode())
}

func month() calendar.Period { return calendar.NewPeriod(calendar.Monthly, 0, today) }

// spend books cents of the present day.
func (b *book) spend(cents int64) {
	b.Helper()
	b.absorb(ledger.Usage{Day: calendar.Day(b.now), Hour: calendar.Hour(b.now), Model: "m", Requests: 1, CostPico: cents * money.Cent})
}

func (b *book) absorb(usage ...ledger.Usage) {
	b.Helper()
	b.seq++
	command := ledger.Absorb{Key: "meter", KeyID: "key_1", Seq: b.seq, Usage: usage}
	b.do(command.Encode())
}

// taken are the posts since the last time.
func (b *book) taken() []abi.Post {
	posts := b.Posts
	b.Posts = nil
	return posts
}

func (b *book) report() ledger.ReportReply {
	b.Helper()
	question := ledger.Report{Final: true}
	reply, err := ledger.DecodeReportReply(b.do(question.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	return reply
}
