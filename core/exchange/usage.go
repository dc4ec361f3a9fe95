package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/native"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// maxReports limits how often one request calls the Ledger. It needs at most four calls.
const maxReports = 8

func (x *exchange) usage() {
	p := api.Parser{}
	q := native.ParseUsageQuery(&p, x.s.query)
	switch {
	case q.ProjectID != "" && q.ProjectID != x.s.record.ProjectID:
		x.refuse(fault.Forbidden, refusal{details: []fault.Detail{
			{Field: "projectId", Message: "must be the key's own project, " + x.s.record.ProjectID},
		}})
	case len(p.Details) > 0:
		x.refuse(fault.InvalidRequest, refusal{details: p.Details})
	default:
		x.report(false, false)
	}
}

// periodDays returns the first day of the requested period and the day after its last day.
func (x *exchange) periodDays() (first, end uint64) {
	q := native.ParseUsageQuery(&api.Parser{}, x.s.query)
	return q.Days(calendar.Day(x.s.startMs))
}

// report queries the Ledger. The Ledger may first reply with meters that may have unreported usage and must be
// flushed.
func (x *exchange) report(waited, final bool) {
	first, end := x.periodDays()
	q := ledger.Report{FirstDay: first, EndDay: end, Waited: waited, Final: final, Ends: x.wantsOutcomes()}
	x.s.reportCalls++
	x.enter(phaseReport)
	x.call(idReport, abi.ClassLedger, x.s.record.ProjectID, q.Encode())
}

func (x *exchange) retryReport() { x.report(true, false) }

// onReport handles the Ledger's reply. If the Ledger asks for it, onReport waits or flushes meters. Otherwise, it
// responds with the usage.
func (x *exchange) onReport() {
	var reply ledger.ReportReply
	var err error
	if x.event.Code == abi.OutcomeOK {
		reply, err = x.decodeReport()
	}
	switch {
	case x.refuseFailedCall(err):
	case x.s.reportCalls > maxReports:
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	case reply.WaitMs > 0:
		x.pauseReport(reply.WaitMs)
	case len(reply.Flush) > 0:
		x.s.openReservations = 0
		x.enter(phaseReportFlush)
		x.flushMeters(reply.Flush)
	default:
		x.respondUsage(&reply)
	}
}

func (x *exchange) wantsOutcomes() bool {
	return native.ParseUsageQuery(&api.Parser{}, x.s.query).Outcomes
}

func (x *exchange) decodeReport() (ledger.ReportReply, error) {
	if x.wantsOutcomes() {
		return ledger.DecodeEndsReport(x.event.Data)
	}
	return ledger.DecodeReportReply(x.event.Data)
}

// flushMeters tells meters to report their usage.
func (x *exchange) flushMeters(meters []string) {
	command := keymeter.Flush{}
	encoded := command.Encode()
	for i, meter := range meters {
		x.call(idFlush+uint64(i), abi.ClassKeyMeter, meter, encoded)
	}
}

func (x *exchange) pauseReport(ms uint64) {
	x.enter(phaseReportPause)
	x.wait(idTimer, ms)
}

func (x *exchange) onReportFlush() {
	x.deliverFlush(x.event.ID-idFlush+idAbsorb, &x.s.admission.budget)
	x.afterReportFlush()
}

func (x *exchange) onReportAbsorb() { x.afterReportFlush() }

// afterReportFlush queries the final usage after all meters are flushed and all batches are delivered. If
// reservations are open, it first waits for their settlement.
func (x *exchange) afterReportFlush() {
	if x.pendingWithin(idFlush, idExtendFlush) {
		return
	}
	if x.s.openReservations > 0 && x.s.pauses < uint64(len(keymeter.SettleWaitMs)) {
		x.pauseReport(keymeter.SettleWaitMs[x.s.pauses])
		x.s.pauses++
		return
	}
	x.report(true, true)
}

func causesOf(e *ledger.Endings) (causes []native.Cause) {
	for end, n := range e.By {
		if n > 0 {
			causes = append(causes, native.Cause{Name: ledger.EndNames[end], Count: n})
		}
	}
	return causes
}

func (x *exchange) respondUsage(reply *ledger.ReportReply) {
	r := native.UsageReport{BudgetPico: reply.BudgetPico, UsedPico: reply.UsedPico}
	r.FirstDay, r.EndDay = x.periodDays()
	r.WithOutcomes = x.wantsOutcomes()
	for i := range reply.Models {
		u := &reply.Models[i]
		if r.WithOutcomes {
			r.Outcomes = append(r.Outcomes, native.ModelOutcomes{Model: u.Model, Outcomes: native.Outcomes(u.Outcomes()), Causes: causesOf(&u.Ends)})
		}
		if u.OnlyAttempts() {
			continue
		}
		if r.WithOutcomes && u.Requests == 0 && u.CostPico == 0 && u.Hits+u.Misses == 0 {
			continue
		}
		r.Models = append(r.Models, native.ModelUsage{
			Model: u.Model, Requests: u.Requests, Tokens: u.Prompt + u.Completion, CostPico: u.CostPico, Hits: u.Hits, Misses: u.Misses,
			PromptCache: native.PromptCache(u.PromptCache),
		})
	}
	x.respondJSON(native.AppendUsageReport(make([]byte, 0, 512), &r))
}
