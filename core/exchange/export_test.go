package exchange

import (
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
)

// PhaseName is the name of the phase that a state is in.
func PhaseName(cfg *config.Config, stateBytes []byte) string {
	return phaseNames[decodeState(stateBytes, cfg.Models).phase]
}

// PhaseNames are all phases.
func PhaseNames() []string { return phaseNames[:] }

// BufferName is what a buffer holds, in a word.
func BufferName(number uint64) string {
	switch {
	case number >= bufferSealed:
		return "sealed-key"
	case number >= bufferPieces:
		return "piece"
	}
	return [...]string{
		bufferBody: "body", bufferMembers: "members", bufferAnswer: "cached-answer", bufferError: "error", bufferUpstream: "upstream",
		bufferDeltas: "deltas", bufferPolicy: "policy",
	}[number]
}

// UnknownMark is what stands in memory for a key that does not exist.
var UnknownMark = unknownMark

// Entry is a cached answer as a provider sent it.
func Entry(storedMs, expiresMs uint64, provider, model string, usage chat.Usage, body []byte) []byte {
	e := entry{storedMs: storedMs, expiresMs: expiresMs, provider: provider, model: model, usage: usage, raw: true, body: body}
	return e.encode()
}
