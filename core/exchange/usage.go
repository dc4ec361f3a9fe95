package exchange

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// maxReports limits how often one request calls the Ledger. It needs at most four calls.
const maxReports = 8

// usage answers GET /api/usage?projectId=…&period=day|week|month.
func (x *exchange) usage() {
	project, period := queryParam(x.s.query, "projectId"), queryParam(x.s.query, "period")
	var details []fault.Detail
	if project == "" {
		details = append(details, fault.Detail{Field: "projectId", Message: "is required"})
	}
	if period != "" && period != "day" && period != "week" && period != "month" {
		details = append(details, fault.Detail{Field: "period", Message: "must be day, week or month, got " + api.Quote(period)})
	}
	switch {
	case project != "" && project != x.s.record.ProjectID:
		x.refuse(fault.Forbidden, refusal{details: []fault.Detail{
			{Field: "projectId", Message: "must be the key's own project, " + x.s.record.ProjectID},
		}})
	case len(details) > 0:
		x.refuse(fault.InvalidRequest, refusal{details: details})
	default:
		x.report(false, false)
	}
}

// queryParam returns the first value of a parameter. It decodes no escapes: valid values are plain words and IDs.
func queryParam(text, name string) string {
	for text != "" {
		var pair string
		pair, text, _ = strings.Cut(text, "&")
		if key, value, _ := strings.Cut(pair, "="); key == name {
			return value
		}
	}
	return ""
}

// periodDays returns the first day of the current period and the day after its last.
func (x *exchange) periodDays() (first, end uint64) {
	today := calendar.Day(x.s.startMs)
	switch queryParam(x.s.query, "period") {
	case "day":
		return today, today + 1
	case "week":
		monday := calendar.Monday(today)
		return monday, monday + 7
	}
	month := calendar.Month(today)
	return calendar.MonthStart(month), calendar.MonthStart(month + 1)
}

// report queries the Ledger. It first replies with the meters that may have unreported usage; they must be
// flushed.
func (x *exchange) report(waited, final bool) {
	first, end := x.periodDays()
	q := ledger.Report{FirstDay: first, EndDay: end, Waited: waited, Final: final}
	x.s.reportCalls++
	x.enter(phaseReport)
	x.call(idReport, abi.ClassLedger, x.s.record.ProjectID, q.Encode())
}

// retryReport queries the Ledger again after a pause.
func (x *exchange) retryReport() { x.report(true, false) }

// onReport takes the usage, or first waits or flushes the meters as the Ledger requests.
func (x *exchange) onReport() {
	var reply ledger.ReportReply
	var err error
	if x.event.Code == abi.OutcomeOK {
		reply, err = ledger.DecodeReportReply(x.event.Data)
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
		first, end := x.periodDays()
		body := usageJSON(&reply, first, end)
		x.respondJSON(body)
	}
}

// flushMeters makes meters report their usage.
func (x *exchange) flushMeters(meters []string) {
	command := keymeter.Flush{}
	encoded := command.Encode()
	for i, meter := range meters {
		x.call(idFlush+uint64(i), abi.ClassKeyMeter, meter, encoded)
	}
}

// pauseReport waits before the next query.
func (x *exchange) pauseReport(ms uint64) {
	x.enter(phaseReportPause)
	x.await(abi.Action{Kind: abi.ActionWait, ID: idTimer, KeepMs: ms})
}

// afterReportFlush queries the final usage when the meters are flushed. If reservations are open, it first waits
// for them to settle.
func (x *exchange) afterReportFlush() {
	if x.s.openReservations > 0 && x.s.pauses < uint64(len(keymeter.SettleWaitMs)) {
		x.pauseReport(keymeter.SettleWaitMs[x.s.pauses])
		x.s.pauses++
		return
	}
	x.report(true, true)
}

// usageJSON encodes the UsageReport of docs/openapi.yaml.
func usageJSON(p *ledger.ReportReply, first, end uint64) []byte {
	var hits, misses uint64
	for i := range p.Models {
		hits += p.Models[i].Hits
		misses += p.Models[i].Misses
	}
	b := append(make([]byte, 0, 512), `{"budget":{"limit":`...)
	b = money.Append(b, p.BudgetPico, money.Dollar)
	b = money.Append(append(b, `,"used":`...), p.UsedPico, money.Dollar)
	b = money.Append(append(b, `,"remaining":`...), max(0, p.BudgetPico-p.UsedPico), money.Dollar)
	b = strconv.AppendUint(append(b, `},"cache":{"hits":`...), hits, 10)
	b = strconv.AppendUint(append(b, `,"misses":`...), misses, 10)
	b = append(append(b, `,"hitRate":`...), percent(hits, hits+misses)...)
	b = append(b, `},"models":{`...)
	separator := ""
	for i := range p.Models {
		if u := &p.Models[i]; u.Requests > 0 || u.CostPico != 0 {
			b = modelJSON(append(b, separator...), u)
			separator = ","
		}
	}
	b = calendar.AppendDate(append(b, `},"period":{"start":"`...), first)
	b = calendar.AppendDate(append(b, `T00:00:00.000Z","end":"`...), end)
	return append(b, `T00:00:00.000Z"}}`...)
}

func modelJSON(b []byte, u *ledger.Usage) []byte {
	b = jsontext.AppendString(b, u.Model)
	b = strconv.AppendUint(append(b, `:{"requests":`...), u.Requests, 10)
	b = strconv.AppendUint(append(b, `,"tokens":`...), u.Prompt+u.Completion, 10)
	b = money.Append(append(b, `,"cost":`...), u.CostPico, money.Dollar)
	return append(b, '}')
}

// percent is part/whole in percent with two decimal places, and 0 if whole is 0.
func percent(part, whole uint64) string {
	if whole == 0 {
		return "0"
	}
	return string(money.Append(nil, int64((part*10000+whole/2)/whole), 100))
}
