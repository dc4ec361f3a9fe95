package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/money"
)

// maxCredits is the number of top-ups that are remembered, so that repeats of them do not count again.
const maxCredits = 100

// credits is the document with the top-ups of a group, a project or a key. Amounts are in picodollars.
type credits struct {
	Total  int64    `json:"total"`  // the sum of all top-ups
	Latest []credit `json:"latest"` // the last maxCredits, oldest first
}

type credit struct {
	Number uint64 `json:"number"`
	Repeat string `json:"repeat,omitempty"` // SHA-256 of the Idempotency-Key; empty: there was none
	Amount int64  `json:"amount"`
	Total  int64  `json:"total"`
	Budget int64  `json:"budget"` // after the top-up
}

// CreditView is a top-up as the API returns it. All amounts are in dollars, exact.
type CreditView struct {
	Number uint64          `json:"number"`
	Amount json.RawMessage `json:"amount"`
	Total  json.RawMessage `json:"total"`
	Budget json.RawMessage `json:"budget"` // after the top-up
}

func (t *credit) view() CreditView {
	return CreditView{t.Number, ViewBudget(true, t.Amount), ViewBudget(true, t.Total), ViewBudget(true, t.Budget)}
}

// TopUp is a request for a top-up.
type TopUp struct {
	amount money.Pico
	note   string
	repeat string
}

// maxRepeatBytes is the maximum length of an Idempotency-Key.
const maxRepeatBytes = 255

// ReadTopUp reads the body {"amount", "note"} and the Idempotency-Key.
func ReadTopUp(c *kernel.Call) (t TopUp, err error) {
	f, err := c.Fields()
	if err != nil {
		return t, err
	}
	if !f.Has("amount") {
		f.Problem("amount", "is required")
	}
	t.amount, _ = f.Amount("amount")
	var noted bool
	if t.note, noted = f.Text("note", ""); noted && !kernel.IsName(t.note) {
		f.Problem("note", "must have 1 to 120 characters, at least one of them visible, and no line breaks, control or text-direction characters")
	}
	if key := kernel.HeaderValue(c.Request.Header, "Idempotency-Key"); key != "" {
		if len(key) > maxRepeatBytes || !isPrintable(key) {
			f.Problem("Idempotency-Key", "must have at most "+strconv.Itoa(maxRepeatBytes)+" printable ASCII characters")
		}
		sum := sha256.Sum256([]byte(key))
		t.repeat = hex.EncodeToString(sum[:])
	} else if _, sent := c.Request.Header[http.CanonicalHeaderKey("Idempotency-Key")]; sent {
		f.Problem("Idempotency-Key", "must not be empty")
	}
	return t, f.Err()
}

func isPrintable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// Prepaid is the budget to which a top-up is added.
type Prepaid struct {
	ID     string // of the group, the project or the key
	Cycle  calendar.Cycle
	Exists *bool // nil: it always exists
	Amount *money.Pico
}

// Credited is the result of a top-up.
type Credited struct {
	View CreditView
	// Repeated is set if the same top-up has been made before. Then there is nothing to write, but perhaps its deliveries
	// were not made.
	Repeated bool
	Write    directory.Write // of the top-up, for the commit that changes the budget
	Audit    map[string]any
}

// Add adds the top-up to a budget. The error is a 409 if the budget is not prepaid, or if the Idempotency-Key belongs to
// a top-up with another amount.
func (t *TopUp) Add(c *kernel.Call, s kernel.Store, to Prepaid) (made Credited, err error) {
	write, err := s.ReadForWrite(c, kernel.CreditsPrefix+to.ID)
	if err != nil {
		return made, err
	}
	var all credits
	if write.Version > 0 {
		if err := json.Unmarshal(write.Value, &all); err != nil {
			return made, err
		}
	}
	if earlier := all.find(t.repeat); earlier != nil {
		if earlier.Amount != t.amount {
			return made, kernel.Refuse(fault.Conflict, "Idempotency-Key", "belongs to a top-up of another amount; send a new one")
		}
		return Credited{View: earlier.view(), Repeated: true}, nil
	}
	added, err := t.added(&all, &to)
	if err != nil {
		return made, err
	}
	if *to.Amount = added.Budget; to.Exists != nil {
		*to.Exists = true
	}
	made.View = added.view()
	made.Audit = map[string]any{"budget": made.View.Budget, "credit": map[string]any{"number": added.Number, "amount": made.View.Amount, "note": t.note}}
	write.Value, err = json.Marshal(all)
	made.Write = write
	return made, err
}

// find returns the earlier top-up with the same Idempotency-Key, or nil.
func (all *credits) find(repeat string) *credit {
	for i := range all.Latest {
		if all.Latest[i].Repeat == repeat && repeat != "" {
			return &all.Latest[i]
		}
	}
	return nil
}

// added appends the top-up to the earlier ones.
func (t *TopUp) added(all *credits, to *Prepaid) (added *credit, err error) {
	if to.Cycle != calendar.Total {
		return nil, kernel.Refuse(fault.Conflict, "budgetPeriod", "must be total to add credit, but is "+kernel.Translate(to.Cycle, Cycles, CycleWords))
	}
	next := credit{Number: 1, Repeat: t.repeat, Amount: t.amount, Budget: money.Add(*to.Amount, t.amount)}
	if next.Budget > kernel.MaxBudget() {
		return nil, kernel.Invalid(fault.Detail{Field: "amount", Message: "must not raise the budget, which is " + string(ViewBudget(true, *to.Amount)) +
			" dollars, beyond the maximum of 9000000"})
	}
	if n := len(all.Latest); n > 0 {
		next.Number = all.Latest[n-1].Number + 1
	}
	all.Total = money.Add(all.Total, t.amount)
	next.Total = all.Total
	all.Latest = append(all.Latest, next)
	all.Latest = all.Latest[max(0, len(all.Latest)-maxCredits):]
	return &all.Latest[len(all.Latest)-1], nil
}
