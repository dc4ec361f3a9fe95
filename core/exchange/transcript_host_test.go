package exchange_test

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
)

// commands maps each command to its handler.
var commands = map[string]func(*story, *args){
	"config": (*story).doConfig,

	"request": (*story).doRequest,
	"body":    (*story).doBody,
	"left":    (*story).doDisconnect,

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

// supply: the host returns a buffer.
func (s *story) doSupply(a *args) {
	supply := s.find(a, kind(abi.ActionSupply))
	s.reply(a, supply.ID, abi.Event{Kind: abi.EventSupplied, Data: s.buffers[supply.Buffer]})
}

// unsealed [failed]: the project's provider key, decrypted.
func (s *story) doUnsealed(a *args) {
	event := abi.Event{Kind: abi.EventSupplied, Data: []byte(projectKey)}
	if word := a.word(); word != "" {
		event.Data, event.Code = nil, outcome(a, word)
	}
	s.reply(a, s.find(a, kind(abi.ActionUnseal)).ID, event)
}

// IDs of the two waits that may be outstanding at the same time.
const (
	timerID = 6
	tickID  = 12
)

// timer: a wait ends. The clock advances by its duration.
func (s *story) doTimer(a *args) { s.finishWait(a, timerID) }

// tick: the keep-alive wait of a stream ends.
func (s *story) doTick(a *args) { s.finishWait(a, tickID) }

func (s *story) finishWait(a *args, id uint64) {
	wait := s.find(a, func(o *abi.Action) bool { return o.Kind == abi.ActionWait && o.ID == id })
	s.nowMs += wait.KeepMs
	s.reply(a, id, abi.Event{Kind: abi.EventTimer})
}

// forwarded STATUS|unreachable: the control plane's response.
func (s *story) doForwarded(a *args) {
	event := abi.Event{Kind: abi.EventFault, Code: abi.FaultConnect}
	if word := a.word(); word != "unreachable" {
		event = abi.Event{Kind: abi.EventResponse, Code: status(a, word)}
		s.responded = true
	}
	s.reply(a, s.find(a, kind(abi.ActionForward)).ID, event)
}

func status(a *args, word string) uint64 {
	code, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		a.fail(word + " is not a status")
	}
	return code
}
