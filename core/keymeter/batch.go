package keymeter

import "github.com/postern-ai/postern/core/ledger"

// usageDelayMs is the delay before unreported usage is added to the outbox. A report and what follows from it cost
// about 17 rows, so a batch should cover several requests: if it has fewer than fullBatch, it waits until sparseMs have
// passed since the last report. Readers of usage flush the meters first, so they do not wait for either. Violations are
// reported earlier.
const (
	usageDelayMs     = 10_000
	violationDelayMs = 5_000
	fullBatch        = 16
	sparseMs         = 240_000
)

// hasReport reports whether there is anything to report to the project's Ledger.
func (m *meter) hasReport() bool {
	return len(m.usage)+m.recent.Len()+len(m.violations.pending)+len(m.crossed.pending) > 0
}

// reportWithin schedules a report, unless an earlier one is scheduled.
func (m *meter) reportWithin(ms uint64) { m.flushMs = minNonZero(m.flushMs, m.lastMs+ms) }

// usageWithin returns the time until usage that is added now is reported.
func (m *meter) usageWithin() uint64 {
	if m.recent.Len() >= fullBatch {
		return usageDelayMs
	}
	if m.flushMs != 0 {
		return m.flushMs - min(m.flushMs, m.lastMs)
	}
	return max(usageDelayMs, m.quietMs-min(m.quietMs, m.lastMs))
}

// nextReport returns the time that the row has: flushMs, or quietMs if there is nothing to report. There is one field for both,
// because earlier versions that run beside this one know only flushMs. With quietMs in its place, they send a report without
// usage. Once there is something to report, quietMs has done its work.
func (m *meter) nextReport() *uint64 {
	if m.hasReport() {
		m.quietMs = 0
		return &m.flushMs
	}
	return &m.quietMs
}

// nextBatch encodes the unreported usage and violations as the next numbered batch and clears them.
func (m *meter) nextBatch(key string, closed bool) []byte {
	m.cross(m.lastMs)
	m.outSeq, m.quietMs = m.outSeq+1, m.lastMs+sparseMs
	batch := ledger.Absorb{
		Key: key, KeyID: m.record.KeyID, Seq: m.outSeq, Period: m.slice().Period, Epoch: m.level().Epoch, HeldPico: m.slice().Granted, Closed: closed,
		LastUsedMs: m.lastUsedMs, Usage: m.usage, Recent: m.recent.Decode(ledger.RequestFields), Violations: m.violations.pending,
		Crossings: m.crossed.pending, Returned: m.travelling,
	}
	m.usage, m.recent, m.violations.pending, m.crossed.pending, m.flushMs = nil, recentRequests{}, nil, nil, 0
	m.travelling = nil
	return batch.Encode()
}
