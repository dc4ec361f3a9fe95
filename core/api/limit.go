package api

import (
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
)

// Limit is the limit or budget because of which a request was refused. All error bodies describe it in the fields
// "limit", "resetsAt" and "raisedBy", and in one of the details.
type Limit struct {
	Name string // requests_per_second, requests_per_day, tokens_per_minute, concurrent_requests or budget_per_CYCLE
	Of   string // whose limit it is: key or project
	Unit string // requests, tokens or dollars
	// Amount is the limit, Used the used part of it, and Needed the request's reservation. They are JSON numbers.
	// They are empty if they are unknown or if the caller must not see them.
	Amount, Used, Needed string
	ResetMs              uint64 // when it resets, in Unix milliseconds; 0: no set time
	RaisedBy             string // who can raise it
	Spent                bool   // stays used up until a day or period ends, so a retry fails too
	Detail               fault.Detail
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
	if l.ResetMs > 0 {
		b.Key("resetsAt")
		b.String(string(calendar.AppendTimestamp(nil, l.ResetMs)))
	}
	b.StringMember("raisedBy", l.RaisedBy)
}
