package exchange_test

import (
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/transcript"
)

// period is the current budget period. epoch is the meter's epoch in it.
var period = (&doc.Record{}).Period(calendar.Day(startMs))

const epoch = 3

func reply(data []byte) abi.Event { return abi.Event{Kind: abi.EventReply, Data: data} }

var verdicts = map[string]keymeter.Verdict{
	"admitted": keymeter.Admitted, "unknown": keymeter.Unknown, "stale": keymeter.Stale, "limited": keymeter.RateLimited, "short": keymeter.Short,
	"replay": keymeter.Replay, "running": keymeter.Running, "mismatch": keymeter.Mismatch, "unreplayable": keymeter.Unreplayable,
	"concurrency-limited": keymeter.ConcurrencyLimited, "inactive": keymeter.Inactive, "outcome-unknown": keymeter.OutcomeUnknown,
	"over-own": keymeter.OverOwn,
}

// admit VERDICT: the meter's reply. "admitted" reserves the requested amount. With "least", it reserves the minimum.
// It also takes the words of leaseOf. "short" takes held=, need=, least= and lent=. "stale" takes the fields of a
// record. "over-own" takes levels=key:NEED, budget=, spent=, reserved= and lent=. "limited" takes retry= and
// per=second|day|tokens limit=10. "replay" takes the stored response as input.
func (s *session) doAdmit(a *args) {
	call := s.find(a, callOf("admit"))
	command := transcript.Open(call).(*keymeter.Admit)
	s.reply(a, call.ID, verdict(a, command.AmountPico, command.LeastPico, command.LeaseID))
}

// IDs of a stream's extension calls. Late replies need them.
const (
	extendID      = 13
	extendGrantID = 17
)

// extend VERDICT: the meter's reply to a stream's extension.
func (s *session) doExtend(a *args) {
	command := &keymeter.Extend{}
	if at := slices.IndexFunc(s.pending, func(o abi.Action) bool { return o.ID == extendID }); at >= 0 {
		command = transcript.Open(&s.pending[at]).(*keymeter.Extend)
	}
	s.reply(a, extendID, verdict(a, command.TotalPico, command.LeastPico, 0))
}

func verdict(a *args, all, least int64, leaseID uint64) abi.Event {
	word := a.word()
	r := keymeter.AdmitReply{Verdict: verdicts[word]}
	switch r.Verdict {
	case 0:
		return abi.Event{Kind: abi.EventReply, Code: outcome(a, word)}
	case keymeter.Admitted:
		if r.ReservedPico = all; a.flag("least") {
			r.ReservedPico = least
		}
		r.Lease = leaseOf(a, leaseID)
	case keymeter.Stale:
		r.Record = recordOf(a, 6)
	case keymeter.RateLimited:
		r.RetryMs = a.milliseconds("retry")
		r.Windows = fullWindow(a, r.RetryMs)
	case keymeter.Short:
		r.Period, r.Epoch, r.HeldPico, r.NeedPico, r.LeastPico = period, epoch, a.dollars("held"), a.dollars("need"), a.dollars("least")
		r.LentMs = a.milliseconds("lent")
		r.Levels = levelsOf(a)
	case keymeter.OverOwn:
		r.Levels, r.LentMs = levelsOf(a), a.milliseconds("lent")
		r.Levels[0].HeldPico, r.Levels[0].UsedPico, r.Levels[0].ReservedPico = a.dollars("budget"), a.dollars("spent"), a.dollars("reserved")
	case keymeter.Replay:
		r.Answer = encodedReplay(a)
	}
	return reply(r.Encode())
}

// levelsOf returns the levels that lack budget, given by levels=LEDGER:NEED,LEDGER:NEED:CYCLE. "project" is the project's
// Ledger. Without a cycle, the budget is monthly.
func levelsOf(a *args) (levels []keymeter.ShortLevel) {
	for _, level := range a.list("levels") {
		name, need, _ := strings.Cut(level, ":")
		need, cycle, _ := strings.Cut(need, ":")
		pico := a.amount(need)
		of := calendar.NewPeriod(cycles[cycle], 0, calendar.Day(startMs))
		levels = append(levels, keymeter.ShortLevel{Ledger: levelName(name), Period: of, Epoch: epoch, NeedPico: pico, LeastPico: pico})
	}
	return levels
}

var cycles = map[string]calendar.Cycle{"": calendar.Monthly, "week": calendar.Weekly, "day": calendar.Daily, "total": calendar.Total}

func levelName(name string) string {
	if name == "project" {
		return ""
	}
	return name
}

