package api

import (
	"strconv"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
)

// Limit is the limit or budget because of which a request was refused. All error bodies describe it in the fields
// "limit", "budget", "resetsAt" and "raisedBy", and in one of the details.
type Limit struct {
	// Name is requests_per_second, requests_per_day, tokens_per_minute or concurrent_requests. For a budget, it is
	// budget_per_PERIOD, requests_per_PERIOD or tokens_per_PERIOD, or budget_total and so on.
	Name   string
	Of     string // whose limit it is: key, project, group or deployment
	Unit   string // requests, tokens or dollars
	Budget Budget // the budget whose limit it is; zero for a rate limit
	// Amount is the limit, Used the used part of it, and Needed the request's reservation. They are JSON numbers.
	// They are empty if they are unknown or if the caller must not see them.
	Amount, Used, Needed string
	ResetMs              uint64 // when it resets, in Unix milliseconds; 0: no set time
	RaisedBy             string // who can raise it
	Spent                bool   // stays used up until a day or period ends, so a retry fails too
	Detail               fault.Detail
}

// Budget identifies the budget because of which a request was refused. Error bodies describe it in the field "budget",
// together with the level and the unit of its Limit.
type Budget struct {
	ID     string // of the key, the project or the group; "root" for the deployment
	Name   string // empty if unknown or if callers must not learn it
	Period string // day, week, month or total
}

// BudgetHeader returns the value of the header x-postern-budget: the budget's level, with parameters, in the syntax of
// structured fields (RFC 9651). It does not contain the name, which need not be ASCII.
func (l *Limit) BudgetHeader() string {
	value := l.Of + `; id="` + l.Budget.ID + `"; unit=` + l.Unit + "; period=" + l.Budget.Period
	if l.ResetMs > 0 {
		value += "; resets=@" + strconv.FormatUint(l.ResetMs/calendar.SecondMs, 10)
	}
	return value
}

// Spent reports whether the error is about a limit that stays used up until a day or period ends.
func (e *Error) Spent() bool { return e.Limit != nil && e.Limit.Spent }

// WriteLimit writes the fields of the limit, if there is one.
//
//go:noinline
func (e *Error) WriteLimit(b *jsontext.Builder) {
	l := e.Limit
	if l == nil {
		return
	}
	b.Key("limit")
	b.Open('{')
	b.StringMember("name", l.Name)
	b.StringMember("of", l.Of)
	b.StringMember("unit", l.Unit)
	b.Member("amount", l.Amount)
	b.Member("used", l.Used)
	b.Member("needed", l.Needed)
	b.Close('}')
	if l.Budget.ID != "" {
		l.writeBudget(b)
	}
	l.writeReset(b)
	b.StringMember("raisedBy", l.RaisedBy)
}

func (l *Limit) writeBudget(b *jsontext.Builder) {
	b.Key("budget")
	b.Open('{')
	b.StringMember("level", l.Of)
	b.StringMember("id", l.Budget.ID)
	b.StringMember("name", l.Budget.Name)
	b.StringMember("unit", l.Unit)
	b.StringMember("period", l.Budget.Period)
	l.writeReset(b)
	b.Close('}')
}

func (l *Limit) writeReset(b *jsontext.Builder) {
	if l.ResetMs > 0 {
		b.Key("resetsAt")
		b.String(string(calendar.AppendTimestamp(nil, l.ResetMs)))
	}
}
