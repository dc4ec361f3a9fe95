// Package exchange is one caller's request, from its head to its settled end, as a state machine. A host calls
// Step with each event; the machine moves on and answers with actions. Everything that decides what happens next
// stands in state, which hosts keep as bytes between steps.
//
// This file is the machine: the phases, the inputs, and one table that says which handler takes which input in
// which phase. Read the table from top to bottom as the story of a request. Handlers are grouped by phase in the
// files beside it: intake.go, admission.go, attempt.go, stream.go and finish.go, and one file for each endpoint
// that is not a completion. To see it at work, read testdata: stories of an exchange, events in and actions out.
package exchange

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/route"
)

// phase is how far an exchange is.
type phase uint8

const (
	phaseHead        phase = iota // before the first event
	phaseIntake                   // reads the key's record and the body, in either order
	phaseKey                      // asks the key's meter for a record that memory and KV do not have
	phasePolicy                   // reads the project's policy
	phaseLookup                   // looks for a cached answer in host memory
	phaseAdmit                    // asks the key's meter to let the request in
	phaseGrant                    // asks the Ledger for a slice of the budget
	phaseRecall                   // has the project's other keys give back idle slices
	phaseCache                    // admitted; KV has not said yet whether it has the answer
	phaseOverBudget               // out of budget; an answer from KV would still be free
	phaseUnseal                   // decrypts the project's own key for the present target
	phaseBuild                    // gets the body back from the host, to translate it for the target
	phaseOpening                  // a stream was asked for; the provider has not answered yet
	phaseWhole                    // a whole answer was asked for
	phaseBackoff                  // waits before it tries the same target again
	phaseStream                   // the provider's stream flows
	phaseClosing                  // gets the streamed answer back from the host, to end with it
	phaseMock                     // gets the body back for the built-in mock
	phasePacing                   // the mock's stream flows
	phaseKeepHit                  // gets a cached answer back, to keep it under the Idempotency-Key
	phaseKeepError                // gets an error back, to keep it likewise
	phaseModels                   // gets the project's policy back, to list models by it
	phaseCountUnseal              // decrypts the project's own key, to count tokens with it
	phaseCount                    // asks a provider to count tokens
	phaseReport                   // asks the Ledger for usage
	phaseReportPause              // waits for another report's flush, or for settles that are under way
	phaseReportFlush              // has the meters hand over their usage
	phaseForward                  // the control plane answers
	phaseDone                     // answered, settled and logged
	phases
)

var phaseNames = [phases]string{
	"head", "intake", "key", "policy", "lookup", "admit", "grant", "recall", "cache", "broke", "unseal", "build", "opening", "whole",
	"backoff", "stream", "closing", "mock", "pacing", "keep-hit", "keep-error", "models", "count-unseal", "count", "report",
	"report-pause", "report-flush", "forward", "done",
}

// input is what happened: an event's kind and which action it answers.
type input uint8

const (
	inRequest input = iota
	inBody
	inRecord
	inPolicy       // from memory or KV
	inLedgerPolicy // from the Ledger
	inMemory       // the cache's fast tier
	inKV           // and its slow one
	inAdmit
	inGrant
	inFlush
	inAbsorb
	inUnsealed
	inBuffer
	inResponse // a whole answer of a provider, or an error in place of a stream
	inHead     // a stream's head
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
	inDisconnect
	inputs
)

var inputNames = [inputs]string{
	"request", "body", "record", "policy", "ledger-policy", "memory", "kv", "admit", "grant", "flush", "absorb", "unsealed", "buffer",
	"response", "head", "chunk", "end", "fault", "timer", "tick", "extend", "extend-grant", "extend-flush", "extend-absorb", "report",
	"forwarded", "left",
}

// row says who takes an input in a phase.
type row struct {
	phase
	input
	handle func(*exchange)
}

