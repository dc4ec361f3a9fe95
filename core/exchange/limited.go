package exchange

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/exchange/reply"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
)

// rateLimited returns the refusal for a key that exceeds its limits. It names the window that takes the longest to
// reset. For a daily limit, it sets no Retry-After: clients would wait that long without a word.
func (x *exchange) rateLimited(answer *keymeter.AdmitReply) refusal {
	for i := range answer.Windows {
		w := &answer.Windows[i]
		if w.Remaining > 0 || w.ResetMs != answer.RetryMs {
			continue
		}
		l := &api.Limit{Name: "requests_per_second", Unit: "requests", ResetMs: x.now + w.ResetMs}
		switch {
		case w.Tokens:
			l.Name, l.Unit = "tokens_per_minute", "tokens"
		case w.WindowMs == calendar.DayMs:
			l.Name = "requests_per_day"
		}
		l.Amount = strconv.FormatUint(w.Limit, 10)
		l.Used = l.Amount
		if l.Name == "requests_per_day" {
			// The meter's clock may be a few milliseconds ahead or behind. Its days end at midnight.
			l.Spent, l.ResetMs = true, (l.ResetMs+calendar.DayMs/2)/calendar.DayMs*calendar.DayMs
			return refusal{limit: x.ofKey(l)}
		}
		// Tokens count until the end of the second in which they are one minute old, so the wait can be slightly
		// longer than maxWaitMs.
		return refusal{retryMs: min(answer.RetryMs, maxWaitMs), limit: x.ofKey(l)}
	}
	return refusal{retryMs: min(answer.RetryMs, maxWaitMs)}
}

// tooConcurrent returns the refusal for a key with too many requests in progress.
func (x *exchange) tooConcurrent() refusal {
	amount := strconv.FormatUint(x.config.Plan(x.s.record.Plan).Concurrent, 10)
	l := &api.Limit{Name: "concurrent_requests", Unit: "requests", Amount: amount, Used: amount}
	return refusal{retryMs: inProgressRetryMs, limit: x.ofKey(l)}
}

// ofKey completes the description of a key's limit.
func (x *exchange) ofKey(l *api.Limit) *api.Limit {
	l.Of, l.Detail.Field = ofKey, api.LimitField
	l.Detail.Message = "of this key, " + l.Amount + " " + strings.ReplaceAll(strings.TrimPrefix(l.Name, "concurrent_"), "_", " ")
	if l.ResetMs == 0 {
		l.Detail.Message += " in progress"
	}
	l.Detail.Message += ", is used up"
	x.completeLimit(l)
	return l
}

// completeLimit adds when the limit resets and who can raise it.
func (x *exchange) completeLimit(l *api.Limit) {
	l.RaisedBy = x.s.record.Contact
	if l.RaisedBy == "" {
		l.RaisedBy = anyOperator
	}
	switch m := &l.Detail.Message; {
	case l.ResetMs == 0 && l.Unit == unitWords[doc.Dollars]:
		*m += "; it does not reset; ask " + l.RaisedBy + " for credits"
	case l.ResetMs == 0 && l.Budget.ID != "":
		*m += "; it does not reset; to raise it, ask " + l.RaisedBy
	case l.ResetMs == 0: // requests in progress
	case l.Budget.ID == "" && !l.Spent:
		*m += "; resets in " + strconv.FormatUint(max(1, reply.Seconds(l.ResetMs-x.now)), 10) + " s"
	default:
		at := calendar.AppendTimestamp(nil, l.ResetMs)
		*m += "; resets at " + string(at[:10]) + " " + string(at[11:16]) + " UTC; to raise it, ask " + l.RaisedBy
	}
}

// anyOperator names who can raise the limits of a project that has no contact.
const anyOperator = "the operator of this gateway"

// statusOf returns an error's status for this caller. For an exceeded budget, Codex gets a 429: it retries a 402 five
// times, but stops after a 429 for an exceeded limit.
func (x *exchange) statusOf(f fault.Fault) uint64 {
	if f == fault.BudgetExceeded && x.s.codex && x.s.dialect == chat.Responses {
		return fault.RateLimited.Status()
	}
	return f.Status()
}
