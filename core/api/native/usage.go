package native

import (
	"strconv"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/head"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/money"
)

// UsageQuery is the query of GET /api/usage?projectId=…&period=day|week|month&outcomes=true.
type UsageQuery struct {
	ProjectID string
	Period    string // empty: month
	Outcomes  bool   // the outcomes of all requests are wanted
}

// ParseUsageQuery reads a query. It adds problems to the Parser.
func ParseUsageQuery(p *api.Parser, query string) UsageQuery {
	q := UsageQuery{ProjectID: head.QueryParam(query, "projectId"), Period: head.QueryParam(query, "period")}
	if q.ProjectID == "" {
		p.Wrong("projectId", "is required")
	}
	switch q.Period {
	case "", "day", "week", "month":
	default:
		p.Wrong("period", "must be day, week or month, got "+api.Quote(q.Period))
	}
	switch outcomes := head.QueryParam(query, "outcomes"); outcomes {
	case "", "false":
	case "true":
		q.Outcomes = true
	default:
		p.Wrong("outcomes", "must be true or false, got "+api.Quote(outcomes))
	}
	return q
}

// Days returns the first day of the period that contains the given day, and the day after the period's last day.
func (q *UsageQuery) Days(today uint64) (first, end uint64) {
	switch q.Period {
	case "day":
		return today, today + 1
	case "week":
		monday := calendar.Monday(today)
		return monday, monday + 7
	}
	month := calendar.Month(today)
	return calendar.MonthStart(month), calendar.MonthStart(month + 1)
}

// UsageReport is the UsageReport of docs/openapi.yaml. It covers the days from FirstDay up to, but not including,
// EndDay.
type UsageReport struct {
	FirstDay, EndDay     uint64
	BudgetPico, UsedPico money.Pico
	Models               []ModelUsage // a model without requests or cost has only cache figures
	WithOutcomes         bool
	Outcomes             []ModelOutcomes
}

// ModelUsage is the usage of one model.
type ModelUsage struct {
	Model            string
	Requests, Tokens uint64
	CostPico         money.Pico
	Hits, Misses     uint64 // in the cache
	PromptCache      PromptCache
}

// PromptCache contains the numbers of tokens read from and written to providers' prompt caches, and the amount saved;
// see ledger.PromptCache.
type PromptCache struct {
	Read, Written uint64 // tokens
	SavedPico     money.Pico
}

// AppendUsageReport appends the response to GET /api/usage.
func AppendUsageReport(dst []byte, r *UsageReport) []byte {
	var hits, misses uint64
	var cached PromptCache
	for i := range r.Models {
		hits += r.Models[i].Hits
		misses += r.Models[i].Misses
		cached.Read += r.Models[i].PromptCache.Read
		cached.Written += r.Models[i].PromptCache.Written
		cached.SavedPico = money.Add(cached.SavedPico, r.Models[i].PromptCache.SavedPico)
	}
	b := append(dst, `{"budget":{"limit":`...)
	b = money.Append(b, r.BudgetPico, money.Dollar)
	b = money.Append(append(b, `,"used":`...), r.UsedPico, money.Dollar)
	b = money.Append(append(b, `,"remaining":`...), max(0, r.BudgetPico-r.UsedPico), money.Dollar)
	b = strconv.AppendUint(append(b, `},"cache":{"hits":`...), hits, 10)
	b = strconv.AppendUint(append(b, `,"misses":`...), misses, 10)
	b = appendPercent(append(b, `,"hitRate":`...), hits, hits+misses)
	b = cached.appendTo(append(b, '}'))
	b = append(b, `,"models":{`...)
	separator := ""
	for i := range r.Models {
		if u := &r.Models[i]; u.Requests > 0 || u.CostPico != 0 {
			b = appendModelUsage(append(b, separator...), u)
			separator = ","
		}
	}
	b = append(b, '}')
	if r.WithOutcomes {
		b = appendOutcomes(b, r.Outcomes)
	}
	b = calendar.AppendDate(append(b, `,"period":{"start":"`...), r.FirstDay)
	b = calendar.AppendDate(append(b, `T00:00:00.000Z","end":"`...), r.EndDay)
	return append(b, `T00:00:00.000Z"}}`...)
}

func appendModelUsage(b []byte, u *ModelUsage) []byte {
	b = jsontext.AppendString(b, u.Model)
	b = strconv.AppendUint(append(b, `:{"requests":`...), u.Requests, 10)
	b = strconv.AppendUint(append(b, `,"tokens":`...), u.Tokens, 10)
	b = money.Append(append(b, `,"cost":`...), u.CostPico, money.Dollar)
	if u.PromptCache != (PromptCache{}) {
		b = u.PromptCache.appendTo(b)
	}
	return append(b, '}')
}

func (p *PromptCache) appendTo(b []byte) []byte {
	b = strconv.AppendUint(append(b, `,"promptCache":{"readTokens":`...), p.Read, 10)
	b = strconv.AppendUint(append(b, `,"writeTokens":`...), p.Written, 10)
	b = money.Append(append(b, `,"saved":`...), p.SavedPico, money.Dollar)
	return append(b, '}')
}

// appendPercent appends part/whole in percent with two decimal places. If whole is 0, it appends 0.
func appendPercent(b []byte, part, whole uint64) []byte {
	if whole == 0 {
		return append(b, '0')
	}
	return money.Append(b, int64((part*10000+whole/2)/whole), 100)
}
