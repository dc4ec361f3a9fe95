// Package exchange runs one request as a state machine, from its head until it is settled and logged. A host calls
// Step with each event, and Step returns the new state and the actions to perform. The state contains everything
// that later decisions depend on. The host stores it as bytes between steps.
//
// This file is the machine: the phases, the inputs, and the table that maps (phase, input) to a handler. Read the table from top to
// bottom to follow a request. The handlers are grouped by phase in intake.go, admission.go, attempt.go, stream.go and finish.go; each
// endpoint other than completions has its own file. testdata contains complete exchanges as text: events in, actions out.
package exchange

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/route"
)

// phase is the current step of an exchange.
type phase uint8

const (
	phaseHead        phase = iota // before the first event
	phaseIntake                   // reading the key record and the body, in either order
	phaseKey                      // getting a record that memory and KV do not have from the key's meter
	phasePolicy                   // reading the project's policy
	phaseInspect                  // getting the body back to check its texts
	phaseLookup                   // looking for a cached response in host memory
	phaseAdmit                    // waiting for the key's meter to admit the request
	phaseGrant                    // requesting a slice of the budget from the Ledger
	phaseRecall                   // recalling idle slices from the project's other keys
	phaseLent                     // waiting until budget that meters have lent to isolates returns
	phaseCache                    // admitted; waiting for the KV cache lookup
	phaseOverBudget               // out of budget; waiting for the KV cache lookup, because a hit is free
	phaseClassify                 // admitted; waiting for the project's classifier
	phaseUnseal                   // decrypting the project's provider key for the current target
	phaseBuild                    // getting the body back from the host to translate it for the target
	phaseOpening                  // streaming request sent; waiting for the response head
	phaseWhole                    // non-streaming request sent; waiting for the whole response
	phaseBackoff                  // waiting before a retry of the same target
	phaseStream                   // receiving the provider's stream
	phaseClosing                  // getting the collected stream back from the host to finish the response
	phaseMock                     // getting the body back for the built-in mock
	phasePacing                   // sending the mock's stream, piece by piece
	phaseFollow                   // admitted; following the flight of an identical request
	phaseFollowEnd                // getting the followed stream back from the host to finish the response
	phaseRejoin                   // the flight has failed; joining the next one
	phaseKeepHit                  // getting a cached response back to store it under the Idempotency-Key
	phaseKeepError                // getting an error body back to store it under the Idempotency-Key
	phaseKeep                     // waiting until the response is stored under the Idempotency-Key
	phaseModels                   // getting the project's policy back to list its models
	phaseCountUnseal              // decrypting the project's provider key to count tokens
	phaseCount                    // waiting for the provider's token count
	phaseReport                   // querying the Ledger for usage
	phaseReportPause              // waiting for another report's flush, or for pending settles
	phaseReportFlush              // flushing unreported usage from the meters
	phaseForward                  // waiting for the control plane to respond
	phaseDone                     // responded, settled and logged
	phases
)

var phaseNames = [phases]string{
	"head", "intake", "key", "policy", "inspect", "lookup", "admit", "grant", "recall", "lent", "cache", "over-budget", "classify", "unseal", "build", "opening", "whole",
	"backoff", "stream", "closing", "mock", "pacing", "follow", "follow-end", "rejoin", "keep-hit", "keep-error", "keep", "models", "count-unseal", "count", "report",
	"report-pause", "report-flush", "forward", "done",
}

// input classifies an event by its kind and by the action that it answers.
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
	inFlush
	inAbsorb
	inUnsealed
	inBuffer
	inResponse // a whole provider response, or an error response instead of a stream
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
	inFlight // what the leader of a flight published, or the flight's end
	inDisconnect
	inLease // has no rows: the keeper's work does not depend on the phase
	inputs
)

var inputNames = [inputs]string{
	"request", "body", "record", "policy", "ledger-policy", "memory", "kv", "admit", "grant", "flush", "absorb", "unsealed", "buffer",
	"response", "head", "chunk", "end", "fault", "timer", "tick", "extend", "extend-grant", "extend-flush", "extend-absorb", "report",
	"forwarded", "classify-text", "classified", "held-settle", "kept", "flight", "disconnect", "lease",
}

// row maps one input in one phase to its handler.
type row struct {
	phase
	input
	handle func(*exchange)
}

