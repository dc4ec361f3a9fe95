package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
)

// unknownKeepMs is how long an isolate remembers that there is no such key. A new key is not hurt: nobody
// could have tried it before it was made.
const unknownKeepMs = 10_000

// unknownMark stands in host memory where a record would be: there is none.
var unknownMark = []byte{0}

// recordRead takes the key's record from memory or KV. KV is not the authority, it only saves a hop: what
// it does not have is asked of the key's meter.
func (x *exchange) recordRead() {
	switch x.event.Code {
	case abi.OutcomeOK:
		if string(x.event.Data) == string(unknownMark) {
			x.refuse(fault.InvalidKey, refusal{})
			return
		}
		if record, err := doc.DecodeRecord(x.event.Data); err == nil {
			x.s.record, x.s.haveRecord, x.s.known = record, true, true
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
}

// adopt takes a newer record from the key's meter, and starts over with it.
func (x *exchange) adopt(encoded []byte) {
	record, err := doc.DecodeRecord(encoded)
	if x.failedCall(err) {
		return
	}
	x.s.record, x.s.haveRecord, x.s.known = record, true, true
	x.s.admission.asked = false
	x.forgetLookup()
	if record.Policy != x.s.policy.version {
		x.s.policy, x.s.order, x.memo = policy{}, nil, nil
	}
	if x.s.bad == fault.ModelForbidden.Status {
		x.s.bad = 0 // the newer record may allow it
	}
	x.do(abi.Action{
		Kind: abi.ActionWrite, Key: doc.RecordKey(x.s.keyHash), Where: abi.WhereMemory, KeepMs: recordKeepMs,
		Body: []abi.Part{{Data: encoded}},
	})
	x.proceed()
}

// forgetLookup gives up what was found in the cache under an old record, or is being looked for: it may be
// another policy's, or no longer allowed.
func (x *exchange) forgetLookup() {
	if x.s.lookup == lookupKV {
		x.do(abi.Action{Kind: abi.ActionCancel, ID: idCache})
	}
	x.s.lookup = lookupNone
}

// strange answers a key that its meter does not know, or knows as not active.
func (x *exchange) strange() {
	write := abi.Action{Kind: abi.ActionWrite, Key: doc.RecordKey(x.s.keyHash), Where: abi.WhereMemory}
	if !x.s.known {
		x.circuits.Guessed(x.s.address, x.now)
		write.KeepMs, write.Body = unknownKeepMs, []abi.Part{{Data: unknownMark}}
	}
	x.do(write)
	x.refuse(fault.InvalidKey, refusal{})
}

// permitted says whether the key opens this endpoint.
func (x *exchange) permitted() bool { return x.s.record.May(x.s.route.endpoint().needs) }

// proceed goes on to the admission when the record and the body are there, in whatever order they came.
func (x *exchange) proceed() {
	s := &x.s
	switch {
	case s.admission.asked || !s.haveRecord:
	case !x.permitted():
		x.admit(keymeter.ModeCheck)
	case s.route.hasBody() && !s.bodyDone:
	case x.wantsPolicy():
		x.readPolicy()
	case !s.route.hasBody():
		x.admit(keymeter.ModeCheck)
	case s.bad == 0 && !x.allowsAny():
		x.reject(fault.ModelForbidden)
		x.admit(keymeter.ModeCount)
	case s.bad != 0 || s.route == routeCount:
		x.admit(keymeter.ModeCount)
	case x.mayRead() && s.lookup == lookupNone:
		x.lookInMemory()
	default:
		x.admitComplete()
	}
}
