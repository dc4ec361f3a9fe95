package exchange_test

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
)

// commands are all of them, each with its handler.
var commands = map[string]func(*story, *args){
	"config": (*story).doConfig,

	"request": (*story).doRequest,
	"body":    (*story).doBody,
	"left":    (*story).doLeft,

	"record":        (*story).doRecord,
	"policy":        (*story).doPolicy,
	"ledger-policy": (*story).doLedgerPolicy,
	"memory":        (*story).doMemory,
	"kv":            (*story).doKV,

	"admit":    (*story).doAdmit,
	"extend":   (*story).doExtend,
	"grant":    (*story).doGrant,
	"flush":    (*story).doFlush,
	"absorbed": (*story).doAbsorbed,
	"report":   (*story).doReport,

	"fetch": (*story).doFetch,
	"head":  (*story).doHead,
	"chunk": (*story).doChunk,
	"end":   (*story).doEnd,
	"fault": (*story).doFault,

	"supply":    (*story).doSupply,
	"unsealed":  (*story).doUnsealed,
	"timer":     (*story).doTimer,
	"tick":      (*story).doTick,
	"forwarded": (*story).doForwarded,
}

// supply: the host gives a buffer back.
func (s *story) doSupply(a *args) {
	supply := s.find(a, kind(abi.ActionSupply))
	s.answer(a, supply.ID, abi.Event{Kind: abi.EventSupplied, Data: s.buffers[supply.Buffer]})
}

// unsealed [failed]: the project's own key for a provider.
func (s *story) doUnsealed(a *args) {
	event := abi.Event{Kind: abi.EventSupplied, Data: []byte(ownKey)}
	if word := a.word(); word != "" {
		event.Data, event.Code = nil, outcome(a, word)
	}
	s.answer(a, s.find(a, kind(abi.ActionUnseal)).ID, event)
}

// Ids of the two waits that an exchange may have under way at a time.
const (
	timerID = 6
	tickID  = 12
)

// timer: a wait is over. The clock goes on by it.
func (s *story) doTimer(a *args) { s.waited(a, timerID) }

// tick: the wait beside a stream is over.
func (s *story) doTick(a *args) { s.waited(a, tickID) }

func (s *story) waited(a *args, id uint64) {
	wait := s.find(a, func(o *abi.Action) bool { return o.Kind == abi.ActionWait && o.ID == id })
	s.nowMs += wait.KeepMs
	s.answer(a, id, abi.Event{Kind: abi.EventTimer})
}

// forwarded STATUS|unreachable: what the control plane did with the request.
func (s *story) doForwarded(a *args) {
	event := abi.Event{Kind: abi.EventFault, Code: abi.FaultConnect}
	if word := a.word(); word != "unreachable" {
		event = abi.Event{Kind: abi.EventResponse, Code: status(a, word)}
		s.answered = true
	}
	s.answer(a, s.find(a, kind(abi.ActionForward)).ID, event)
}

func status(a *args, word string) uint64 {
	code, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		a.fail(word + " is no status")
	}
	return code
}
