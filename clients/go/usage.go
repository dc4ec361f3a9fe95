package postern

import (
	"context"
	"time"
)

// UsageService reports usage. Any kind of key with the "usage" permission works.
type UsageService struct{ client *Client }

// UsageParams are the parameters of a usage report. All are optional.
type UsageParams struct {
	ProjectID string // the key's project; if it is empty, the client asks for the project once and remembers it
	Period    Period // default PeriodMonth
}

// Period is the current day, week or month, in UTC.
type Period string

// The periods. A week begins on Monday.
const (
	PeriodDay   Period = "day"
	PeriodWeek  Period = "week"
	PeriodMonth Period = "month"
)

// UsageReport is the usage of a project.
type UsageReport struct {
	Budget Budget                `json:"budget"`
	Cache  CacheUsage            `json:"cache"`
	Models map[string]ModelUsage `json:"models"` // by model name
	Period TimeRange             `json:"period"`

	// PromptCache is the use of the providers' prompt caches, summed over all models.
	PromptCache PromptCacheUsage `json:"promptCache"`
}

// Budget is the project's budget in the current period, in US dollars.
type Budget struct {
	Limit     float64 `json:"limit"`
	Used      float64 `json:"used"`
	Remaining float64 `json:"remaining"`
}

// CacheUsage counts lookups in the gateway's cache.
type CacheUsage struct {
	Hits    int     `json:"hits"`
	Misses  int     `json:"misses"`
	HitRate float64 `json:"hitRate"` // percent
}

// ModelUsage is the usage of one model.
type ModelUsage struct {
	Requests int     `json:"requests"` // served requests, including cache hits
	Tokens   int     `json:"tokens"`   // input and output tokens, without cache hits
	Cost     float64 `json:"cost"`     // US dollars

	PromptCache PromptCacheUsage `json:"promptCache"`
}

// PromptCacheUsage counts input tokens that providers read from their own prompt caches or wrote to them. A hit in
// the gateway's cache does not count, because it does not call a provider.
type PromptCacheUsage struct {
	ReadTokens  int     `json:"readTokens"`
	WriteTokens int     `json:"writeTokens"`
	Saved       float64 `json:"saved"` // US dollars; negative if writes cost more than reads saved
}

// TimeRange is the time from Start to End. End is not part of the range.
type TimeRange struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// Get returns the usage of the key's project, including all requests that ended before this call.
func (s UsageService) Get(ctx context.Context, params UsageParams, opts ...CallOption) (*UsageReport, error) {
	if params.ProjectID == "" {
		project, err := s.project(ctx, opts)
		if err != nil {
			return nil, err
		}
		params.ProjectID = project
	}
	query := queryOf("projectId", params.ProjectID, "period", string(params.Period))
	report, _, err := fetch[UsageReport](ctx, s.client, get("/api/usage", query), opts)
	return report, err
}

// project returns the key's project. It remembers the project, because the project of a key never changes.
func (s UsageService) project(ctx context.Context, opts []CallOption) (string, error) {
	c := s.client
	if err := c.check(ctx); err != nil {
		return "", err
	}
	c.mu.Lock()
	known := c.project
	c.mu.Unlock()
	if known != "" {
		return known, nil
	}
	health, err := c.Health.Get(ctx, opts...)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	c.project = health.ProjectID
	c.mu.Unlock()
	return health.ProjectID, nil
}
