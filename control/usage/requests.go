package usage

import (
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
)

var statusWords = []string{"2xx", "4xx", "5xx"}

// listRequests is GET …/requests?limit=&after=&request=&key=&model=&provider=&status=&cache=, newest first. A page
// consists of whole batches, so it may have somewhat more requests than limit.
func (h *handler) listRequests(c *kernel.Call) (kernel.Answer, error) {
	q, err := kernel.ReadQuery(c.Request, reports.BatchPrefix, "request", "key", "model", "provider", "status", "cache")
	if err != nil {
		return kernel.Answer{}, err
	}
	f := reports.RequestFilter{
		ID: q.Values.Get("request"), Key: q.Values.Get("key"), Model: q.Values.Get("model"), Provider: q.Values.Get("provider"), Status: q.Values.Get("status"), Cache: q.Choice("cache", reports.CacheWords),
		Catalog: h.Catalog,
	}
	if before, err := strconv.ParseUint(strings.TrimPrefix(q.After, reports.BatchPrefix), 10, 53); q.After != "" && (err != nil || before == 0) {
		q.Problem("after", kernel.BadCursor+kernel.Got(q.After))
	}
	if code, err := strconv.ParseUint(f.Status, 10, 16); f.Status != "" && (err != nil || code < 100 || code > 599) && !slices.Contains(statusWords, f.Status) {
		q.Problem("status", "must be an HTTP status code, 2xx, 4xx or 5xx"+kernel.Got(f.Status))
	}
	if f.ID != "" && !kernel.IsRequestID(f.ID) {
		q.Problem("request", "must be a request ID, which is req_ and 32 lowercase hexadecimal digits"+kernel.Got(f.ID))
	}
	if f.Key != "" && !kernel.IsID(f.Key, kernel.KeyPrefix) {
		q.Problem("key", kernel.BadKeyID+kernel.Got(f.Key))
	}
	if err := q.Err(); err != nil {
		return kernel.Answer{}, err
	}
	p, err := h.Store.Project(c, c.Project)
	if err != nil {
		return kernel.Answer{}, err
	}
	if q.After == "" {
		if _, err := reports.FlushMeters(c, h.Plane, &p); err != nil {
			return kernel.Answer{}, err
		}
	}
	view, err := h.requests(c, &p, q, &f)
	return kernel.OK(view), err
}

// requests reads batches until the page is full, there are no more, or the read limit is reached.
func (h *handler) requests(c *kernel.Call, p *directory.Project, q *kernel.Query, f *reports.RequestFilter) (reports.RequestsView, error) {
	view := reports.RequestsView{Requests: []reports.RequestView{}}
	before, _ := strconv.ParseUint(strings.TrimPrefix(q.After, reports.BatchPrefix), 10, 53)
	for range maxBatchReads {
		command := ledger.Recent{Before: before, Limit: reports.BatchesAtOnce}
		reply, err := h.Store.Objects.Call(c, abi.ClassLedger, p.ID, p.Region, command.Encode())
		if err != nil {
			return view, kernel.Unavailable(err)
		}
		batches, err := ledger.DecodeRecent(reply)
		if err != nil {
			return view, err
		}
		for i := range batches {
			if len(view.Requests) >= q.Limit {
				return view.Sorted(before), nil
			}
			view.Add(&batches[i], f)
			before = batches[i].Seq
		}
		if len(batches) < reports.BatchesAtOnce {
			return view.Sorted(0), nil
		}
	}
	return view.Sorted(before), nil
}

// maxBatchReads is how many calls one request makes to read batches.
const maxBatchReads = 5
