package usage

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
)

var statusWords = []string{"2xx", "4xx", "5xx"}

// listRequests serves GET
// …/requests?limit=&after=&from=&to=&request=&key=&model=&provider=&status=&outcome=&cause=&cache=, which lists
// requests, newest first. The list contains a sample of the served requests, and requests that were not served. A
// page consists of whole batches and chunks, so it may contain slightly more requests than limit.
func (h *handler) listRequests(c *kernel.Call) (kernel.Answer, error) {
	q, err := kernel.ReadQuery(c.Request, reports.BatchPrefix, "from", "to", "request", "key", "model", "provider", "status", "outcome", "cause", "cache")
	if err != nil {
		return kernel.Answer{}, err
	}
	f, at := h.readFilter(q), readPlaceOf(q)
	f.ProviderTexts = c.Actor.Role == kernel.Owner
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
	m := merge{ctx: c, handler: h, project: &p, place: at, calls: maxReads, passedMs: f.FromMs - min(f.FromMs, lateMs)}
	view, err := m.page(q.Limit, &f)
	return kernel.OK(view), err
}

func (h *handler) readFilter(q *kernel.Query) reports.RequestFilter {
	get := q.Values.Get
	f := reports.RequestFilter{
		ID: get("request"), Key: get("key"), Model: get("model"), Provider: get("provider"), Status: get("status"), Cache: q.Choice("cache", reports.CacheWords),
		Outcome: q.Choice("outcome", reports.OutcomeWords), Cause: q.Choice("cause", reports.Causes[:]), Catalog: h.Catalog,
	}
	f.FromMs, f.ToMs = q.Instant("from", 0), q.Instant("to", calendar.DayMs)
	if f.ToMs > 0 && f.ToMs <= f.FromMs {
		q.Problem("to", "must be after from"+kernel.Got(get("to")))
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
	return f
}

// lateMs is the usual maximum time between the beginning of a request and its report. It allows for long requests and
// late reports. After an outage of the ledger, some reports are even later. They do not end a list early, because
// they are read together with other reports.
const lateMs = calendar.HourMs

// maxReads is the maximum number of ledger calls per page.
const maxReads = 8

// place is where a page of the list begins. It begins before the batch and the chunk of records with these numbers.
// Number 0 means that the page begins with the newest batch or chunk. Number 1 means that none is left.
type place struct{ batch, chunk uint64 }

func readPlaceOf(q *kernel.Query) place {
	at, ok := readPlace(q.After)
	if !ok {
		q.Problem("after", kernel.BadCursor+kernel.Got(q.After))
	}
	return at
}

// readPlace decodes a cursor. Older cursors do not contain a chunk.
func readPlace(after string) (at place, ok bool) {
	if after == "" {
		return at, true
	}
	batch, chunk, two := strings.Cut(strings.TrimPrefix(after, reports.BatchPrefix), "x")
	if !two {
		chunk = "1"
	}
	var errs [2]error
	at.batch, errs[0] = strconv.ParseUint(batch, 10, 53)
	at.chunk, errs[1] = strconv.ParseUint(chunk, 10, 53)
	return at, errs[0] == nil && errs[1] == nil && (two || at.batch > 0) && at != place{1, 1}
}

// cursor returns the place as a cursor. It is empty if nothing follows.
func (at place) cursor() string {
	if at == (place{1, 1}) {
		return ""
	}
	return reports.BatchPrefix + strconv.FormatUint(at.batch, 10) + "x" + strconv.FormatUint(at.chunk, 10)
}

// merge reads the batches of served requests and the chunks of other requests. It always takes the newer of the next
// batch and the next chunk.
type merge struct {
	ctx     context.Context
	handler *handler
	project *directory.Project
	place   place // where the next page begins
	batches []ledger.RequestBatch
	chunks  []ledger.Chunk
	calls   int // remaining
	// passedMs is a time before the range. If everything that one call returns is older than passedMs, the rest of
	// the list is outside the range.
	passedMs uint64
	// lastBatches and lastChunks report whether the last batches or chunks have been read.
	lastBatches, lastChunks bool
}

// page reads until the page is full, nothing is left, or all calls are used up.
func (m *merge) page(limit int, f *reports.RequestFilter) (view reports.RequestsView, err error) {
	view.Requests = []reports.RequestView{}
	for len(view.Requests) < limit {
		if ok, err := m.fill(); err != nil || !ok {
			return view.Sorted(m.place.cursor()), err
		}
		switch {
		case len(m.chunks) == 0 || len(m.batches) > 0 && m.batchIsNewer():
			view.Add(&m.batches[0], f)
			m.place.batch, m.batches = m.after(m.batches[0].Seq, len(m.batches), m.lastBatches), m.batches[1:]
		default:
			view.AddChunk(&m.chunks[0], f)
			m.place.chunk, m.chunks = m.after(m.chunks[0].Seq, len(m.chunks), m.lastChunks), m.chunks[1:]
		}
	}
	return view.Sorted(m.place.cursor()), nil
}

// after returns the place after the first of the n batches or chunks that have been read. seq is the number of the
// first one. If last is true, the n-th one is the oldest of the list.
func (m *merge) after(seq uint64, n int, last bool) uint64 {
	if last && n == 1 {
		return 1
	}
	return seq
}

func (m *merge) batchIsNewer() bool {
	batch, chunk := m.batches[0].Requests, m.chunks[0].Records
	return len(chunk) == 0 || len(batch) > 0 && batch[len(batch)-1].AtMs >= chunk[len(chunk)-1].AtMs
}

// fill reads more batches if no batch is left, and more chunks if no chunk is left. It returns false if nothing
// follows or no calls remain.
func (m *merge) fill() (ok bool, err error) {
	if len(m.batches) == 0 && m.place.batch != 1 {
		if m.calls == 0 {
			return false, nil
		}
		if m.batches, err = m.readBatches(); err != nil {
			return false, err
		}
	}
	if len(m.chunks) == 0 && m.place.chunk != 1 {
		if m.calls == 0 {
			return false, nil
		}
		if m.chunks, err = m.readChunks(); err != nil {
			return false, err
		}
	}
	return len(m.batches)+len(m.chunks) > 0, nil
}

func (m *merge) readBatches() ([]ledger.RequestBatch, error) {
	command := ledger.Recent{Before: m.place.batch, Limit: reports.BatchesAtOnce}
	reply, err := m.call(command.Encode())
	if err != nil {
		return nil, err
	}
	batches, err := ledger.DecodeRecent(reply)
	m.lastBatches = len(batches) < reports.BatchesAtOnce
	if m.arePassed(len(batches), func(i int) (ms uint64) {
		for _, r := range batches[i].Requests {
			ms = max(ms, r.AtMs)
		}
		return ms
	}) {
		m.place.batch, batches = 1, nil
	}
	return batches, err
}

// chunksAtOnce is the number of chunks that one call reads. Together, they have about a megabyte.
const chunksAtOnce = 64

func (m *merge) readChunks() ([]ledger.Chunk, error) {
	command := ledger.Records{Before: m.place.chunk, Limit: chunksAtOnce}
	reply, err := m.call(command.Encode())
	if err != nil {
		return nil, err
	}
	chunks, err := ledger.DecodeRecords(reply)
	m.lastChunks = len(chunks) < chunksAtOnce
	if m.arePassed(len(chunks), func(i int) (ms uint64) {
		for _, r := range chunks[i].Records {
			ms = max(ms, r.AtMs)
		}
		return ms
	}) {
		m.place.chunk, chunks = 1, nil
	}
	return chunks, err
}

// arePassed reports whether the list ends before the n batches or chunks that were read. The list ends there if n is
// 0 or if all n are before the range. newest returns the time of the newest request in one of them.
func (m *merge) arePassed(n int, newest func(i int) uint64) bool {
	for i := range n {
		if newest(i) >= m.passedMs {
			return false
		}
	}
	return true
}

func (m *merge) call(command []byte) ([]byte, error) {
	m.calls--
	reply, err := m.handler.Store.Objects.Call(m.ctx, abi.ClassLedger, m.project.ID, m.project.Region, command)
	if err != nil {
		return nil, kernel.Unavailable(err)
	}
	return reply, nil
}
