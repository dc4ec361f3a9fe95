package exchange_test

import (
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/internal/transcript"
)

// period is the present one, and epoch the meter's.
var period = (&doc.Record{}).Period(calendar.Day(startMs))

const epoch = 3

func reply(data []byte) abi.Event { return abi.Event{Kind: abi.EventReply, Data: data} }

var verdicts = map[string]keymeter.Verdict{
	"admitted": keymeter.Admitted, "unknown": keymeter.Unknown, "stale": keymeter.Stale, "limited": keymeter.RateLimited, "short": keymeter.Short,
	"replay": keymeter.Replay, "running": keymeter.Running, "mismatch": keymeter.Mismatch, "unreplayable": keymeter.Unreplayable,
	"crowded": keymeter.ConcurrencyLimited, "inactive": keymeter.Inactive,
}

// admit VERDICT: the meter's answer. "admitted" reserves all that was asked for, unless it says least; "short"
// has held=, need= and least=, "stale" the fields of a record, "limited" retry=, and "replay" the answer as input.
func (s *story) doAdmit(a *args) {
	call := s.find(a, calling("admit"))
	command := transcript.Open(call).(*keymeter.Admit)
	s.answer(a, call.ID, verdict(a, command.AmountPico, command.LeastPico))
}

// Ids of what a stream asks for beside its chunks, for answers that come late.
const (
	extendID      = 13
	extendGrantID = 17
)

// extend VERDICT: the meter's answer to a stream that wants to reserve more.
func (s *story) doExtend(a *args) {
	command := &keymeter.Extend{}
	if at := slices.IndexFunc(s.open, func(o abi.Action) bool { return o.ID == extendID }); at >= 0 {
		command = transcript.Open(&s.open[at]).(*keymeter.Extend)
	}
	s.answer(a, extendID, verdict(a, command.TotalPico, command.LeastPico))
}

func verdict(a *args, all, least int64) abi.Event {
	word := a.word()
	r := keymeter.AdmitReply{Verdict: verdicts[word]}
	switch r.Verdict {
	case 0:
		return abi.Event{Kind: abi.EventReply, Code: outcome(a, word)}
	case keymeter.Admitted:
		if r.ReservedPico = all; a.flag("least") {
			r.ReservedPico = least
		}
	case keymeter.Stale:
		r.Record = recordOf(a, 6)
	case keymeter.RateLimited:
		r.RetryMs = a.milliseconds("retry")
	case keymeter.Short:
		r.Period, r.Epoch, r.HeldPico, r.NeedPico, r.LeastPico = period, epoch, a.dollars("held"), a.dollars("need"), a.dollars("least")
	case keymeter.Replay:
		r.Answer = stored(a)
	}
	return reply(r.Encode())
}

// stored is an answer as settlements carry it.
func stored(a *args) []byte {
	var w abi.Writer
	w.Uint(200)
	w.Uint(1)
	w.String("content-type")
	w.String("application/json")
	w.Bytes(a.body())
	return w.Buf
}

// grant total=$1 [final] | recall=METER,METER next=METER | next=METER | none | failed: the ledger's answer.
func (s *story) doGrant(a *args) {
	id := uint64(extendGrantID)
	if at := slices.IndexFunc(s.open, func(o abi.Action) bool { return calling("grant")(&o) }); at >= 0 {
		id = s.open[at].ID
	}
	total := a.dollars("total")
	r := ledger.GrantReply{Granted: total > 0, Final: a.flag("final"), Recall: a.list("recall"), Next: a.text("next", "")}
	if r.Granted {
		r.Period, r.Epoch, r.TotalPico = period, epoch, total
	}
	event := reply(r.Encode())
	if word := a.word(); word != "" && word != "none" {
		event = abi.Event{Kind: abi.EventReply, Code: outcome(a, word)}
	}
	s.answer(a, id, event)
}

// flush METER [news] [open=1] [failed]: a meter's answer. News go on to the ledger; open requests will be settled soon.
func (s *story) doFlush(a *args) {
	meter := a.word()
	call := s.find(a, func(o *abi.Action) bool { return calling("flush")(o) && o.Name == meter })
	r := keymeter.FlushReply{Open: a.number("open", 0)}
	if a.flag("news") {
		r.Absorbs = [][]byte{{1}}
	}
	event := reply(r.Encode())
	if a.flag("failed") {
		event = abi.Event{Kind: abi.EventReply, Code: abi.OutcomeFailed}
	}
	s.answer(a, call.ID, event)
}

// absorbed [failed]: the ledger has the news of a meter.
func (s *story) doAbsorbed(a *args) {
	event := reply(nil)
	if word := a.word(); word != "" {
		event.Code = outcome(a, word)
	}
	s.answer(a, s.find(a, calling("absorb")).ID, event)
}

// report flush=METER,METER | wait=100ms | failed | figures: the ledger's answer to a question for usage. Figures have
// budget= and used=, and as input a line for each model: NAME requests= hits= misses= prompt= completion= cost=.
func (s *story) doReport(a *args) {
	call := s.find(a, calling("report"))
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
	s.answer(a, call.ID, event)
}

func usageOf(of *args, line string) ledger.Usage {
	a := &args{t: of.t, line: line, words: strings.Fields(line)}
	u := ledger.Usage{
		Model: a.word(), Requests: a.number("requests", 0), Hits: a.number("hits", 0), Misses: a.number("misses", 0),
		Prompt: a.number("prompt", 0), Completion: a.number("completion", 0), CostPico: a.dollars("cost"),
	}
	a.done()
	return u
}
