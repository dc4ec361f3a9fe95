package ledger

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

// Cache is the result of a request's cache lookup.
type Cache uint8

const (
	CacheBypass Cache = 0 // no lookup
	CacheMiss   Cache = 1
	CacheHit    Cache = 2
)

// Request is the stored metadata of one request. It never includes prompts or completions.
type Request struct {
	AtMs       uint64 // time of admission
	ID         string
	Model      string
	Provider   string
	Agent      string // the caller's user agent
	Status     uint64 // HTTP status of the response; 0: unknown, because the exchange died
	DurationMs uint64
	Prompt     uint64
	Completion uint64
	CostPico   int64
	Cache      Cache
	Stream     bool
	Estimated  bool
	FirstMs    uint64 // time to first token of a stream; 0: none

	PromptCache PromptCache

	// Unlisted contains the durations of requests that did not fit into the list, encoded as in unlisted.go.
	Unlisted string
}

// RequestFields lists the fields of a request.
func RequestFields(f *abi.Fields, q *Request) {
	f.Uint(&q.AtMs)
	f.String(&q.ID)
	f.String(&q.Model)
	providerFields(f, &q.Provider, &q.Agent, &q.FirstMs, &q.Unlisted)
	f.Uint(&q.Status)
	f.Uint(&q.DurationMs)
	f.Uint(&q.Prompt)
	f.Uint(&q.Completion)
	f.Int(&q.CostPico)
	abi.Enum(f, &q.Cache)
	f.Bool(&q.Stream)
	cached := q.PromptCache.Used() // older versions have only the first flag
	f.Flags(&q.Estimated, &cached)
	q.PromptCache.Fields(f, cached)
}

// ProviderFields encodes a provider's name (which has no spaces), a user agent, and the milliseconds to the first
// token as one string: "openai codex_exec/0.169.0\x1f412". Older versions that run alongside this one during an
// upgrade can read the row and pass it on. They take the milliseconds for part of the agent, or the full string for
// the name.
//
//go:noinline
func ProviderFields(f *abi.Fields, provider, agent *string, firstMs *uint64) {
	var none string
	providerFields(f, provider, agent, firstMs, &none)
}

// providerFields also encodes the durations of unlisted requests, after a second mark.
func providerFields(f *abi.Fields, provider, agent *string, firstMs *uint64, unlisted *string) {
	all := *provider
	if *agent != "" || *firstMs > 0 || *unlisted != "" {
		all += " " + *agent
	}
	if *firstMs > 0 || *unlisted != "" {
		all += durationMark + strconv.FormatUint(*firstMs, 10)
	}
	if *unlisted != "" {
		all += durationMark + *unlisted
	}
	if f.String(&all); f.Reading() {
		name, durations, _ := strings.Cut(all, durationMark)
		first, rest, _ := strings.Cut(durations, durationMark)
		*provider, *agent, _ = strings.Cut(name, " ")
		*firstMs, *unlisted = firstOf(first), rest
	}
}

// firstOf parses a number. It returns 0 for anything else.
func firstOf(text string) uint64 {
	if text == "" {
		return 0 // most requests, without the allocation of an error
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// durationMark separates the durations. The names of providers and programs never contain control characters.
const durationMark = "\x1f"

// Recent is the command that requests batches of recent requests, newest first: at most Limit batches with a Seq
// below Before. If Before is 0, it starts with the newest batch.
type Recent struct{ Before, Limit uint64 }

// RequestBatch is a batch of requests of one key.
type RequestBatch struct {
	Seq      uint64 // cursor for Recent.Before
	KeyID    string
	Requests []Request // oldest first
}

// fields lists the fields of the row.
func (b *RequestBatch) fields(f *abi.Fields) {
	f.Format(format)
	f.Uint(&b.Seq)
	f.String(&b.KeyID)
	abi.List(f, &b.Requests, RequestFields)
}

// KeepBatches is the number of batches kept. Each batch has at least one request.
const KeepBatches = 1000

// recentKey returns the row key of a batch. The rows form a ring buffer, so none needs to be deleted.
func recentKey(seq uint64) string { return rowRecent + abi.Fixed(seq%KeepBatches) }

// addRecentBatch adds the requests of a batch to the ring buffer.
func (c *call) addRecentBatch(a *Absorb) {
	if len(a.Recent) == 0 {
		return
	}
	c.b.recent++
	for i := range a.Recent {
		a.Recent[i].Unlisted = "" // the durations are stored in the spans
	}
	batch := RequestBatch{c.b.recent, a.KeyID, a.Recent}
	c.put(recentKey(c.b.recent), abi.EncodeFields(0, 128*len(a.Recent), batch.fields))
}

// recent replies with batches from the ring buffer.
func (c *call) recent(q *Recent) error {
	return c.ring(q.Before, q.Limit, c.b.recent, KeepBatches, recentKey)
}

// ring replies with rows of a ring buffer, newest first. It returns at most limit rows below the number before. If
// before is 0, it starts with the newest row. It requests the rows in a second round, because their keys depend on
// the newest number. They are one range or two, because a database reads a range at once and single rows one by one.
func (c *call) ring(before, limit, newest, size uint64, key func(seq uint64) string) error {
	last := min(newest, before-1) // if before is 0, before-1 is the largest number
	oldest := newest - min(newest, size)
	first := max(oldest, last-min(last, limit))
	if c.in.Round == 0 && last > first {
		start := key(first + 1)
		if (first+1)%size > last%size { // the rows continue at the beginning of the ring
			c.out.Ranges = append(c.out.Ranges, abi.Range{Start: start, End: key(size-1) + "\x00", Limit: size})
			start = key(size)
		}
		c.out.Ranges = append(c.out.Ranges, abi.Range{Start: start, End: key(last) + "\x00", Limit: size})
		return nil
	}
	var rows [][]byte
	for seq := last; seq > first; seq-- {
		if row, ok := c.row(key(seq)); ok {
			rows = append(rows, row)
		}
	}
	var w abi.Writer
	abi.List(abi.WriteTo(&w), &rows, (*abi.Fields).Bytes)
	c.out.Reply = w.Buf
	return nil
}

// Encode encodes the command.
func (q *Recent) Encode() []byte { return abi.EncodeFields(opRecent, 16, q.fields) }

func (q *Recent) fields(f *abi.Fields) {
	f.Uint(&q.Before)
	f.Uint(&q.Limit)
}

// DecodeRecent decodes the reply to Recent.
func DecodeRecent(data []byte) (batches []RequestBatch, err error) {
	r := abi.Reader{Buf: data}
	for n := r.Count(); n > 0; n-- {
		var b RequestBatch
		if err := abi.DecodeFields(r.Bytes(), b.fields); err != nil {
			return nil, err
		}
		batches = append(batches, b)
	}
	return batches, r.End()
}
