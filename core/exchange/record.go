package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/policy"
)

const (
	// recordKeepMs is how long an isolate uses a key's record before it asks KV again. (It may be old anyway:
	// the key's meter, which every exchange asks, tells.)
	recordKeepMs = 30_000
	// unknownKeepMs is how long an isolate remembers that there is no such key. A new key is not hurt: nobody
	// could have tried it before it was made.
	unknownKeepMs = 10_000
)

// unknownMark stands in host memory where a record would be: there is none.
var unknownMark = []byte{0}

// takeRecord takes the key's record from memory or KV. KV is not the authority, it only saves a hop: the key's
// meter is asked for what it does not have.
func (x *exchange) onRecord() {
	switch x.event.Code {
	case abi.OutcomeOK:
		if string(x.event.Data) == string(unknownMark) {
			x.refuse(fault.InvalidKey, refusal{})
			return
		}
		if record, err := doc.DecodeRecord(x.event.Data); err == nil {
			x.s.record, x.s.haveRecord = record, true
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

// takeKey takes the meter's word on a key without a record: it has one, or there is no such key.
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

// adopt takes a newer record from the key's meter, and starts over with it.
func (x *exchange) adoptRecord(encoded []byte) {
	record, err := doc.DecodeRecord(encoded)
	if x.refuseFailedCall(err) {
		return
	}
	s := &x.s
	s.record, s.haveRecord = record, true
	// Nothing that was found in the cache, or is being looked for, need be right under the newer record.
	x.cancel(idKV)
	s.hit = hit{}
	if record.Policy != s.policyVersion {
		s.policyVersion, s.selection, s.order, x.targetsMemo = 0, policy.Selection{}, nil, nil
	}
	if x.rejection() == fault.ModelForbidden {
		s.rejected = "" // the newer record may allow it
	}
	x.do(abi.Action{
		Kind: abi.ActionWrite, Key: doc.RecordKey(s.keyHash), Where: abi.WhereMemory, KeepMs: recordKeepMs,
		Body: []abi.Part{{Data: encoded}},
	})
	x.enter(phaseIntake)
	x.proceed()
}

// refuseUnknownKey refuses a key that its meter does not know, or knows as inactive. An inactive one is not
// remembered as unknown: it may be active again any moment. Nor is one that has a record just anybody's guess.
func (x *exchange) refuseUnknownKey(verdict keymeter.Verdict) {
	write := abi.Action{Kind: abi.ActionWrite, Key: doc.RecordKey(x.s.keyHash), Where: abi.WhereMemory}
	if !x.s.haveRecord && verdict == keymeter.Unknown {
		x.circuits.Guessed(x.s.address, x.now)
		write.KeepMs, write.Body = unknownKeepMs, []abi.Part{{Data: unknownMark}}
	}
	x.do(write)
	x.refuse(fault.InvalidKey, refusal{})
}
