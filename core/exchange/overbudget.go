package exchange

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// Words for the levels that have budgets. limit.of and budget.level have the same values.
const (
	ofKey        = "key"
	ofProject    = "project"
	ofGroup      = "group"
	ofDeployment = "deployment"
)

// periodWords are the API's words for budget periods.
var periodWords = [...]string{calendar.Monthly: "month", calendar.Weekly: "week", calendar.Daily: "day", calendar.Total: "total"}

// unitWords are the API's words for units. limitNames begin the names of their limits.
var (
	unitWords  = [...]string{doc.Dollars: "dollars", doc.Requests: "requests", doc.Tokens: "tokens"}
	limitNames = [...]string{doc.Dollars: "budget", doc.Requests: "requests", doc.Tokens: "tokens"}
)

// overBudget returns the refusal for a request that a budget does not cover. needed is the smallest sufficient
// reservation in picodollars. The amounts are for callers that may see the project's usage. Those of groups and of the
// deployment are not for callers.
func (x *exchange) overBudget(b *budgetRequest, needed money.Pico) refusal {
	id, unit := doc.UnitOf(b.ledger)
	l := &api.Limit{Unit: unitWords[unit], Spent: true}
	x.nameBudget(l, b.ledger, id)
	addPeriod(l, unit, b.period)
	r := refusal{limit: l}
	own := l.Of == ofProject || l.Of == ofKey
	told := own && b.told && x.s.record.May(doc.MaySeeUsage)
	if unit != doc.Dollars {
		addUsedUp(l, b, told)
		x.completeLimit(l)
		return r
	}
	l.Detail.Message += " does not cover this request"
	if told {
		l.Amount, l.Used, l.Needed = dollars(b.budgetPico), dollars(b.spentPico), dollars(needed)
		l.Detail.Message += ": $" + l.Used + " of $" + l.Amount + " spent, $" + l.Needed + " needed"
	}
	if x.mayPass(b, l.Of) {
		l.Spent, r.retryMs = false, inProgressRetryMs
	}
	switch {
	case !l.Spent:
		l.Detail.Message += "; requests in progress have reserved the rest"
	case own && !b.spent && (!b.told || b.budgetPico-b.spentPico >= needed):
		l.Detail.Message += "; requests in progress or not yet reported have taken the rest"
	}
	x.completeLimit(l)
	return r
}

// overFault returns the error for a budget that does not cover the request. Limits of requests and tokens per budget
// period are rate limits, as those per second and per day are.
func overFault(b *budgetRequest) fault.Fault {
	if _, unit := doc.UnitOf(b.ledger); unit != doc.Dollars {
		return fault.RateLimited
	}
	return fault.BudgetExceeded
}

// addPeriod adds the period of a budget and the limit's name.
func addPeriod(l *api.Limit, unit doc.Unit, p calendar.Period) {
	word := periodWords[p.Cycle()]
	l.Budget.Period, l.Detail.Field, l.Name = word, api.BudgetField, limitNames[unit]+"_"+word
	if unit != doc.Dollars {
		l.Detail.Field = api.LimitField
	}
	if !p.Resets() {
		return
	}
	_, end := p.Bounds()
	l.ResetMs = end * calendar.DayMs
	l.Name = limitNames[unit] + "_per_" + word
	if unit == doc.Dollars {
		l.Detail.Message += " for the " + word
	}
}

// addUsedUp says that the requests or tokens of a period are used up.
func addUsedUp(l *api.Limit, b *budgetRequest, told bool) {
	what := strings.ReplaceAll(l.Name, "_", " ")
	if told {
		l.Amount = strconv.FormatInt(b.budgetPico, 10)
		l.Used = strconv.FormatInt(max(b.budgetPico, b.spentPico), 10) // meters may have yet to report a part
		what = l.Amount + " " + what
	}
	l.Detail.Message += ", " + what + ", is used up"
}

// mayPass reports whether requests in progress have reserved the missing amount, so that the request may soon succeed.
// The key's meter knows this about the key's own requests, and the recalled meters about theirs. For a project's
// budget without others above it, clients never repeat the request.
func (x *exchange) mayPass(b *budgetRequest, level string) bool {
	return !b.spent && (level == ofKey || x.inTree() && (b.inUse || x.s.openReservations > 0))
}

// nameBudget says whose budget it is, given the name of its Ledger and the ID in that name.
func (x *exchange) nameBudget(l *api.Limit, ledger, id string) {
	l.Budget.ID = id
	if n := x.node(ledger); n != nil {
		l.Budget.Name = n.Name
	}
	switch id {
	case keymeter.OwnLevel:
		l.Of, l.Budget.ID, l.Detail.Message = ofKey, x.s.record.KeyID, "of this key"
	case "", x.s.record.ProjectID:
		l.Of, l.Budget.ID, l.Budget.Name, l.Detail.Message = ofProject, x.s.record.ProjectID, "", "of this project"
	case doc.Root:
		l.Of, l.Detail.Message = ofDeployment, "of this gateway"
	default:
		if l.Of, l.Detail.Message = ofGroup, "of a group that this project belongs to"; l.Budget.Name != "" {
			l.Detail.Message = "of the group " + l.Budget.Name
		}
	}
}

func dollars(pico money.Pico) string { return string(money.Append(nil, pico, money.Dollar)) }

func (b *budgetRequest) notePeriod(reply *ledger.GrantReply) {
	b.spent, b.told, b.budgetPico, b.spentPico = reply.Spent, reply.Told, reply.BudgetPico, reply.SpentPico
	b.period = max(b.period, reply.Period) // the next period may have begun
}

// noteSpent records that the budget of a level in asked is spent. Of several such levels, it keeps the one that resets
// last, because a retry fails until then. If they reset at the same time, it keeps the one nearest the root.
func (b *budgetRequest) noteSpent(at uint64, reply *ledger.GrantReply) {
	_, end := max(b.asked[at].Period, reply.Period).Bounds()
	if b.over > 0 {
		if _, latest := b.period.Bounds(); end < latest || end == latest && at > b.over-1 {
			return
		}
	}
	b.over = at + 1
	b.beginLevel(&keymeter.AdmitReply{}, &b.asked[at])
	b.notePeriod(reply)
}
