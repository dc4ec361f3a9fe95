package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
)

// onFault handles an attempt that failed before a complete response or the head of a stream arrived.
func (x *exchange) onFault() {
	s := &x.s
	x.cancel(idTick)
	s.times.upstream += x.since(s.times.upstreamStart)
	x.noteAttempt(faultWord(x.event.Code))
	switch x.event.Code {
	case abi.FaultCut:
		x.chargeUnreported()
		x.refuseShuttingDown()
		return
	case abi.FaultClosing:
		x.refuseShuttingDown()
		return
	}
	x.failCircuit()
	switch x.event.Code {
	case abi.FaultConnect, abi.FaultUndelivered:
		x.noteFailure(ledger.CauseConnection)
		x.next(fault.ProviderError, x.providerDid("could not be reached"))
	case abi.FaultBroken:
		x.noteFailure(ledger.CauseCut)
		x.chargeUnreported()
		x.refuse(fault.ProviderAnswer, x.providerDid("ended its response early"))
	case abi.FaultTooLarge:
		x.noteFailure(ledger.CauseUnusable)
		x.chargeUnreported()
		x.refuse(fault.ProviderAnswer, x.providerDid("sent a response that is too large"))
	default:
		x.noteFailure(ledger.CauseTimeout)
		x.chargeUnreported()
		x.next(fault.ProviderTimeout, refusal{})
	}
}

func faultWord(code uint64) string {
	switch code {
	case abi.FaultCut, abi.FaultClosing:
		return "shutdown"
	case abi.FaultConnect, abi.FaultUndelivered:
		return "unreachable"
	case abi.FaultBroken:
		return "broken"
	case abi.FaultTooLarge:
		return "too_large"
	}
	return "timeout"
}
