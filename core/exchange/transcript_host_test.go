package exchange_test

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/exchange"
)

var commands = map[string]func(*session, *args){
	"config": (*session).doConfig,

	"request":    (*session).doRequest,
	"body":       (*session).doBody,
	"disconnect": (*session).doDisconnect,

	"record":        (*session).doRecord,
	"policy":        (*session).doPolicy,
	"ledger-policy": (*session).doLedgerPolicy,
	"memory":        (*session).doMemory,
	"shared":        (*session).doShared,
	"flight":        (*session).doFlight,
	"followers":     (*session).doFollowers,

	"admit":    (*session).doAdmit,
	"extend":   (*session).doExtend,
	"grant":    (*session).doGrant,
	"flush":    (*session).doFlush,
	"absorbed": (*session).doAbsorbed,
	"report":   (*session).doReport,
	"reported": (*session).doReported,
	"keeper":   (*session).doKeeper,
	"pinned":   (*session).doPinned,
	"tallied":  (*session).doTallied,
	"evict":    (*session).doEvict,

	"fetch": (*session).doFetch,
	"head":  (*session).doHead,
	"chunk": (*session).doChunk,
	"end":   (*session).doEnd,
	"fault": (*session).doFault,

	"classifier": (*session).doClassifier,

	"supply":    (*session).doSupply,
	"unsealed":  (*session).doUnsealed,
	"timer":     (*session).doTimer,
	"woken":     (*session).doWoken,
	"kept":      (*session).doKept,
	"tick":      (*session).doTick,
	"forwarded": (*session).doForwarded,
}

// supply [BUFFER]: the host returns a buffer. If no name is given, it returns the first requested buffer.
func (s *session) doSupply(a *args) {
	name := a.word()
	supply := s.find(a, func(o *abi.Action) bool {
		return o.Kind == abi.ActionSupply && (name == "" || name == exchange.BufferName(o.Buffer))
	})
	s.reply(a, supply.ID, abi.Event{Kind: abi.EventSupplied, Data: s.Content(s, supply.Buffer)})
}

// unsealed [failed]: the project's provider key, decrypted.
func (s *session) doUnsealed(a *args) {
	event := abi.Event{Kind: abi.EventSupplied, Data: []byte(projectKey)}
	if word := a.word(); word != "" {
		event.Data, event.Code = nil, outcome(a, word)
	}
	s.reply(a, s.find(a, kind(abi.ActionUnseal)).ID, event)
}

// IDs of the two waits that can be outstanding at the same time.
const (
	timerID = 6
	tickID  = 12
)

// timer: a wait ends. The clock advances by its duration.
func (s *session) doTimer(a *args) { s.finishWait(a, timerID) }

// woken: a step of another exchange ends the wait in the queue of the entry.
func (s *session) doWoken(a *args) {
	wait := s.find(a, func(o *abi.Action) bool { return o.Kind == abi.ActionWait && o.Code != abi.WaitTimer })
	s.reply(a, wait.ID, abi.Event{Kind: abi.EventTimer, Code: abi.TimerWoken})
}

// tick: the keep-alive wait of a stream ends.
func (s *session) doTick(a *args) { s.finishWait(a, tickID) }

func (s *session) finishWait(a *args, id uint64) {
	wait := s.find(a, func(o *abi.Action) bool { return o.Kind == abi.ActionWait && o.ID == id })
	s.nowMs += wait.KeepMs
	s.reply(a, id, abi.Event{Kind: abi.EventTimer})
}

// forwarded STATUS|unreachable: the control plane's response.
func (s *session) doForwarded(a *args) {
	event := abi.Event{Kind: abi.EventFault, Code: abi.FaultConnect}
	if word := a.word(); word != "unreachable" {
		event = abi.Event{Kind: abi.EventResponse, Code: status(a, word)}
		s.Forwarded(s)
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
