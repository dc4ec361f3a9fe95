package ledger

import "github.com/postern-ai/postern/core/abi"

// Cache says what the cache had to do with a request.
type Cache uint8

const (
	CacheBypass Cache = 0 // it was not asked
	CacheMiss   Cache = 1
	CacheHit    Cache = 2
)

// Request is what is remembered of one request: never what was asked or answered.
type Request struct {
	AtMs       uint64 // when it was let in
	ID         string
	Model      string
	Provider   string
	Status     uint64 // of the answer; 0: nobody said, its exchange died
	DurationMs uint64
	Prompt     uint64
	Completion uint64
	CostPico   int64
	Cache      Cache
	Stream     bool
	Estimated  bool
}

// EncodeRequests appends requests, and DecodeRequests takes them off again.
func EncodeRequests(w *abi.Writer, requests []Request) {
	w.Uint(uint64(len(requests)))
	for i := range requests {
		q := &requests[i]
		w.Uint(q.AtMs)
		w.String(q.ID)
		w.String(q.Model)
		w.String(q.Provider)
		w.Uint(q.Status)
		w.Uint(q.DurationMs)
		w.Uint(q.Prompt)
		w.Uint(q.Completion)
		w.Int(q.CostPico)
		w.Uint(uint64(q.Cache))
		w.Bool(q.Stream)
		w.Bool(q.Estimated)
	}
}

// DecodeRequests is EncodeRequests' other half.
func DecodeRequests(r *abi.Reader) (requests []Request) {
	for n := r.Count(); n > 0; n-- {
		requests = append(requests, Request{
			r.Uint(), r.String(), r.String(), r.String(), r.Uint(), r.Uint(), r.Uint(), r.Uint(), r.Int(), Cache(r.Byte()), r.Bool(), r.Bool(),
		})
	}
	return requests
}

// Recent asks for batches of remembered requests, newest first: those before the batch numbered Before (0:
// all), at most Limit.
type Recent struct{ Before, Limit uint64 }

// Batched are requests of one key.
type Batched struct {
	Seq      uint64 // for Before
	KeyID    string
	Requests []Request // oldest first
}

// KeepBatches is how many batches are remembered: each holds at least one request.
const KeepBatches = 1000

// recentKey is the row of a batch: a ring, so that nothing has to be deleted.
func recentKey(seq uint64) string { return rowRecent + abi.Fixed(seq%KeepBatches) }

// remember puts a batch's requests into the ring.
func (c *call) remember(a *Absorb) {
	if len(a.Recent) == 0 {
		return
	}
	c.b.recent++
	w := abi.Writer{Buf: make([]byte, 0, 128*len(a.Recent))}
	w.Uint(format)
	w.Uint(c.b.recent)
	w.String(a.KeyID)
	EncodeRequests(&w, a.Recent)
	c.put(recentKey(c.b.recent), w.Buf)
}

// recent answers with what the ring has. Which rows those are is known only once the first was read.
func (c *call) recent(q *Recent) error {
	last := c.b.recent
	if q.Before > 0 {
		last = min(last, q.Before-1)
	}
	oldest := c.b.recent - min(c.b.recent, KeepBatches)
	first := max(oldest, last-min(last, q.Limit))
	if c.in.Round == 0 && last > first {
		for seq := first + 1; seq <= last; seq++ {
			c.out.Ranges = append(c.out.Ranges, abi.Range{Start: recentKey(seq)})
		}
		return nil
	}
	var w abi.Writer
	var found uint64
	batches := abi.Writer{}
	for seq := last; seq > first; seq-- {
		if row, ok := c.row(recentKey(seq)); ok {
			batches.Bytes(row)
			found++
		}
	}
	w.Uint(found)
	c.out.Reply = append(w.Buf, batches.Buf...)
	return nil
}

// Encode is the command.
func (q *Recent) Encode() []byte {
	var w abi.Writer
	w.Uint(opRecent)
	w.Uint(q.Before)
	w.Uint(q.Limit)
	return w.Buf
}

// DecodeRecent reads the answer to Recent.
func DecodeRecent(data []byte) (batches []Batched, err error) {
	r := abi.Reader{Buf: data}
	for n := r.Count(); n > 0; n-- {
		row := abi.Reader{Buf: r.Bytes()}
		if row.Uint() != format {
			return nil, abi.ErrMalformed
		}
		batches = append(batches, Batched{row.Uint(), row.String(), DecodeRequests(&row)})
		if err := row.End(); err != nil {
			return nil, err
		}
	}
	return batches, r.End()
}