// table is the machine. An input without a row violates the contract with the host, and Step panics.
var table = [...]row{
	// The request arrives. The body is read only if the key is well-formed.
	{phaseHead, inRequest, (*exchange).onRequest},
	{phaseIntake, inRecord, (*exchange).onRecord},
	{phaseIntake, inBody, (*exchange).onBody},
	{phaseKey, inAdmit, (*exchange).onKeyCheck},
	{phaseKey, inBody, (*exchange).onEarlyBody},
	{phasePolicy, inPolicy, (*exchange).onPolicy},
	{phasePolicy, inLedgerPolicy, (*exchange).onLedgerPolicy},
	{phaseInspect, inBuffer, (*exchange).onInspect},
	{phaseLookup, inMemory, (*exchange).onMemoryCache},

	// Admission: the key's meter knows the key's status and limits, and holds a slice of the budget.
	{phaseAdmit, inAdmit, (*exchange).onAdmit},
	{phaseAdmit, inBody, (*exchange).onEarlyBody}, // the record lacks the permission for this endpoint
	{phaseAdmit, inKV, (*exchange).noteSharedCacheResult},
	{phaseGrant, inGrant, (*exchange).onGrant},
	{phaseGrant, inKV, (*exchange).noteSharedCacheResult},
	{phaseRecall, inFlush, (*exchange).onFlush},
	{phaseRecall, inAbsorb, (*exchange).onAbsorb},
	{phaseRecall, inKV, (*exchange).noteSharedCacheResult},
	{phaseLent, inTimer, (*exchange).retryAdmission},
	{phaseLent, inKV, (*exchange).noteSharedCacheResult},
	{phaseCache, inKV, (*exchange).onKVCache},
	{phaseOverBudget, inKV, (*exchange).onKVCacheOverBudget},
	{phaseOverBudget, inFlight, (*exchange).onFlightOverBudget},

	// The project's classifier judges the request: strict before the first attempt, else beside everything that follows.
	{phaseClassify, inClassifyText, (*exchange).onClassifyText},
	{phaseClassify, inClassified, (*exchange).onClassified},
	{phaseUnseal, inClassifyText, (*exchange).onClassifyText},
	{phaseUnseal, inClassified, (*exchange).onClassified},
	{phaseBuild, inClassifyText, (*exchange).onClassifyText},
	{phaseBuild, inClassified, (*exchange).onClassified},
	{phaseWhole, inClassifyText, (*exchange).onClassifyText},
	{phaseWhole, inClassified, (*exchange).onClassified},
	{phaseOpening, inClassifyText, (*exchange).onClassifyText},
	{phaseOpening, inClassified, (*exchange).onClassified},
	{phaseBackoff, inClassifyText, (*exchange).onClassifyText},
	{phaseBackoff, inClassified, (*exchange).onClassified},
	{phaseStream, inClassifyText, (*exchange).onClassifyText},
	{phaseStream, inClassified, (*exchange).onClassified},
	{phaseClosing, inClassifyText, (*exchange).onClassifyText},
	{phaseClosing, inClassified, (*exchange).onClassified},
	{phaseMock, inClassifyText, (*exchange).onClassifyText},
	{phaseMock, inClassified, (*exchange).onClassified},
	{phasePacing, inClassifyText, (*exchange).onClassifyText},
	{phasePacing, inClassified, (*exchange).onClassified},
	{phaseKeep, inClassifyText, (*exchange).onClassifyText},
	{phaseKeep, inClassified, (*exchange).onClassified},
	{phaseDone, inClassifyText, (*exchange).onClassifyText},
	{phaseDone, inClassified, (*exchange).onClassified},
	{phasePacing, inHeldSettle, (*exchange).onHeldSettle}, // the mock's stream is settled when it starts
	{phaseKeep, inHeldSettle, (*exchange).onHeldSettle},
	{phaseDone, inHeldSettle, (*exchange).onHeldSettle},

	// An attempt: one request to one target.
	{phaseUnseal, inUnsealed, (*exchange).onUnsealed},
	{phaseBuild, inBuffer, (*exchange).onBuildBody},
	{phaseWhole, inResponse, (*exchange).onResponse},
	{phaseWhole, inFault, (*exchange).onFault},
	{phaseOpening, inHead, (*exchange).onStreamHead},
	{phaseOpening, inResponse, (*exchange).onResponse},
	{phaseOpening, inFault, (*exchange).onFault},
	{phaseOpening, inTick, (*exchange).onOpeningTick},
	{phaseBackoff, inTimer, (*exchange).attempt},

	// Streaming: chunks arrive, comments fill pauses, and the reservation is extended. Uncovered events are withheld.
	{phaseStream, inChunk, (*exchange).onChunk},
	{phaseStream, inEnd, (*exchange).onStreamEnd},
	{phaseStream, inFault, (*exchange).onStreamFault},
	{phaseStream, inTick, (*exchange).onTick},
	{phaseStream, inBuffer, (*exchange).onWithheld},
	{phaseStream, inExtend, (*exchange).onExtend},
	{phaseStream, inExtendGrant, (*exchange).onExtendGrant},
	{phaseStream, inExtendFlush, (*exchange).onExtendFlush},
	{phaseStream, inExtendAbsorb, (*exchange).onExtendAbsorb},
	{phaseClosing, inBuffer, (*exchange).finishStream},
	{phaseClosing, inChunk, (*exchange).drain}, // after the end mark: read the rest, so that the connection can be reused
	{phaseClosing, inEnd, (*exchange).drain},
	{phaseClosing, inFault, (*exchange).drain},
	{phaseDone, inChunk, (*exchange).drain},
	{phaseDone, inEnd, (*exchange).drain},
	{phaseDone, inFault, (*exchange).drain},

	// The mock responds instead of a provider.
	{phaseMock, inBuffer, (*exchange).onMockBody},
	{phasePacing, inTimer, (*exchange).sendMockPiece},

	// An identical request is in progress at this isolate: the response comes from its flight.
	{phaseFollow, inFlight, (*exchange).onFlight},
	{phaseFollow, inBuffer, (*exchange).followMore},
	{phaseFollow, inTimer, (*exchange).onFollowTimeout},
	{phaseFollow, inTick, (*exchange).onFollowTick},
	{phaseFollowEnd, inBuffer, (*exchange).onFollowedDeltas},
	{phaseRejoin, inMemory, (*exchange).onRejoin},

	// Responses that are also stored for a replay under the Idempotency-Key.
	{phaseKeepHit, inBuffer, (*exchange).finishHit},
	{phaseKeepError, inBuffer, (*exchange).finishRejection},
	{phaseKeep, inKept, (*exchange).sendKept},
	{phaseKeep, inTimer, (*exchange).sendKept},
	{phaseKeep, inChunk, (*exchange).drain},
	{phaseKeep, inEnd, (*exchange).drain},
	{phaseKeep, inFault, (*exchange).drain},
	{phasePacing, inKept, (*exchange).drain}, // late
	{phaseDone, inKept, (*exchange).drain},

	// Endpoints other than completions.
	{phaseModels, inBuffer, (*exchange).onModelsPolicy},
	{phaseCountUnseal, inUnsealed, (*exchange).onCountUnsealed},
	{phaseCount, inResponse, (*exchange).onCount},
	{phaseCount, inFault, (*exchange).onCount},
	{phaseReport, inReport, (*exchange).onReport},
	{phaseReportPause, inTimer, (*exchange).retryReport},
	{phaseReportFlush, inFlush, (*exchange).onFlush},
	{phaseReportFlush, inAbsorb, (*exchange).onAbsorb},
	{phaseForward, inForwarded, (*exchange).onForwarded},

	// The client disconnects. No new attempt starts, and a stream is cut at once unless other
	// exchanges follow it. A whole response is still received, because the provider bills it anyway and it can be cached.
	{phaseIntake, inDisconnect, (*exchange).noteDisconnect},
	{phaseKey, inDisconnect, (*exchange).noteDisconnect},
	{phasePolicy, inDisconnect, (*exchange).noteDisconnect},
	{phaseInspect, inDisconnect, (*exchange).noteDisconnect},
	{phaseLookup, inDisconnect, (*exchange).noteDisconnect},
	{phaseAdmit, inDisconnect, (*exchange).noteDisconnect},
	{phaseGrant, inDisconnect, (*exchange).noteDisconnect},
	{phaseRecall, inDisconnect, (*exchange).noteDisconnect},
	{phaseLent, inDisconnect, (*exchange).noteDisconnect},
	{phaseCache, inDisconnect, (*exchange).noteDisconnect},
	{phaseOverBudget, inDisconnect, (*exchange).noteDisconnect},
	{phaseClassify, inDisconnect, (*exchange).noteDisconnect},
	{phaseUnseal, inDisconnect, (*exchange).abandon},
	{phaseBuild, inDisconnect, (*exchange).abandon},
	{phaseWhole, inDisconnect, (*exchange).noteDisconnect},
	{phaseOpening, inDisconnect, (*exchange).leaveStream},
	{phaseBackoff, inDisconnect, (*exchange).abandon},
	{phaseStream, inDisconnect, (*exchange).leaveStream},
	{phaseClosing, inDisconnect, (*exchange).noteDisconnect},
	{phaseMock, inDisconnect, (*exchange).noteDisconnect},
	{phasePacing, inDisconnect, (*exchange).abandonMock},
	{phaseFollow, inDisconnect, (*exchange).abandonFlight},
	{phaseFollowEnd, inDisconnect, (*exchange).noteDisconnect},
	{phaseRejoin, inDisconnect, (*exchange).noteDisconnect},
	{phaseKeepHit, inDisconnect, (*exchange).noteDisconnect},
	{phaseKeepError, inDisconnect, (*exchange).noteDisconnect},
	{phaseKeep, inDisconnect, (*exchange).noteDisconnect},
	{phaseModels, inDisconnect, (*exchange).noteDisconnect},
	{phaseCountUnseal, inDisconnect, (*exchange).noteDisconnect},
	{phaseCount, inDisconnect, (*exchange).noteDisconnect},
	{phaseReport, inDisconnect, (*exchange).noteDisconnect},
	{phaseReportPause, inDisconnect, (*exchange).noteDisconnect},
	{phaseReportFlush, inDisconnect, (*exchange).noteDisconnect},
	{phaseForward, inDisconnect, (*exchange).noteDisconnect},
	{phaseDone, inDisconnect, (*exchange).stopDrain},
}