// fullWindow returns the exhausted window in the meter's reply, as given by per= and limit=.
func fullWindow(a *args, resetMs uint64) []keymeter.Window {
	w := keymeter.Window{Limit: a.number("limit", 10), ResetMs: resetMs}
	switch a.text("per", "") {
	case "":
		return nil
	case "second":
		w.WindowMs = calendar.SecondMs
	case "day":
		w.WindowMs = calendar.DayMs
	case "tokens":
		w.WindowMs, w.Tokens = 60*calendar.SecondMs, true
	default:
		a.fail("unknown window")
	}
	return []keymeter.Window{w}
}

// encodedReplay returns a response in the format of the settle command.
func encodedReplay(a *args) []byte {
	var w abi.Writer
	w.Uint(200)
	w.Uint(1)
	w.String("content-type")
	w.String("application/json")
	w.Bytes(a.body())
	return w.Buf
}

// kept [failed]: the meter's reply to a settlement that stores the response.
func (s *session) doKept(a *args) {
	event := reply(nil)
	if word := a.word(); word != "" {
		event.Code = outcome(a, word)
	}
	s.reply(a, s.find(a, callOf("settle")).ID, event)
}

// grant [at=LEDGER] total=$1 [final] | recall=METER,METER next=METER | next=METER | none [budget=$10 spent=$9] | failed: the Ledger's reply.
func (s *session) doGrant(a *args) {
	id, name := uint64(extendGrantID), a.text("at", "")
	if at := slices.IndexFunc(s.pending, func(o abi.Action) bool { return callOf("grant")(&o) && (name == "" || o.Name == name) }); at >= 0 {
		id = s.pending[at].ID
	}
	total := a.dollars("total")
	r := ledger.GrantReply{Granted: total > 0, Final: a.flag("final"), Recall: a.list("recall"), Next: a.text("next", "")}
	if r.Granted {
		r.Period, r.Epoch, r.TotalPico = period, epoch, total
	}
	r.Told = slices.ContainsFunc(a.words, func(w string) bool { return strings.HasPrefix(w, "budget=") })
	r.BudgetPico, r.SpentPico = a.dollars("budget"), a.dollars("spent")
	r.Spent = r.SpentPico > 0 || a.flag("spent")
	event := reply(r.Encode())
	if word := a.word(); word != "" && word != "none" {
		event = abi.Event{Kind: abi.EventReply, Code: outcome(a, word)}
	}
	s.reply(a, id, event)
}

// flush METER [news] [return] [wait=1s] [open=1] [failed]: a meter's reply. With "news", it has a batch for the
// project's Ledger. With "return", it returns a slice to another Ledger. open is the number of its unsettled
// requests.
func (s *session) doFlush(a *args) {
	meter := a.word()
	call := s.find(a, func(o *abi.Action) bool { return callOf("flush")(o) && o.Name == meter })
	r := keymeter.FlushReply{Open: a.number("open", 0)}
	if a.flag("news") {
		r.Absorbs = [][]byte{{1}}
	}
	if a.flag("return") {
		back := ledger.Return{Key: meter}
		r.Return = back.Encode()
	}
	r.LentMs = a.milliseconds("wait")
	event := reply(r.Encode())
	if a.flag("failed") {
		event = abi.Event{Kind: abi.EventReply, Code: abi.OutcomeFailed}
	}
	s.reply(a, call.ID, event)
}

// absorbed [failed]: the Ledger's acknowledgment of a meter's batches.
func (s *session) doAbsorbed(a *args) {
	event := reply(nil)
	if word := a.word(); word != "" {
		event.Code = outcome(a, word)
	}
	s.reply(a, s.find(a, callOf("absorb")).ID, event)
}

// report flush=METER,METER | wait=100ms | failed | figures: the Ledger's reply to a usage report. "figures" takes
// budget= and used=, and one input line per model: NAME requests= hits= misses= prompt= completion= cost=.
func (s *session) doReport(a *args) {
	call := s.find(a, callOf("report "))
	r := ledger.ReportReply{
		Flush: a.list("flush"), WaitMs: a.milliseconds("wait"), BudgetPico: a.dollars("budget"), UsedPico: a.dollars("used"), Period: period,
	}
	for _, line := range a.input {
		r.Models = append(r.Models, usageOf(a, line))
	}
	a.input = nil
	event := reply(r.Encode())
	if word := a.word(); word != "" && word != "figures" {
		event = abi.Event{Kind: abi.EventReply, Code: outcome(a, word)}
	}
	s.reply(a, call.ID, event)
}

func usageOf(of *args, line string) ledger.Usage {
	a := &args{t: of.t, line: line, words: strings.Fields(line)}
	u := ledger.Usage{
		Model: a.word(), Requests: a.number("requests", 0), Hits: a.number("hits", 0), Misses: a.number("misses", 0),
		Prompt: a.number("prompt", 0), Completion: a.number("completion", 0), CostPico: a.dollars("cost"),
	}
	a.checkConsumed()
	return u
}
