// Package reports reads the ledger of a project: usage, recent requests and violations.
package reports

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// Figures are totals of usage.
type Figures struct {
	Requests         uint64          `json:"requests"` // served and not served; see OutcomesView
	Hits             uint64          `json:"hits"`
	Misses           uint64          `json:"misses"`
	Failed           uint64          `json:"failed"`
	PromptTokens     uint64          `json:"promptTokens"`
	CompletionTokens uint64          `json:"completionTokens"`
	Cost             json.RawMessage `json:"cost"`             // dollars, exact
	Estimated        uint64          `json:"estimated"`        // requests for which the provider did not report usage
	Expired          uint64          `json:"expired"`          // requests for which the reservation was charged because they were never settled
	Latency          *DurationsView  `json:"latency"`          // null: not measured
	TimeToFirstToken *DurationsView  `json:"timeToFirstToken"` // of streams only; null: not measured
	PromptCache      PromptCacheView `json:"promptCache"`
	Attempts         AttemptsView    `json:"attempts"`
	Outcomes         OutcomesView    `json:"outcomes"`
}

// PromptCacheView contains the figures of the providers' prompt caches. Figures.PromptTokens includes these tokens.
type PromptCacheView struct {
	ReadTokens  uint64          `json:"readTokens"`
	WriteTokens uint64          `json:"writeTokens"`
	Saved       json.RawMessage `json:"saved"` // dollars, exact; negative if writes cost more than reads saved
}

func viewPromptCache(p *ledger.PromptCache) PromptCacheView {
	return PromptCacheView{p.Read, p.Written, money.Append(nil, p.SavedPico, money.Dollar)}
}

// AttemptsView counts attempts to call providers. A request has one or more, but a hit in the gateway's cache has
// none.
type AttemptsView struct {
	Total   uint64     `json:"total"`
	Failed  FailedView `json:"failed"`
	Rescued uint64     `json:"rescued"` // requests that were served by falling back to the model
	Opened  uint64     `json:"opened"`  // how often the target's circuit opened; these are not attempts
}

// FailedView counts failed attempts by cause; see ledger.Cause.
type FailedView struct {
	Busy        uint64 `json:"busy"`
	Rejected    uint64 `json:"rejected"`
	Unavailable uint64 `json:"unavailable"`
	Timeout     uint64 `json:"timeout"`
	Connection  uint64 `json:"connection"`
	Cut         uint64 `json:"cut"`
	Unusable    uint64 `json:"unusable"`
	Broken      uint64 `json:"broken"`
}

// ViewAttempts returns the API's view of attempts. For each served request, the total includes one successful
// attempt. Cache hits and responses of the built-in provider have no attempts. A stream that broke off counts as
// served.
func ViewAttempts(u *ledger.Usage) AttemptsView {
	n := &u.Attempts.Failed
	v := AttemptsView{Total: u.Tried(), Failed: FailedView{
		n[ledger.CauseBusy], n[ledger.CauseRejected], n[ledger.CauseUnavailable], n[ledger.CauseTimeout], n[ledger.CauseConnection],
		n[ledger.CauseCut], n[ledger.CauseUnusable], n[ledger.CauseBroken],
	}, Rescued: u.Attempts.Rescued, Opened: u.Attempts.Opened}
	for cause, count := range n {
		if cause != int(ledger.CauseBroken) {
			v.Total += count
		}
	}
	return v
}

// ViewFigures returns the API's view of an activity's figures.
func ViewFigures(a *ledger.Activity) Figures {
	u := a.Usage
	notNegative(&u)
	o := u.Outcomes()
	return Figures{
		o.Requests, u.Hits, u.Misses, o.Failed, u.Prompt, u.Completion, money.Append(nil, u.CostPico, money.Dollar),
		u.Estimated, u.Expired, viewLatency(a), viewDurations(&a.FirstToken), viewPromptCache(&u.PromptCache), ViewAttempts(&u), viewOutcomes(&u, &o),
	}
}

// notNegative sets negative counters to zero. A late settlement takes back the charge of its reservation. If it does
// so in a later ten-minute span, that span's counter can be negative.
func notNegative(u *ledger.Usage) {
	for _, n := range []*uint64{&u.Requests, &u.Expired, &u.Mocked} {
		if int64(*n) < 0 {
			*n = 0
		}
	}
}

