package keymeter

import (
	"math"

	"github.com/postern-ai/postern/core/abi"
)

// idem is an idempotency record, row i/<hash>. It names the latest request with the idempotency key. Until that
// request has an outcome, it counts as in progress while its reservation is open. Without an open reservation, its
// outcome is unknown.
type idem struct {
	bodyHash  string
	requestID string
	done      bool // the request has a response
	oversized bool // the response is not stored
	expiresMs uint64
	forgetMs  uint64 // when the alarm deletes the row
	// unreserved means that the request has no reservation, so it does not call a provider. If it has no outcome by
	// expiresMs, the record is void.
	unreserved bool
	rerun      bool // an earlier request with the key has an unknown outcome
}

// A record that is not done can have one of these versions, or their sum less one. All other records have the version
// that older objects can read.
const (
	unreservedFormat = 2
	rerunFormat      = 3
)

func (i *idem) version() uint64 {
	version := uint64(format)
	if i.unreserved {
		version += unreservedFormat - format
	}
	if i.rerun {
		version += rerunFormat - format
	}
	return version
}

func (i *idem) fields(f *abi.Fields) {
	version := i.version()
	if f.Uint(&version); version == 0 || version > unreservedFormat+rerunFormat-format {
		f.Fail()
	}
	f.String(&i.bodyHash)
	f.String(&i.requestID)
	f.Bool(&i.done)
	f.Bool(&i.oversized)
	f.Uint(&i.expiresMs)
	f.Uint(&i.forgetMs)
	if i.unreserved, i.rerun = version%2 == 0, version >= rerunFormat; i.done && version != format {
		f.Fail()
	}
}

func decodeIdem(data []byte) (i idem, ok bool) {
	ok = abi.DecodeFields(data, i.fields) == nil
	return i, ok
}

// ended reports whether the record has expired. If the outcome is unknown, it expires when it is deleted.
func (i *idem) ended(now uint64) bool {
	if i.done || i.unreserved && !i.rerun {
		return i.expiresMs <= now
	}
	return i.forgetMs <= now
}

// replay decides on a request whose idempotency key was used before. It returns the verdict and, for Replay, the
// stored response. If the request must be admitted, the verdict is 0.
func (c *call) replay(a *Admit) (Verdict, []byte) {
	if a.Idempotency == "" {
		return 0, nil
	}
	row, ok := c.row(rowIdem + a.Idempotency)
	if !ok {
		return 0, nil
	}
	i, ok := decodeIdem(row)
	switch {
	case !ok, i.ended(c.in.NowMs), i.requestID == a.RequestID && !i.done:
		return 0, nil
	case i.bodyHash != a.BodyHash:
		return Mismatch, nil
	case !i.done && (i.unreserved && i.expiresMs > c.in.NowMs || c.inProgress(i.requestID)):
		return Running, nil
	case !i.done && a.Rerun:
		return 0, nil
	case !i.done:
		return OutcomeUnknown, nil
	case i.oversized:
		return Unreplayable, nil
	}
	answer, _ := c.row(rowAnswer + a.Idempotency)
	return Replay, answer
}

// inProgress reports whether a request may still be in progress: it has an open reservation that has not expired.
func (c *call) inProgress(requestID string) bool {
	i := c.m.findReservation(requestID)
	return i >= 0 && c.m.reservations[i].expiresMs > c.in.NowMs
}

// finishMs is the time in which a request without a reservation must finish its idempotency record. Such a request
// does not wait for a provider.
const finishMs = 10_000

// beginIdempotency writes the idempotency record of an admitted request. It replaces a record that has expired or
// whose outcome is unknown.
func (c *call) beginIdempotency(a *Admit) {
	key := rowIdem + a.Idempotency
	i := idem{bodyHash: a.BodyHash, requestID: a.RequestID, unreserved: a.Mode != ModeReserve, expiresMs: c.in.NowMs + a.LifetimeMs}
	if row, ok := c.row(key); ok {
		c.cancelForget(key, row)
		before, valid := decodeIdem(row)
		i.rerun = valid && !before.done && !before.ended(c.in.NowMs)
	}
	if i.unreserved {
		i.expiresMs = c.in.NowMs + finishMs
	}
	i.forgetMs = c.scheduleForget(key, i.expiresMs)
	c.put(key, abi.EncodeFields(0, 128, i.fields))
}

// cancelForget cancels the scheduled deletion of an idempotency record. The next record in that row gets its own full
// retention.
func (c *call) cancelForget(key string, row []byte) {
	if i, ok := decodeIdem(row); ok {
		c.out.Deletes = append(c.out.Deletes, forgetKey(i.forgetMs, key))
	}
}

// finishIdempotency completes the idempotency record with the response. Without a response, it deletes the record so
// that the caller can retry. If an earlier request has an unknown outcome, that is still so. It reports whether it
// scheduled a deletion.
func (c *call) finishIdempotency(s *Settle) (scheduled bool) {
	if s.Idempotency == "" {
		return false
	}
	key := rowIdem + s.Idempotency
	row, ok := c.row(key)
	i, valid := decodeIdem(row)
	if !ok || !valid || i.requestID != s.RequestID || i.done {
		return false
	}
	if len(s.Answer) == 0 && !s.Oversized {
		if i.rerun {
			i.unreserved = false
			c.put(key, abi.EncodeFields(0, 128, i.fields))
			return false
		}
		c.out.Deletes = append(c.out.Deletes, key)
		c.cancelForget(key, row)
		return false
	}
	i.done, i.unreserved, i.rerun, i.oversized, i.expiresMs = true, false, false, s.Oversized, c.m.lastMs+retentionMs
	if i.forgetMs < i.expiresMs { // a late response
		c.cancelForget(key, row)
		i.forgetMs, scheduled = c.scheduleForget(key, c.m.lastMs), true
	}
	c.put(key, abi.EncodeFields(0, 128, i.fields))
	if !s.Oversized {
		c.put(rowAnswer+s.Idempotency, s.Answer)
	}
	return scheduled
}

// Restart is the command that ends all of the key's requests in progress and leases, because the only process that had
// them has ended. Each request is immediately charged its reservation, and the outcome of its idempotency key becomes
// unknown. Each lease is charged all that was not reported. The command has no reply.
type Restart struct{}

// Encode encodes the command.
func (c *Restart) Encode() []byte { return abi.EncodeFields(opRestart, 1, c.fields) }

func (*Restart) fields(*abi.Fields) {}

func (*Restart) reads() []abi.Range { return nil }

func (*Restart) apply(c *call) {
	if c.m == nil || len(c.m.reservations)+len(c.m.leases) == 0 {
		return
	}
	for i := range c.m.leases {
		c.m.leases[i].endMs = min(c.m.leases[i].endMs, c.in.NowMs)
	}
	c.m.advance(c.in.NowMs, c.limits())
	c.expire(math.MaxUint64)
	c.bookLeases(math.MaxUint64)
	c.store()
}
