package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/policy"
)

const (
	// recordKeepMs is how long an isolate uses a key's record before it reads KV again. A stale record does no
	// harm: every exchange calls the key's meter, which has the newest version.
	recordKeepMs = 30_000
	// unknownKeepMs is how long an isolate remembers that a key does not exist. This does not delay new keys:
	// nobody can have tried a key before it was created.
	unknownKeepMs = 10_000
)

// unknownMark is stored in host memory instead of a record if the key does not exist.
var unknownMark = []byte{0}

// onRecord takes the key's record from memory or KV. KV only saves a call and is not the authority: if it has no
// record, the key's meter is called.
func (x *exchange) onRecord() {
	switch x.event.Code {
	case abi.OutcomeOK:
		if string(x.event.Data) == string(unknownMark) {
			x.refuse(fault.InvalidKey, refusal{})
			return
		}
		if record, err := doc.DecodeRecord(x.event.Data); err == nil {
			x.s.record, x.s.haveRecord, x.s.encoded = record, true, x.event.Data
			x.pinLease()
			x.proceed()
			return
		}
	case abi.OutcomeFailed:
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
		return
	}
	if wait := x.circuits.GuessWaitMs(x.s.address, x.now); wait > 0 {
		x.refuse(fault.RateLimited, refusal{retryMs: wait})
		return
	}
	x.admit(keymeter.ModeCheck)
	x.enter(phaseKey)
}

// onKeyCheck takes the meter's reply for a key without a record: either a record, or the verdict that the key does
// not exist.
func (x *exchange) onKeyCheck() {
	reply, ok := x.admitReply()
	switch {
	case !ok:
	case reply.Verdict == keymeter.Stale:
		x.adoptRecord(reply.Record)
	case reply.Verdict == keymeter.Unknown, reply.Verdict == keymeter.Inactive:
		x.refuseUnknownKey(reply.Verdict)
	default:
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	}
}

// adoptRecord replaces the record with a newer one from the key's meter, and starts over.
func (x *exchange) adoptRecord(encoded []byte) {
	record, err := doc.DecodeRecord(encoded)
	if x.refuseFailedCall(err) {
		return
	}
	s := &x.s
	movedPlan := s.record.Plan != record.Plan // the new plan may have the Governor, or not
	s.record, s.haveRecord, s.encoded = record, true, encoded
	// Cache lookups made with the old record may be wrong under the new one.
	x.cancel(idKV)
	x.land(abi.FlightRetry, nil)
	s.hit = hit{}
	if record.Policy != s.policyVersion || movedPlan {
		s.policyVersion, s.selection, s.order, x.targetsMemo = 0, policy.Selection{}, nil, nil
		g := &s.govern
		g.on, g.inspected, g.schema, g.buffered = false, false, false, false
	}
	if bad := x.rejection(); bad == fault.ModelForbidden || bad == fault.Blocked || bad == fault.Forbidden {
		s.rejected = ""            // the newer record may allow it
		s.govern.inspected = false // a policy that has not changed blocks it again
	}
	x.do(abi.Action{
		Kind: abi.ActionWrite, Key: doc.RecordKey(s.keyHash), Where: abi.WhereMemory, KeepMs: recordKeepMs,
		Body: []abi.Part{{Data: encoded}},
	})
	x.enter(phaseIntake)
	x.proceed()
}

// refuseUnknownKey refuses an unknown or inactive key. An inactive key is not cached as unknown, because it may be
// reactivated at any time. A key that has a record does not count as a guess of this address.
func (x *exchange) refuseUnknownKey(verdict keymeter.Verdict) {
	write := abi.Action{Kind: abi.ActionWrite, Key: doc.RecordKey(x.s.keyHash), Where: abi.WhereMemory}
	if !x.s.haveRecord && verdict == keymeter.Unknown {
		x.circuits.Guessed(x.s.address, x.now)
		write.KeepMs, write.Body = unknownKeepMs, []abi.Part{{Data: unknownMark}}
	}
	x.do(write)
	x.refuse(fault.InvalidKey, refusal{})
}
