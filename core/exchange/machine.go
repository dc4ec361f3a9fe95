// Package exchange runs one request as a state machine, from its head until it is settled and logged. A host calls
// Step with each event, and Step returns the new state and the actions to perform. The state contains everything that
// later decisions depend on. Between steps, the host stores the state as bytes. Hosts in Go may store it as a value
// (State).
//
// This file contains the state machine. For each phase and input, its table has a handler and the phases that may
// follow. To follow a request, read the table from top to bottom. docs/project/architecture.md has the diagram. The
// phases are in phases.go, the inputs in inputs.go, and the small machines that run alongside the request in
// beside.go. The differences between endpoints are in endpoints.go. testdata contains complete exchanges as text,
// with the events that go in and the actions that come out.
package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/lease"
	"github.com/postern-ai/postern/core/route"
)

// row maps one input in one phase to its handler, and to the phases that the handler may enter. A handler need not
// change the phase.
type row struct {
	phase
	input
	handle func(*exchange)
	next   phaseSet
}

// table defines the state machine. If an input has no row, the host has violated the contract, and Step panics. Step
// also panics if a handler enters a phase that its row does not name.
var table = [...]row{
	// The request arrives. The body is read only if the key is well-formed.
	{phaseHead, inRequest, (*exchange).onRequest, toIntake | toForward | toDone},
	{phaseIntake, inRecord, (*exchange).onRecord, toKey | toPolicy | toInspect | toLookup | toAdmit | toDone},
	{phaseIntake, inBody, (*exchange).onBody, toPolicy | toChosen},
	{phaseKey, inAdmit, (*exchange).onKeyCheck, toIntake | toPolicy | toInspect | toLookup | toAdmit | toDone},
	{phaseKey, inBody, (*exchange).onEarlyBody, 0},
	{phasePolicy, inPolicy, (*exchange).onPolicy, toChosen},
	{phasePolicy, inLedgerPolicy, (*exchange).onLedgerPolicy, toChosen},
	{phaseInspect, inBuffer, (*exchange).onInspect, toLookup | toAdmit | toDispatch},
	{phaseLookup, inMemory, (*exchange).onMemoryCache, toAdmit | toCache | toFollow | toAttempt | toDone},

	// Admission. The key's meter knows the key's status and limits, and holds a slice of the budget.
	{phaseAdmit, inAdmit, (*exchange).onAdmit, toIntake | toPolicy | toInspect | toLookup | toGrant | toLent | toOverBudget | toServe},
	{phaseAdmit, inTimer, (*exchange).retryAdmission, toServe},
	{phaseAdmit, inBody, (*exchange).onEarlyBody, 0}, // the record lacks the permission for this endpoint
	{phaseAdmit, inKV, (*exchange).noteSharedCacheResult, 0},
	{phaseGrant, inGrant, (*exchange).onGrant, toAdmit | toRecall | toLent | toOverBudget | toDone},
	{phaseGrant, inLevelGrant, (*exchange).onLevelGrant, toAdmit | toOverBudget | toDone},
	{phaseGrant, inKV, (*exchange).noteSharedCacheResult, 0},
	{phaseRecall, inFlush, (*exchange).onFlush, toGrant},
	{phaseRecall, inAbsorb, (*exchange).onAbsorb, toGrant},
	{phaseRecall, inKV, (*exchange).noteSharedCacheResult, 0},
	{phaseLent, inTimer, (*exchange).retryAdmission, toAdmit},
	{phaseLent, inKV, (*exchange).noteSharedCacheResult, 0},
	{phaseCache, inKV, (*exchange).onKVCache, toKeepHit | toDispatch},
	{phaseOverBudget, inKV, (*exchange).onKVCacheOverBudget, toAdmit | toDone},
	{phaseOverBudget, inFlight, (*exchange).onFlightOverBudget, toAdmit | toDone},

	// An attempt: one request to one target.
	{phaseUnseal, inUnsealed, (*exchange).onUnsealed, toAttempt},
	{phaseBuild, inBuffer, (*exchange).onBuildBody, toAttempt | toCountUnseal | toCount},
	{phaseWhole, inResponse, (*exchange).onResponse, toWholeAttempt | toBackoff | toKeep},
	{phaseWhole, inFault, (*exchange).onFault, toWholeAttempt},
	{phaseOpening, inHead, (*exchange).onStreamHead, toStream | toStreamAttempt},
	{phaseOpening, inResponse, (*exchange).onResponse, toStreamAttempt | toBackoff},
	{phaseOpening, inFault, (*exchange).onFault, toStreamAttempt},
	{phaseOpening, inTick, (*exchange).onOpeningTick, toDone},
	{phaseBackoff, inTimer, (*exchange).attempt, toUnseal | toBuild | toOpening | toWhole | toDone},

	// Streaming. Chunks arrive, comments fill pauses, and the reservation is extended. Events that the reservation
	// does not cover are withheld.
	{phaseStream, inChunk, (*exchange).onChunk, toStreamAttempt | toClosing | toKeep},
	{phaseStream, inEnd, (*exchange).onStreamEnd, toStreamAttempt | toClosing | toKeep},
	{phaseStream, inFault, (*exchange).onStreamFault, toStreamAttempt},
	{phaseStream, inTick, (*exchange).onTick, toDone},
	{phaseStream, inBuffer, (*exchange).onWithheld, toClosing | toKeep | toDone},
	{phaseClosing, inBuffer, (*exchange).finishStream, toKeep | toDone},

	// The mock responds in place of a provider.
	{phaseMock, inBuffer, (*exchange).onMockBody, toPacing | toKeep | toDone},
	{phasePacing, inTimer, (*exchange).sendMockPiece, toDone},

	// An identical request is in progress in this isolate, so the response comes from its flight.
	{phaseFollow, inFlight, (*exchange).onFlight, toAttempt | toFollowEnd | toRejoin},
	{phaseFollow, inBuffer, (*exchange).followMore, toAttempt},
	{phaseFollow, inTimer, (*exchange).onFollowTimeout, toDone},
	{phaseFollow, inTick, (*exchange).onFollowTick, toDone},
	{phaseFollowEnd, inBuffer, (*exchange).onFollowedDeltas, toDone},
	{phaseRejoin, inMemory, (*exchange).onRejoin, toAttempt | toFollow},

	// The response is also stored under the Idempotency-Key, for replays.
	{phaseKeepHit, inBuffer, (*exchange).finishHit, toKeep},
	{phaseKeepError, inBuffer, (*exchange).finishRejection, toKeep},
	{phaseKeep, inKept, (*exchange).onKept, toKeep | toPacing | toDone},
	{phaseKeep, inTimer, (*exchange).loadOutcome, toKeep},
	{phaseKeep, inBuffer, (*exchange).keepLater, toPacing | toDone},
	{phasePacing, inKept, (*exchange).ignore, 0}, // the response is already being sent
	{phaseDone, inKept, (*exchange).ignore, 0},

	// Other endpoints.
	{phaseModels, inBuffer, (*exchange).onModelsPolicy, toDone},
	{phaseCountUnseal, inUnsealed, (*exchange).onCountUnsealed, toBuild | toCount | toDone},
	{phaseCount, inResponse, (*exchange).onCount, toDone},
	{phaseCount, inFault, (*exchange).onCount, toDone},
	{phaseReport, inReport, (*exchange).onReport, toReportPause | toReportFlush | toDone},
	{phaseReportPause, inTimer, (*exchange).retryReport, toReport},
	{phaseReportFlush, inFlush, (*exchange).onReportFlush, toReport | toReportPause},
	{phaseReportFlush, inAbsorb, (*exchange).onReportAbsorb, toReport | toReportPause},
	{phaseForward, inForwarded, (*exchange).onForwarded, toDone},
}