// UsageRow is the usage of one group.
type UsageRow struct {
	Day      *string `json:"day,omitempty"`
	Hour     *string `json:"hour,omitempty"`
	Minute   *string `json:"minute,omitempty"`
	KeyID    *string `json:"keyId,omitempty"`
	KeyName  *string `json:"keyName,omitempty"`
	Model    *string `json:"model,omitempty"`
	Provider *string `json:"provider,omitempty"`
	Figures
}

// maxUsageRows is the maximum number of rows in one response. A response of that size takes 80 MB to build. Larger
// reports must be requested in parts.
const maxUsageRows = 40_000

// Groups reads all pages of a query, including the requests that were not served.
func Groups(ctx context.Context, cp *kernel.Plane, p *directory.Project, q ledger.Query) ([]ledger.Group, error) {
	all, err := UsageGroups(ctx, cp, p, q)
	if err != nil {
		return nil, err
	}
	merged := merger{all: all, at: map[groupID]int{}}
	for i := range all {
		merged.at[idOf(&all[i])] = i
	}
	if err := EndGroups(ctx, cp, p, q, merged.add); err != nil {
		return nil, err
	}
	if len(merged.all) > len(all) {
		inOrder(merged.all)
	}
	return merged.all, nil
}

// UsageGroups reads all pages of a usage query.
func UsageGroups(ctx context.Context, cp *kernel.Plane, p *directory.Project, q ledger.Query) ([]ledger.Group, error) {
	merged := merger{at: map[groupID]int{}}
	for {
		part, err := QueryPage(ctx, cp, p, &q)
		if err != nil {
			return nil, err
		}
		for i := range part.Groups {
			if err := merged.add(&part.Groups[i]); err != nil {
				return nil, err
			}
		}
		if part.Next == "" {
			return merged.all, nil
		}
		q.After = part.Next
	}
}

type merger struct {
	all []ledger.Group
	at  map[groupID]int
}

func idOf(g *ledger.Group) groupID {
	return groupID{g.KeyID, g.Usage.Model, g.Usage.Day, g.Usage.Hour}
}

func (m *merger) add(g *ledger.Group) error {
	id := idOf(g)
	if i, ok := m.at[id]; ok {
		m.all[i].Usage.Plus(&g.Usage)
		return nil
	}
	if len(m.all) > maxUsageRows {
		return kernel.Invalid(tooMuchUsage)
	}
	m.at[id] = len(m.all)
	m.all = append(m.all, *g)
	return nil
}

// inOrder sorts groups by time, then by key and model. A query returns them in the same order.
func inOrder(all []ledger.Group) {
	kernel.SortBy(all, func(a, b *ledger.Group) int {
		return cmp.Or(cmp.Compare(a.Usage.Day, b.Usage.Day), cmp.Compare(a.Usage.Hour, b.Usage.Hour), strings.Compare(a.KeyID, b.KeyID),
			strings.Compare(a.Usage.Model, b.Usage.Model))
	})
}

// QueryPage reads one page of a query.
func QueryPage(ctx context.Context, cp *kernel.Plane, p *directory.Project, q *ledger.Query) (ledger.QueryReply, error) {
	reply, err := cp.Store.Objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, q.Encode())
	if err != nil {
		return ledger.QueryReply{}, kernel.Unavailable(err)
	}
	return ledger.DecodeQueryReply(reply)
}

type groupID struct {
	key, model string
	day, hour  uint64
}

// UsageRowOf converts a group to a row with its name.
func UsageRowOf(by ledger.Grouping, g *ledger.Group) UsageRow {
	r := UsageRow{Figures: ViewFigures(&ledger.Activity{Usage: g.Usage})}
	day, model := kernel.DateText(g.Usage.Day), g.Usage.Model
	switch by {
	case ledger.ByDay:
		r.Day = &day
	case ledger.ByHour:
		hour := kernel.Timestamp(g.Usage.Day*calendar.DayMs + g.Usage.Hour*calendar.HourMs)
		r.Hour = &hour
	case ledger.ByModel:
		r.Model = &model
	case ledger.ByKey:
		r.KeyID = &g.KeyID
	default:
		r.Day, r.KeyID, r.Model = &day, &g.KeyID, &model
	}
	return r
}

var tooMuchUsage = fault.Detail{Field: "to", Message: "covers too much usage for one response; request fewer days at a time"}
