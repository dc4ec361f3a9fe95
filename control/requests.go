package control

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// requestView is a recent request in the API.
type requestView struct {
	Time             string          `json:"time"` // when it was admitted
	RequestID        string          `json:"requestId"`
	KeyID            string          `json:"keyId"`
	Model            *string         `json:"model"`    // null: it named no known model
	Provider         *string         `json:"provider"` // null: no provider was called
	Status           *uint64         `json:"status"`   // HTTP status; null: unknown, because its exchange died
	LatencyMs        uint64          `json:"latencyMs"`
	PromptTokens     uint64          `json:"promptTokens"`
	CompletionTokens uint64          `json:"completionTokens"`
	Cost             json.RawMessage `json:"cost"` // dollars, exact
	Cache            string          `json:"cache"`
	Stream           bool            `json:"stream"`
	Estimated        bool            `json:"estimated"`
}

type requestsView struct {
	Requests []requestView `json:"requests"`
	Next     *string       `json:"next"` // cursor for after; null: last page
}

var (
	cacheWords  = []string{"bypass", "miss", "hit"}
	caches      = []ledger.Cache{ledger.CacheBypass, ledger.CacheMiss, ledger.CacheHit}
	statusWords = []string{"2xx", "4xx", "5xx"}
)

// batchPrefix makes a cursor of the list look like an ID; it is followed by a batch number.
const batchPrefix = "batch_"

// How many of a ledger's batches, of up to 32 requests each, one request reads.
const (
	batchesAtOnce = 100
	maxBatchReads = 5
)

// requestFilter selects requests; an empty field selects all.
type requestFilter struct {
	key, model, provider, status, cache string
}

// listRequests is GET …/requests?limit=&after=&key=&model=&provider=&status=&cache=, newest first. A page
// consists of whole batches, so it may have somewhat more requests than limit.
func (h *handler) listRequests(c *call) (answer, error) {
	q, err := readQuery(c.request, batchPrefix, "key", "model", "provider", "status", "cache")
	if err != nil {
		return answer{}, err
	}
	f := requestFilter{
		q.values.Get("key"), q.values.Get("model"), q.values.Get("provider"), q.values.Get("status"), q.choice("cache", cacheWords),
	}
	if before, err := strconv.ParseUint(strings.TrimPrefix(q.after, batchPrefix), 10, 53); q.after != "" && (err != nil || before == 0) {
		q.problem("after", badCursor+got(q.after))
	}
	if code, err := strconv.ParseUint(f.status, 10, 16); f.status != "" && (err != nil || code < 100 || code > 599) && !slices.Contains(statusWords, f.status) {
		q.problem("status", "must be an HTTP status code, 2xx, 4xx or 5xx"+got(f.status))
	}
	if f.key != "" && !isID(f.key, keyPrefix) {
		q.problem("key", badKeyID+got(f.key))
	}
	if err := q.err(); err != nil {
		return answer{}, err
	}
	p, err := h.store.project(c, c.project)
	if err != nil {
		return answer{}, err
	}
	if q.after == "" {
		if _, err := h.flushMeters(c, &p); err != nil {
			return answer{}, err
		}
	}
	view, err := h.requests(c, &p, q, &f)
	return answer{http.StatusOK, view}, err
}

// requests reads batches until the page is full, there are no more, or the read limit is reached.
func (h *handler) requests(c *call, p *project, q *query, f *requestFilter) (requestsView, error) {
	view := requestsView{Requests: []requestView{}}
	before, _ := strconv.ParseUint(strings.TrimPrefix(q.after, batchPrefix), 10, 53)
	for range maxBatchReads {
		command := ledger.Recent{Before: before, Limit: batchesAtOnce}
		reply, err := h.store.objects.Call(c, abi.ClassLedger, p.ID, p.Region, command.Encode())
		if err != nil {
			return view, unavailable(err)
		}
		batches, err := ledger.DecodeRecent(reply)
		if err != nil {
			return view, err
		}
		for i := range batches {
			if len(view.Requests) >= q.limit {
				return view.sorted(before), nil
			}
			view.add(&batches[i], f)
			before = batches[i].Seq
		}
		if len(batches) < batchesAtOnce {
			return view.sorted(0), nil
		}
	}
	return view.sorted(before), nil
}

// sorted orders requests by time, because the batches of different keys overlap. next is the batch before
// which the next page starts; 0: last page.
func (v requestsView) sorted(next uint64) requestsView {
	v.dropProvisional()
	sortBy(v.Requests, func(a, b *requestView) int { return strings.Compare(b.Time, a.Time) })
	if next > 1 {
		text := batchPrefix + strconv.FormatUint(next, 10)
		v.Next = &text
	}
	return v
}

// dropProvisional removes the entries of expired requests that were settled later.
func (v *requestsView) dropProvisional() {
	settled := map[string]bool{}
	for i := range v.Requests {
		if v.Requests[i].Status != nil {
			settled[v.Requests[i].RequestID] = true
		}
	}
	v.Requests = slices.DeleteFunc(v.Requests, func(r requestView) bool { return r.Status == nil && settled[r.RequestID] })
}

func (v *requestsView) add(b *ledger.RequestBatch, f *requestFilter) {
	for i := len(b.Requests) - 1; i >= 0; i-- {
		r := &b.Requests[i]
		if !f.matches(b.KeyID, r) {
			continue
		}
		v.Requests = append(v.Requests, requestView{
			Time: timestamp(r.AtMs), RequestID: r.ID, KeyID: b.KeyID, Model: nullIfEmpty(r.Model), Provider: nullIfEmpty(r.Provider),
			Status: nullIfZero(r.Status), LatencyMs: r.DurationMs, PromptTokens: r.Prompt, CompletionTokens: r.Completion,
			Cost: money.Append(nil, r.CostPico, money.Dollar), Cache: translate(r.Cache, caches, cacheWords),
			Stream: r.Stream, Estimated: r.Estimated,
		})
	}
}

func (f *requestFilter) matches(keyID string, r *ledger.Request) bool {
	return (f.key == "" || f.key == keyID) && (f.model == "" || f.model == r.Model) && (f.provider == "" || f.provider == r.Provider) &&
		(f.cache == "" || translate(f.cache, cacheWords, caches) == r.Cache) && f.matchesStatus(r.Status)
}

func (f *requestFilter) matchesStatus(status uint64) bool {
	text := strconv.FormatUint(status, 10)
	return f.status == "" || f.status == text || strings.HasSuffix(f.status, "xx") && text[0] == f.status[0]
}
