package exchange

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
)

// input classifies an event by its kind and by the action whose reply it is.
type input uint8

const (
	inRequest input = iota
	inBody
	inRecord
	inPolicy       // from memory or KV
	inLedgerPolicy // from the Ledger
	inMemory       // cache lookup in host memory
	inKV           // cache lookup in KV
	inAdmit
	inGrant
	inLevelGrant // of one of several Ledgers
	inFlush
	inAbsorb
	inUnsealed
	inBuffer
	inResponse // a complete provider response, or an error response instead of a stream
	inHead     // a stream's response head
	inChunk
	inEnd
	inFault
	inTimer
	inTick
	inExtend
	inExtendGrant
	inExtendFlush
	inExtendAbsorb
	inReport
	inForwarded
	inClassifyText
	inClassified
	inHeldSettle
	inKept
	inFlight // data that the leader of a flight published, or the flight's end
	inDisconnect
	inLeaseTimer
	inLeaseReport
	inPinned
	inTallied
	inputs
)

var inputNames = [inputs]string{
	"request", "body", "record", "policy", "ledger-policy", "memory", "kv", "admit", "grant", "level-grant", "flush", "absorb", "unsealed", "buffer",
	"response", "head", "chunk", "end", "fault", "timer", "tick", "extend", "extend-grant", "extend-flush", "extend-absorb", "report",
	"forwarded", "classify-text", "classified", "held-settle", "kept", "flight", "disconnect", "lease-timer", "lease-report",
	"pinned", "tallied",
}

// IDs of actions whose replies arrive as events. From idFlush on, each constant is the first ID of a list. For
// example, idFlush+n flushes the n-th meter.
const (
	idBody         = 1
	idRecord       = 2
	idAdmit        = 3
	idMemory       = 4
	idFetch        = 5
	idTimer        = 6
	idKV           = 7
	idGrant        = 8
	idReport       = 9
	idBuffer       = 10
	idForward      = 11
	idTick         = 12
	idExtend       = 13
	idPolicy       = 14
	idUnseal       = 15
	idLedgerPolicy = 16
	idExtendGrant  = 17
	idClassifyText = 18
	idClassify     = 19
	idSettle       = 20
	idFollow       = 21
	idKeep         = 22

	idFlush        = 1000
	idAbsorb       = 2000
	idExtendFlush  = 3000
	idExtendAbsorb = 4000
	idLevelGrant   = 5000
	idListEnd      = 6000
)

// inputOf returns the input for the reply to an action ID. A fetch has several inputs; see fetchInput.
var inputOf = [...]input{
	idBody: inBody, idRecord: inRecord, idAdmit: inAdmit, idMemory: inMemory, idTimer: inTimer, idKV: inKV, idGrant: inGrant,
	idReport: inReport, idBuffer: inBuffer, idForward: inForwarded, idTick: inTick, idExtend: inExtend, idPolicy: inPolicy,
	idUnseal: inUnsealed, idLedgerPolicy: inLedgerPolicy, idExtendGrant: inExtendGrant, idClassifyText: inClassifyText, idClassify: inClassified, idSettle: inHeldSettle, idFollow: inFlight, idKeep: inKept,
}

// input classifies the event. If the event is a reply to an action that is not outstanding, such as a canceled one,
// expected is false.
func (x *exchange) input() (in input, expected bool) {
	e := x.event
	switch {
	case e.Kind == abi.EventRequest:
		return inRequest, true
	case e.Kind == abi.EventDisconnect:
		return inDisconnect, true
	}
	if !x.pending(e.ID) {
		return 0, false
	}
	switch {
	case e.ID == idFetch:
		return fetchInput(e.Kind), true
	case e.ID == idLeaseReport:
		return inLeaseReport, true
	case e.ID == idLeaseTimer:
		return inLeaseTimer, true
	case e.ID == idPinned:
		return inPinned, true
	case e.ID == idTallied:
		return inTallied, true
	case e.ID >= idLevelGrant:
		return inLevelGrant, true
	case e.ID >= idExtendAbsorb:
		return inExtendAbsorb, true
	case e.ID >= idExtendFlush:
		return inExtendFlush, true
	case e.ID >= idAbsorb:
		return inAbsorb, true
	case e.ID >= idFlush:
		return inFlush, true
	}
	return inputOf[e.ID], true
}

// settleEvent removes the event's action from the outstanding actions, unless more events follow.
func (x *exchange) settleEvent() {
	e := x.event
	if at := slices.Index(x.s.outstanding, e.ID); at >= 0 && e.Kind != abi.EventHead && e.Kind != abi.EventChunk {
		x.s.outstanding = slices.Delete(x.s.outstanding, at, at+1)
	}
}

func fetchInput(kind abi.EventKind) input {
	switch kind {
	case abi.EventResponse:
		return inResponse
	case abi.EventHead:
		return inHead
	case abi.EventChunk:
		return inChunk
	case abi.EventEnd:
		return inEnd
	}
	return inFault
}

// IDs of the keeper's actions. An exchange keeps the lease during and after its own request, so these IDs do not
// depend on its phase.
const (
	idLeaseTimer  = 6000
	idLeaseReport = 6001

	idPinned  = 6002
	idTallied = 6003

	// FirstKeeping is the first ID of the actions that keep a key's entry.
	FirstKeeping = idLeaseTimer
)