// Step advances one exchange by one event. It panics on an event that the table does not allow.
func Step(cfg *config.Config, in *abi.StepInput) abi.StepOutput {
	var x exchange
	if in.Event.Kind != abi.EventRequest {
		x.s = decodeState(in.State, cfg.Models)
	}
	x.run(cfg, in, nil)
	if x.out.PinnedChanged {
		x.out.Pinned, x.out.PinnedKeepMs = x.entryMemo.Encode()
	}
	x.out.State = x.s.encode(cfg.Models)
	return x.out
}

// run handles the event. The state must be that before the step. entry is a copy of the pinned entry if the host keeps
// that decoded. run sets PinnedChanged, and leaves it to its caller to encode the entry.
func (x *exchange) run(cfg *config.Config, in *abi.StepInput, entry *lease.Entry) {
	x.step = step{
		endpoint: &endpoints[x.s.endpoint], rows: endpoints[:], config: cfg, now: in.NowMs, event: &in.Event, attached: in.Attached,
		pinned: in.Pinned, entryMemo: entry, waiting: in.Waiting, circuits: route.DecodeCircuits(in.Shared), out: abi.StepOutput{Actions: x.out.Actions},
	}
	x.dispatchEvent()
	if x.circuits.Changed {
		x.out.SharedChanged, x.out.Shared = true, x.circuits.Encode()
	}
	x.out.PinnedChanged = x.entryMemo != nil && (x.out.PinnedChanged || x.entryMemo.WentBack())
	if x.out.PinnedChanged {
		if x.out.Wake = x.entryMemo.Freed(); x.wakeAll {
			x.out.Wake = lease.All
		}
	}
}

func (x *exchange) dispatchEvent() {
	in, expected := x.input()
	if !expected {
		return
	}
	if in == inDisconnect {
		d := phaseTable[x.s.phase].onDisconnect
		x.mayEnter = d.next()
		departureHandlers[d](x)
		return
	}
	if m := x.beside(in); m != nil {
		x.dispatchBeside(m, in)
		return
	}
	x.settleEvent()
	at := find(x.s.phase, in)
	if at < 0 {
		panic("exchange: no row for this phase and input")
	}
	x.mayEnter = table[at].next
	for table[at].handle(x); x.proceeds; {
		x.proceeds = false
		x.proceed()
	}
}

var departureHandlers = [departures]func(*exchange){
	noted: (*exchange).noteDisconnect, abandons: (*exchange).abandon, leavesStream: (*exchange).leaveStream, cutsMock: (*exchange).abandonMock,
	leavesFlight: (*exchange).abandonFlight, stopsDrain: (*exchange).stopDrain,
}

func find(p phase, in input) int {
	for i := range table {
		if table[i].phase == p && table[i].input == in {
			return i
		}
	}
	return -1
}
