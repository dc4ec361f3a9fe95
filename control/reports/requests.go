package reports

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// RequestView is a recent request as the API returns it.
type RequestView struct {
	Time             string          `json:"time"` // when it was admitted
	RequestID        string          `json:"requestId"`
	KeyID            string          `json:"keyId"`
	Model            *string         `json:"model"`    // null: the request did not name a known model
	Provider         *string         `json:"provider"` // null: no provider was called
	UserAgent        *string         `json:"userAgent"`
	Status           *uint64         `json:"status"` // HTTP status; null: unknown, because the exchange died
	LatencyMs        uint64          `json:"latencyMs"`
	FirstTokenMs     *uint64         `json:"timeToFirstTokenMs"` // null: no provider streamed the response, or an older version settled the request
	PromptTokens     uint64          `json:"promptTokens"`
	CompletionTokens uint64          `json:"completionTokens"`
	Cost             json.RawMessage `json:"cost"` // dollars, exact
	Cache            string          `json:"cache"`
	Stream           bool            `json:"stream"`
	Estimated        bool            `json:"estimated"`
	PromptCache      PromptCacheView `json:"promptCache"`
	Outcome          *string         `json:"outcome"`   // one of OutcomeWords; null like status
	Cause            *string         `json:"cause"`     // one of Causes; null: served, or recorded by an older version
	Code             *string         `json:"code"`      // error code; null like cause
	Diagnosis        *RecordView     `json:"diagnosis"` // null like cause
}

// RequestsView is a page of recent requests as the API returns it.
type RequestsView struct {
	Requests []RequestView `json:"requests"`
	Next     *string       `json:"next"` // pass as "after" to get the next page; null: last page
}

// BatchPrefix makes a cursor of the list look like an ID. It is followed by the number of a batch, an x, and the
// number of a chunk of records.
const BatchPrefix = "batch_"

// RequestFilter selects requests. An empty field matches every request.
type RequestFilter struct {
	ID, Key, Model, Provider, Status, Cache, Outcome, Cause string
	// FromMs and ToMs are the bounds of the time range. ToMs is exclusive. 0 means that there is no bound.
	FromMs, ToMs uint64
	// ProviderTexts shows the messages of providers, which only owners may see.
	ProviderTexts bool
	// Catalog contains the current names of providers. If it is nil, providers are shown as recorded.
	Catalog *config.Config
}

// Sorted returns the page sorted by time. The sorting is necessary, because the batches of different keys overlap.
// next is the cursor of the next page. It is empty on the last page.
func (v RequestsView) Sorted(next string) RequestsView {
	v.dropProvisional()
	kernel.SortBy(v.Requests, func(a, b *RequestView) int { return strings.Compare(b.Time, a.Time) })
	v.Next = kernel.NullIfEmpty(next)
	return v
}

// dropProvisional removes the provisional entries of expired requests that were settled later.
func (v *RequestsView) dropProvisional() {
	settled := map[string]bool{}
	for i := range v.Requests {
		if v.Requests[i].Status != nil {
			settled[v.Requests[i].RequestID] = true
		}
	}
	v.Requests = slices.DeleteFunc(v.Requests, func(r RequestView) bool { return r.Status == nil && settled[r.RequestID] })
}

// Add adds the requests of a batch that match a filter.
func (v *RequestsView) Add(b *ledger.RequestBatch, f *RequestFilter) {
	for i := len(b.Requests) - 1; i >= 0; i-- {
		r := &b.Requests[i]
		if !f.matches(b.KeyID, r) {
			continue
		}
		v.Requests = append(v.Requests, RequestView{
			Time: kernel.Timestamp(r.AtMs), RequestID: r.ID, KeyID: b.KeyID, Model: kernel.NullIfEmpty(r.Model), Provider: kernel.NullIfEmpty(f.provider(r.Provider)),
			UserAgent: kernel.NullIfEmpty(r.Agent),
			Status:    kernel.NullIfZero(r.Status), LatencyMs: r.DurationMs, FirstTokenMs: kernel.NullIfZero(r.FirstMs), PromptTokens: r.Prompt, CompletionTokens: r.Completion,
			Cost: money.Append(nil, r.CostPico, money.Dollar), Cache: kernel.Translate(r.Cache, caches, CacheWords),
			Stream: r.Stream, Estimated: r.Estimated, PromptCache: viewPromptCache(&r.PromptCache), Outcome: kernel.NullIfEmpty(outcomeByStatus(r.Status)),
		})
	}
}

func (f *RequestFilter) matches(keyID string, r *ledger.Request) bool {
	return f.matchesTime(r.AtMs) && (f.ID == "" || f.ID == r.ID) && (f.Key == "" || f.Key == keyID) && (f.Model == "" || f.Model == r.Model) && (f.Provider == "" || f.provider(f.Provider) == f.provider(r.Provider)) &&
		(f.Cache == "" || kernel.Translate(f.Cache, CacheWords, caches) == r.Cache) && f.matchesStatus(r.Status) &&
		(f.Outcome == "" || f.Outcome == outcomeByStatus(r.Status)) && f.Cause == ""
}

func (f *RequestFilter) matchesTime(ms uint64) bool {
	return ms >= f.FromMs && (f.ToMs == 0 || ms < f.ToMs)
}

// provider returns the current name of a recorded provider.
func (f *RequestFilter) provider(recorded string) string {
	if f.Catalog == nil {
		return recorded
	}
	return f.Catalog.ProviderName(recorded)
}

func (f *RequestFilter) matchesStatus(status uint64) bool {
	text := strconv.FormatUint(status, 10)
	return f.Status == "" || f.Status == text || strings.HasSuffix(f.Status, "xx") && text[0] == f.Status[0]
}

// The API's words for cache use and their values, in the same order.
var (
	CacheWords = []string{"bypass", "miss", "hit"}
	caches     = []ledger.Cache{ledger.CacheBypass, ledger.CacheMiss, ledger.CacheHit}
)

// BatchesAtOnce is the number of batches that one call to a ledger reads. A batch has up to 32 requests.
const BatchesAtOnce = 100