// table is the machine. An input without a row is a breach of the contract with the host.
var table = [...]row{
	// A request arrives. Its body is read only if its key could be one.
	{phaseHead, inRequest, (*exchange).onRequest},
	{phaseIntake, inRecord, (*exchange).onRecord},
	{phaseIntake, inBody, (*exchange).onBody},
	{phaseKey, inAdmit, (*exchange).onKeyCheck},
	{phaseKey, inBody, (*exchange).onEarlyBody},
	{phasePolicy, inPolicy, (*exchange).onPolicy},
	{phasePolicy, inLedgerPolicy, (*exchange).onLedgerPolicy},
	{phaseLookup, inMemory, (*exchange).onMemoryCache},

	// Admission: the key's meter knows the key's status and limits, and holds a slice of the budget.
	{phaseAdmit, inAdmit, (*exchange).onAdmit},
	{phaseAdmit, inBody, (*exchange).onEarlyBody}, // of a key that, by its record, may not call this endpoint
	{phaseAdmit, inKV, (*exchange).noteCacheResult},
	{phaseGrant, inGrant, (*exchange).onGrant},
	{phaseGrant, inKV, (*exchange).noteCacheResult},
	{phaseRecall, inFlush, (*exchange).onFlush},
	{phaseRecall, inAbsorb, (*exchange).onAbsorb},
	{phaseRecall, inKV, (*exchange).noteCacheResult},
	{phaseCache, inKV, (*exchange).onKVCache},
	{phaseOverBudget, inKV, (*exchange).onKVCacheOverBudget},

	// An attempt: one request to one target.
	{phaseUnseal, inUnsealed, (*exchange).onUnsealed},
	{phaseBuild, inBuffer, (*exchange).onBuildBody},
	{phaseWhole, inResponse, (*exchange).onResponse},
	{phaseWhole, inFault, (*exchange).onFault},
	{phaseOpening, inHead, (*exchange).onStreamHead},
	{phaseOpening, inResponse, (*exchange).onResponse},
	{phaseOpening, inFault, (*exchange).onFault},
	{phaseBackoff, inTimer, (*exchange).attempt},

	// A stream: chunks come, the caller is kept informed, and the reservation grows beside it.
	{phaseStream, inChunk, (*exchange).onChunk},
	{phaseStream, inEnd, (*exchange).onStreamEnd},
	{phaseStream, inFault, (*exchange).onStreamFault},
	{phaseStream, inTick, (*exchange).onTick},
	{phaseStream, inExtend, (*exchange).onExtend},
	{phaseStream, inExtendGrant, (*exchange).onExtendGrant},
	{phaseStream, inExtendFlush, (*exchange).onExtendFlush},
	{phaseStream, inExtendAbsorb, (*exchange).onExtendAbsorb},
	{phaseClosing, inBuffer, (*exchange).finishStream},
	{phaseClosing, inChunk, (*exchange).drain}, // after the end mark: read on, so that the connection can be used again
	{phaseClosing, inEnd, (*exchange).drain},
	{phaseClosing, inFault, (*exchange).drain},
	{phaseDone, inChunk, (*exchange).drain},
	{phaseDone, inEnd, (*exchange).drain},
	{phaseDone, inFault, (*exchange).drain},

	// The mock answers in the provider's place.
	{phaseMock, inBuffer, (*exchange).onMockBody},
	{phasePacing, inTimer, (*exchange).sendMockPiece},

	// Answers that are also kept for a repeat of the request.
	{phaseKeepHit, inBuffer, (*exchange).finishHit},
	{phaseKeepError, inBuffer, (*exchange).finishRejection},

	// Endpoints that are no completion.
	{phaseModels, inBuffer, (*exchange).onModelsPolicy},
	{phaseCountUnseal, inUnsealed, (*exchange).onCountUnsealed},
	{phaseCount, inResponse, (*exchange).onCount},
	{phaseCount, inFault, (*exchange).onCount},
	{phaseReport, inReport, (*exchange).onReport},
	{phaseReportPause, inTimer, (*exchange).retryReport},
	{phaseReportFlush, inFlush, (*exchange).onFlush},
	{phaseReportFlush, inAbsorb, (*exchange).onAbsorb},
	{phaseForward, inForwarded, (*exchange).onForwarded},

	// The caller leaves. What is under way is noted and ended where that saves something: no new attempt begins,
	// a stream is cut at once. A whole answer comes to its end, since the provider bills it anyway.
	{phaseIntake, inDisconnect, (*exchange).noteDisconnect},
	{phaseKey, inDisconnect, (*exchange).noteDisconnect},
	{phasePolicy, inDisconnect, (*exchange).noteDisconnect},
	{phaseLookup, inDisconnect, (*exchange).noteDisconnect},
	{phaseAdmit, inDisconnect, (*exchange).noteDisconnect},
	{phaseGrant, inDisconnect, (*exchange).noteDisconnect},
	{phaseRecall, inDisconnect, (*exchange).noteDisconnect},
	{phaseCache, inDisconnect, (*exchange).noteDisconnect},
	{phaseOverBudget, inDisconnect, (*exchange).noteDisconnect},
	{phaseUnseal, inDisconnect, (*exchange).abandon},
	{phaseBuild, inDisconnect, (*exchange).abandon},
	{phaseWhole, inDisconnect, (*exchange).noteDisconnect},
	{phaseOpening, inDisconnect, (*exchange).abandonStream},
	{phaseBackoff, inDisconnect, (*exchange).abandon},
	{phaseStream, inDisconnect, (*exchange).abandonStream},
	{phaseClosing, inDisconnect, (*exchange).noteDisconnect},
	{phaseMock, inDisconnect, (*exchange).noteDisconnect},
	{phasePacing, inDisconnect, (*exchange).abandonMock},
	{phaseKeepHit, inDisconnect, (*exchange).noteDisconnect},
	{phaseKeepError, inDisconnect, (*exchange).noteDisconnect},
	{phaseModels, inDisconnect, (*exchange).noteDisconnect},
	{phaseCountUnseal, inDisconnect, (*exchange).noteDisconnect},
	{phaseCount, inDisconnect, (*exchange).noteDisconnect},
	{phaseReport, inDisconnect, (*exchange).noteDisconnect},
	{phaseReportPause, inDisconnect, (*exchange).noteDisconnect},
	{phaseReportFlush, inDisconnect, (*exchange).noteDisconnect},
	{phaseForward, inDisconnect, (*exchange).noteDisconnect},
	{phaseDone, inDisconnect, (*exchange).stopDrain},
}

