package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
)

// onRecord handles the key's record from memory or KV. KV only saves a call. If it has no record, onRecord calls the
// key's meter, which is authoritative.
func (x *exchange) onRecord() {
	switch x.event.Code {
	case abi.OutcomeOK:
		if string(x.event.Data) == string(unknownMark) {
			x.refuse(fault.InvalidKey, refusal{})
			return
		}
		encoded, early := doc.SplitKnown(x.event.Data)
		if record, err := doc.DecodeRecord(encoded); err == nil {
			x.s.record, x.s.haveRecord, x.s.encoded, x.s.early = record, true, encoded, early
			x.pinLease()
			x.proceeds = true
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
	x.admitIn(phaseKey, keymeter.ModeCheck)
}

// onKeyCheck handles the meter's reply about a key whose record was neither in memory nor in KV. The reply is the
// record, or the verdict that the key does not exist.
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

const (
	// recordKeepMs is how long an isolate uses a key's record before it reads KV again. A stale record does no harm:
	// every exchange calls the key's meter, which has the newest record.
	recordKeepMs = 600_000
	// unknownKeepMs is how long an isolate remembers that a key does not exist. New keys are not delayed: nobody
	// could have tried a key before it existed.
	unknownKeepMs = 10_000
)

// unknownMark stands for a key that does not exist. Host memory contains it in place of the key's record.
var unknownMark = []byte{0}