// Step advances one exchange by one event. It panics on an event that the table does not allow.
func Step(cfg *config.Config, in *abi.StepInput) abi.StepOutput {
	x := exchange{config: cfg, now: in.NowMs, event: &in.Event, attached: in.Attached, pinned: in.Pinned, waiting: in.Waiting, circuits: route.DecodeCircuits(in.Shared)}
	if in.Event.Kind != abi.EventRequest {
		x.s = decodeState(in.State, cfg.Models)
	}
	x.dispatchEvent()
	if x.circuits.Changed {
		x.out.SharedChanged, x.out.Shared = true, x.circuits.Encode()
	}
	if x.entryMemo != nil && (x.out.PinnedChanged || x.entryMemo.WentBack()) {
		x.out.PinnedChanged = true
		x.out.Pinned, x.out.PinnedKeepMs = x.entryMemo.Encode()
	}
	x.out.State = x.s.encode(cfg.Models)
	return x.out
}

// dispatchEvent calls the handler of the event's row. A late reply to a canceled action is ignored.
func (x *exchange) dispatchEvent() {
	in, expected := x.input()
	if !expected {
		return
	}
	if in == inLease {
		x.onLease() // in any phase
		return
	}
	at := find(x.s.phase, in)
	if at < 0 {
		panic("exchange: no row for " + phaseNames[x.s.phase] + "/" + inputNames[in])
	}
	table[at].handle(x)
}

