package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/route"
)

// Step moves one exchange on by one event.
func Step(cfg *config.Config, in *abi.StepInput) abi.StepOutput {
	x := exchange{config: cfg, now: in.NowMs, event: &in.Event, circuits: route.DecodeCircuits(in.Shared)}
	if in.Event.Kind == abi.EventRequest {
		x.head()
	} else {
		x.s = decodeState(in.State, cfg.Models)
		x.handle()
	}
	if x.circuits.Changed {
		x.out.SharedChanged, x.out.Shared = true, x.circuits.Encode()
	}
	x.out.State = x.s.encode(cfg.Models)
	return x.out
}

// handle is the table of who takes which event.
func (x *exchange) handle() {
	e := x.event
	switch {
	case e.Kind == abi.EventLeft:
		x.callerLeft()
	case e.ID == idBody:
		x.body()
	case e.ID == idRecord:
		x.recordRead()
	case e.ID == idAdmit:
		x.admitReply()
	case e.ID == idCache:
		x.cacheRead()
	case e.ID == idFetch:
		x.upstream()
	case e.ID == idTick:
		x.tick()
	case e.ID == idExtend:
		x.extended()
	case e.ID == idPolicy:
		x.policyRead()
	case e.ID == idLedgerPolicy:
		x.ledgerPolicy()
	case e.ID == idUnseal:
		x.unsealed()
	case e.ID == idSupply:
		x.supplied()
	case e.ID == idWait && x.s.route == routeUsage:
		x.report(true, false)
	case e.ID == idWait:
		x.attempt()
	case e.ID == idGrant:
		x.grantReply()
	case e.ID == idReport:
		x.reportReply()
	case e.ID >= idAbsorb:
		x.flushed()
	case e.ID >= idFlush:
		x.flushReply()
	case e.ID == idForward:
		x.forwarded()
	}
	// A settle's reply (idSettle) changes nothing: if it was lost, the reservation expires.
}

func (x *exchange) do(a abi.Action) { x.out.Actions = append(x.out.Actions, a) }

// since is how long ago an instant was; 0 if the clock went back meanwhile.
func (x *exchange) since(ms uint64) uint64 { return x.now - min(x.now, ms) }

// call sends a command to an object near the project's region.
func (x *exchange) call(id uint64, class abi.Class, name string, command []byte) {
	x.do(abi.Action{Kind: abi.ActionCall, ID: id, Class: class, Name: name, Region: x.s.record.Region, Data: command})
}

// failedCall answers 503 if an object could not be asked, or did not make sense.
func (x *exchange) failedCall(err error) bool {
	if x.event.Code == abi.OutcomeOK && err == nil {
		return false
	}
	x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
	return true
}

// unavailableRetryMs is what callers are told when a part of ours is out.
const unavailableRetryMs = 1000
