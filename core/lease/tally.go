package lease

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/ledger"
)

const (
	// TallyMs is the interval of tallies.
	TallyMs = 5_000
	// maxTellings is the number of times that a tally is sent to a Ledger that does not accept it. The attempts take
	// about a minute.
	maxTellings = 12
	// maxCounts limits the combinations of model, hour and end in a tally. Additional requests are counted without
	// their models.
	maxCounts = 64
	// maxRefusals is the number of refusals that get a record in each minute. Every failure gets a record if there is
	// room. A tally has at most maxRecordBytes of records. It is sent early once it has earlyBytes.
	maxRefusals    = 20
	maxRecordBytes = 8 << 10
	earlyBytes     = 5 << 10
)

// tally contains the requests that were not served and that the Ledger has not counted yet.
type tally struct {
	source   uint64 // 0: nothing has been counted yet
	seq      uint64 // of the last tally sent
	sinceMs  uint64 // time of the oldest count
	counts   []ledger.EndCount
	records  []ledger.Record
	bytes    uint64 // size of the records
	minute   uint64 // since 1970-01-01
	refusals uint64 // refusals with a record in that minute
	flight   []byte // the tally that the Ledger has not confirmed; empty: none
	told     uint64 // the number of times that the tally was sent
	sentMs   uint64
}

func (t *tally) fields(f *abi.Fields) {
	f.Uint(&t.source)
	f.Uint(&t.seq)
	f.Uint(&t.sinceMs)
	abi.List(f, &t.counts, ledger.EndCountFields)
	abi.List(f, &t.records, ledger.RecordFields)
	f.Uint(&t.bytes)
	f.Uint(&t.minute)
	f.Uint(&t.refusals)
	f.Bytes(&t.flight)
	f.Uint(&t.told)
	f.Uint(&t.sentMs)
}

// held reports whether there are counts that the Ledger has not confirmed.
func (t *tally) held() bool { return len(t.counts)+len(t.flight) > 0 }

// size returns the approximate size of the encoded tally.
func (t *tally) size() int { return int(t.bytes) + 64*(len(t.counts)+len(t.records)) + len(t.flight) }

// Count counts a request that was not served. r is nil if the request has no record. If the entry's tallies have no
// source yet, random becomes their source.
func (e *Entry) Count(now, random uint64, c *ledger.EndCount, r *ledger.Record) {
	e.tick(now)
	t := &e.tally
	if t.source == 0 {
		t.source = max(1, random)
	}
	if len(t.counts) == 0 {
		t.sinceMs = now
	}
	t.count(c)
	if r != nil {
		t.record(now/minuteMs, r)
	}
}

const minuteMs = 60_000

func (t *tally) count(c *ledger.EndCount) {
	for i := range t.counts {
		o := &t.counts[i]
		if o.Hour == c.Hour && o.Model == c.Model && o.End == c.End && o.Booked == c.Booked {
			o.Count += c.Count
			return
		}
	}
	if len(t.counts) >= maxCounts && c.Model != "" {
		other := *c
		other.Model = ""
		t.count(&other)
		return
	}
	t.counts = append(t.counts, *c)
}

// record stores a record unless a limit has been reached.
func (t *tally) record(minute uint64, r *ledger.Record) {
	if minute != t.minute {
		t.minute, t.refusals = minute, 0
	}
	size := uint64(len(r.Body) + len(r.ID) + len(r.Model) + len(r.Provider))
	if r.End.Refused() && t.refusals >= maxRefusals || t.bytes+size > maxRecordBytes {
		return
	}
	if r.End.Refused() {
		t.refusals++
	}
	t.records = append(t.records, *r)
	t.bytes += size
}

// Tally returns the next tally, or repeats the unconfirmed one. It returns nil if none is due. While the host shuts
// down (closing), every tally is due.
func (e *Entry) Tally(now uint64, keyID string, closing bool) (command []byte, seq uint64) {
	t := &e.tally
	if len(t.flight) > 0 {
		switch {
		case now >= t.sentMs && now < t.sentMs+TallyMs && !closing:
			return nil, 0
		case t.told < maxTellings:
			t.told++
			t.sentMs = now
			return t.flight, t.seq
		}
		t.flight = nil
	}
	due := closing || t.bytes >= earlyBytes || now < t.sinceMs || now >= t.sinceMs+TallyMs
	if len(t.counts) == 0 || !due {
		return nil, 0
	}
	t.seq++
	next := ledger.Tally{Source: t.source, Seq: t.seq, KeyID: keyID, Counts: t.counts, Records: t.records}
	t.flight, t.told, t.sentMs = next.Encode(), 1, now
	t.counts, t.records, t.bytes = nil, nil, 0
	return t.flight, t.seq
}

// Tallied takes the Ledger's reply to a tally. If the reply is not ok, the tally is sent again.
func (e *Entry) Tallied(seq uint64, ok bool) {
	if t := &e.tally; ok && seq == t.seq {
		t.flight = nil
	}
	e.rest()
}

// Nap returns how long an exchange sleeps as the keeper.
func (e *Entry) Nap(now, exchange uint64) (ms uint64) {
	ms = e.napMs(now)
	if e.keeper == exchange {
		e.wakesMs = now + ms
	}
	return ms
}

// napMs returns how long the keeper sleeps. If there is nothing else to keep, it sleeps until a tally is due.
func (e *Entry) napMs(now uint64) uint64 {
	t := &e.tally
	if e.forMeter() || !t.held() {
		return ReportMs
	}
	due := t.sinceMs
	if len(t.flight) > 0 {
		due = t.sentMs
	}
	if t.bytes >= earlyBytes || now < due {
		return ReportMs
	}
	return max(ReportMs, min(TallyMs, due+TallyMs-min(now, due+TallyMs)))
}

// Early reports whether the keeper wakes before its time, for example because its host shuts down.
func (e *Entry) Early(now, exchange uint64) bool {
	return e.keeper == exchange && now+earlyMs < e.wakesMs
}

// earlyMs is longer than the time by which a host's timers can fire early.
const earlyMs = 50