// Step moves one exchange on by one event.
func Step(cfg *config.Config, in *abi.StepInput) abi.StepOutput {
	x := exchange{config: cfg, now: in.NowMs, event: &in.Event, circuits: route.DecodeCircuits(in.Shared)}
	if in.Event.Kind != abi.EventRequest {
		x.s = decodeState(in.State, cfg.Models)
	}
	x.dispatchEvent()
	if x.circuits.Changed {
		x.out.SharedChanged, x.out.Shared = true, x.circuits.Encode()
	}
	x.out.State = x.s.encode(cfg.Models)
	return x.out
}

// take hands the event to its row's handler. The answer to an action that was cancelled has none.
func (x *exchange) dispatchEvent() {
	in, expected := x.input()
	if !expected {
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

// enter is the one place that sets the phase.
func (x *exchange) enter(p phase) { x.s.phase = p }

// Ids of actions that are answered. Those of lists are numbered from the first on.
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

	idFlush        = 1000
	idAbsorb       = 2000
	idExtendFlush  = 3000
	idExtendAbsorb = 4000
	idListEnd      = 5000
)

// inputOf is what the answer to an action is, by the action's id; a fetch's depends on the event's kind too.
var inputOf = [...]input{
	idBody: inBody, idRecord: inRecord, idAdmit: inAdmit, idMemory: inMemory, idTimer: inTimer, idKV: inKV, idGrant: inGrant,
	idReport: inReport, idBuffer: inBuffer, idForward: inForwarded, idTick: inTick, idExtend: inExtend, idPolicy: inPolicy,
	idUnseal: inUnsealed, idLedgerPolicy: inLedgerPolicy, idExtendGrant: inExtendGrant,
}

// input classifies the event, and takes its action off the outstanding ones. wanted is false for the answer to
// an action that is not outstanding (any more).
func (x *exchange) input() (in input, expected bool) {
	e := x.event
	switch {
	case e.Kind == abi.EventRequest:
		return inRequest, true
	case e.Kind == abi.EventLeft:
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

// ask issues an action that will be answered. Two of one id at a time would be mistaken for each other.
func (x *exchange) await(a abi.Action) {
	if slices.Contains(x.s.outstanding, a.ID) {
		panic("exchange: an action's id is used again")
	}
	x.s.outstanding = append(x.s.outstanding, a.ID)
	x.do(a)
}

// do issues an action without an answer.
func (x *exchange) do(a abi.Action) { x.out.Actions = append(x.out.Actions, a) }

// waits says whether an action's answer is outstanding.
func (x *exchange) pending(id uint64) bool { return slices.Contains(x.s.outstanding, id) }

// waitsWithin says whether any action of a numbered list is.
func (x *exchange) pendingWithin(first, end uint64) bool {
	return slices.ContainsFunc(x.s.outstanding, func(id uint64) bool { return id >= first && id < end })
}

// cancel gives an action up, if it is outstanding.
func (x *exchange) cancel(id uint64) {
	if at := slices.Index(x.s.outstanding, id); at >= 0 {
		x.s.outstanding = slices.Delete(x.s.outstanding, at, at+1)
		x.do(abi.Action{Kind: abi.ActionCancel, ID: id})
	}
}

// cancelWithin gives up all actions of a numbered list.
func (x *exchange) cancelWithin(first, end uint64) {
	for _, id := range slices.Clone(x.s.outstanding) {
		if id >= first && id < end {
			x.cancel(id)
		}
	}
}

// end is the last thing that an exchange does: nothing that is still under way concerns it any more. A fetch that
// is, is a stream whose end mark came: its connection is read to its end.
func (x *exchange) end() {
	x.cancelWithin(0, idFetch)
	x.cancelWithin(idFetch+1, idListEnd)
	x.enter(phaseDone)
}

// Rows names the table's rows, as phase/input, in their order.
func Rows() []string {
	names := make([]string, len(table))
	for i := range table {
		names[i] = phaseNames[table[i].phase] + "/" + inputNames[table[i].input]
	}
	return names
}

// RowOf is the number of the row that takes an event in a state; -1 for the answer to a cancelled action, which
// has none.
func RowOf(cfg *config.Config, stateBytes []byte, event *abi.Event) int {
	x := exchange{config: cfg, event: event}
	if event.Kind != abi.EventRequest {
		x.s = decodeState(stateBytes, cfg.Models)
	}
	in, expected := x.input()
	if !expected {
		return -1
	}
	return find(x.s.phase, in)
}

// Canonical is a state without clock readings, the random sequence and latencies: two states that differ in those
// alone take the same events to the same phases.
func Canonical(cfg *config.Config, stateBytes []byte) []byte {
	s := decodeState(stateBytes, cfg.Models)
	s.seed, s.startMs, s.dispatchMs, s.times, s.stream.firstContentMs = 0, 0, 0, times{}, 0
	return s.encode(cfg.Models)
}
