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

// RequestFields lists a request's fields.
func RequestFields(f *abi.Fields, q *Request) {
	f.Uint(&q.AtMs)
	f.String(&q.ID)
	f.String(&q.Model)
	f.String(&q.Provider)
	f.Uint(&q.Status)
	f.Uint(&q.DurationMs)
	f.Uint(&q.Prompt)
	f.Uint(&q.Completion)
	f.Int(&q.CostPico)
	abi.Enum(f, &q.Cache)
	f.Bool(&q.Stream)
	f.Bool(&q.Estimated)
}

// Recent asks for batches of remembered requests, newest first: those before the batch numbered Before (0:
// all), at most Limit.
type Recent struct{ Before, Limit uint64 }

// RequestBatch are requests of one key.
type RequestBatch struct {
	Seq      uint64 // for Before
	KeyID    string
	Requests []Request // oldest first
}

// fields lists the row.
func (b *RequestBatch) fields(f *abi.Fields) {
	formatField(f)
	f.Uint(&b.Seq)
	f.String(&b.KeyID)
	abi.List(f, &b.Requests, RequestFields)
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
	c.put(recentKey(c.b.recent), encode(0, &RequestBatch{c.b.recent, a.KeyID, a.Recent}, 128*len(a.Recent)))
}

// recent answers with what the ring has. Which rows those are is known only once the first was read.
func (c *call) recent(q *Recent) error {
	last := min(c.b.recent, q.Before-1) // 0-1 is the largest number
	oldest := c.b.recent - min(c.b.recent, KeepBatches)
	first := max(oldest, last-min(last, q.Limit))
	if c.in.Round == 0 && last > first {
		for seq := first + 1; seq <= last; seq++ {
			c.out.Ranges = append(c.out.Ranges, abi.Range{Start: recentKey(seq)})
		}
		return nil
	}
	var rows [][]byte
	for seq := last; seq > first; seq-- {
		if row, ok := c.row(recentKey(seq)); ok {
			rows = append(rows, row)
		}
	}
	var w abi.Writer
	abi.List(abi.WriteTo(&w), &rows, (*abi.Fields).Bytes)
	c.out.Reply = w.Buf
	return nil
}

// Encode is the command.
func (q *Recent) Encode() []byte { return encode(opRecent, q, 16) }

func (q *Recent) fields(f *abi.Fields) {
	f.Uint(&q.Before)
	f.Uint(&q.Limit)
}

// DecodeRecent reads the answer to Recent.
func DecodeRecent(data []byte) (batches []RequestBatch, err error) {
	r := abi.Reader{Buf: data}
	for n := r.Count(); n > 0; n-- {
		var b RequestBatch
		if err := decode(r.Bytes(), &b); err != nil {
			return nil, err
		}
		batches = append(batches, b)
	}
	return batches, r.End()
}