func find(p phase, in input) int {
	for i := range table {
		if table[i].phase == p && table[i].input == in {
			return i
		}
	}
	return -1
}

// enter sets the phase. No other function does.
func (x *exchange) enter(p phase) { x.s.phase = p }

// IDs of actions that an event answers. From idFlush on, each constant is the first ID of a list: idFlush+n
// flushes the n-th meter.
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
	idListEnd      = 5000
)

// inputOf maps the ID of an action to the input that its reply is. The reply to a fetch also depends on the
// event's kind (fetchInput).
var inputOf = [...]input{
	idBody: inBody, idRecord: inRecord, idAdmit: inAdmit, idMemory: inMemory, idTimer: inTimer, idKV: inKV, idGrant: inGrant,
	idReport: inReport, idBuffer: inBuffer, idForward: inForwarded, idTick: inTick, idExtend: inExtend, idPolicy: inPolicy,
	idUnseal: inUnsealed, idLedgerPolicy: inLedgerPolicy, idExtendGrant: inExtendGrant, idClassifyText: inClassifyText, idClassify: inClassified, idSettle: inHeldSettle, idFollow: inFlight, idKeep: inKept,
}

// input classifies the event and removes its action from the outstanding ones, unless more events follow. expected
// is false for a reply to an action that is not outstanding, such as a canceled one.
func (x *exchange) input() (in input, expected bool) {
	e := x.event
	switch {
	case e.Kind == abi.EventRequest:
		return inRequest, true
	case e.Kind == abi.EventDisconnect:
		return inDisconnect, true
	}
	at := slices.Index(x.s.outstanding, e.ID)
	if at < 0 {
		return 0, false
	}
	if e.Kind != abi.EventHead && e.Kind != abi.EventChunk {
		x.s.outstanding = slices.Delete(x.s.outstanding, at, at+1)
	}
	switch {
	case e.ID == idFetch:
		return fetchInput(e.Kind), true
	case e.ID >= idLeaseTimer:
		return inLease, true
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
