package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/policy"
)

// refuseAdmission handles the verdicts that end the exchange.
func (x *exchange) refuseAdmission(reply *keymeter.AdmitReply) {
	switch reply.Verdict {
	case keymeter.RateLimited:
		if x.s.rejected != fault.None && x.s.rejected != fault.Blocked {
			// A rejected request fails anyway, so its own error takes precedence over the rate limit. A block does
			// not take precedence: without admission, its violation is not recorded, so callers could probe the
			// policy without limit.
			x.respondRejection()
			return
		}
		x.refuse(fault.RateLimited, x.rateLimited(reply))
	case keymeter.ConcurrencyLimited:
		x.refuse(fault.RateLimited, x.tooConcurrent())
	case keymeter.Replay:
		x.replay(reply.Answer)
	case keymeter.Running:
		x.refuse(fault.IdempotencyRunning, refusal{retryMs: inProgressRetryMs})
	case keymeter.Mismatch:
		x.refuse(fault.IdempotencyReused, refusal{details: []fault.Detail{
			{Field: "Idempotency-Key", Message: "was used with a different request; use a new Idempotency-Key"},
		}})
	case keymeter.OutcomeUnknown:
		x.refuse(fault.IdempotencyUnknown, refusal{details: []fault.Detail{
			{Field: "Idempotency-Key", Message: outcomeUnknown},
		}})
	case keymeter.Unreplayable:
		x.refuse(fault.Unreplayable, refusal{})
	default:
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	}
}

// inProgressRetryMs is the Retry-After time while other requests of the key are in progress, in milliseconds.
const inProgressRetryMs = 1000

// adoptRecord replaces the record with a newer one from the key's meter and starts over.
func (x *exchange) adoptRecord(encoded []byte) {
	record, err := doc.DecodeRecord(encoded)
	if x.refuseFailedCall(err) {
		return
	}
	s := &x.s
	movedPlan := s.record.Plan != record.Plan // the plans may differ in whether they include the Governor
	s.record, s.haveRecord, s.encoded = record, true, encoded
	// The old record may have led to wrong cache lookups.
	x.cancel(idKV)
	x.land(abi.FlightRetry, nil)
	s.hit = hit{}
	if record.Policy != s.policyVersion || movedPlan {
		s.policyVersion, s.selection, s.order, x.targetsMemo = 0, policy.Selection{}, nil, nil
		g := &s.govern
		g.on, g.inspected, g.schema, g.buffered = false, false, false, false
	}
	if s.rejected.ByRecord() {
		s.rejected = fault.None    // the newer record may allow the request
		s.govern.inspected = false // an unchanged policy blocks it again
	}
	x.remember(doc.RecordKey(s.keyHash), encoded, recordKeepMs)
	x.proceeds = true
}

// refuseUnknownKey refuses an unknown or inactive key. An inactive key may be reactivated at any time, so it is not
// cached as unknown. A key with a record does not count as a guess from this address.
func (x *exchange) refuseUnknownKey(verdict keymeter.Verdict) {
	mark := []byte(nil)
	if !x.s.haveRecord && verdict == keymeter.Unknown {
		x.circuits.Guessed(x.s.address, x.now)
		mark = unknownMark
	}
	x.remember(doc.RecordKey(x.s.keyHash), mark, unknownKeepMs)
	x.refuse(fault.InvalidKey, refusal{})
}
