package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/exchange/cached"
	"github.com/postern-ai/postern/core/ledger"
)

// PhaseName returns the name of the phase in an encoded state.
func PhaseName(cfg *config.Config, stateBytes []byte) string {
	return PhaseOf(cfg, stateBytes)
}

// PhaseNames are the names of all phases.
func PhaseNames() (names []string) {
	for p := range phaseTable {
		names = append(names, phaseTable[p].name)
	}
	return names
}

// BufferName returns a one-word name for a buffer.
func BufferName(number uint64) string {
	switch {
	case number >= bufferSealed:
		return "sealed-key"
	case number == bufferOutcome:
		return "outcome"
	case number >= bufferPieces:
		return "piece"
	}
	return [...]string{
		bufferBody: "body", bufferMembers: "members", bufferAnswer: "cached-response", bufferError: "error", bufferUpstream: "upstream",
		bufferDeltas: "deltas", bufferPolicy: "policy", abi.AttachedBuffer: "attached",
		bufferChecked: "checked-body", bufferClassify: "classifier-text", bufferClassified: "classifier-response", bufferSettle: "settlement",
		bufferEntry: "entry", bufferFlight: "flight", bufferWithheld: "withheld-events",
	}[number]
}

// UnknownMark is the value stored in host memory for a key that does not exist.
var UnknownMark = unknownMark

// Entry encodes a cache entry with a provider's original response.
func Entry(storedMs, expiresMs uint64, provider, model string, usage chat.Usage, body []byte) []byte {
	e := cached.Entry{StoredMs: storedMs, ExpiresMs: expiresMs, Provider: provider, Model: model, Usage: usage, Raw: true, Body: body}
	return e.Encode()
}

// EndOf returns how the request in an encoded state ended. If the end is already counted in the key's entry, EndOf
// returns the zero value.
func EndOf(cfg *config.Config, stateBytes []byte) ledger.End {
	s := decodeState(stateBytes, cfg.Models)
	return s.ending.count.End
}

// Ending returns the record of a request that was not served. The record is in the encoded state.
func Ending(cfg *config.Config, state []byte) ledger.Record {
	s := decodeState(state, cfg.Models)
	return s.ending.record
}

// Between returns a state after the end of a step, and the same state after it was encoded and decoded. fill gets the
// state before the end of the step.
func Between(cfg *config.Config, fill func(state any)) (kept, decoded any) {
	var s state
	fill(&s)
	s.rest()
	again := decodeState(s.encode(cfg.Models), cfg.Models)
	return &s, &again
}
