package exchange_test

import (
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
)

func (h *host) reply(a *abi.Action) (abi.Event, bool) {
	switch a.Kind {
	case abi.ActionReadBody:
		h.Buffers.Keep(a.Buffer, []byte(h.body))
		return abi.Event{Kind: abi.EventBody, Data: []byte(h.body)}, true
	case abi.ActionSupply:
		return abi.Event{Kind: abi.EventSupplied, Data: h.Content(h, a.Buffer)}, true
	case abi.ActionUnseal:
		return abi.Event{Kind: abi.EventSupplied, Data: []byte("key-of-the-project")}, true
	case abi.ActionRead, abi.ActionJoin:
		return h.readKey(a.Key), true
	case abi.ActionCall:
		return h.callObject(a), true
	case abi.ActionFetch:
		return h.nextFetchEvent(a)
	case abi.ActionForward:
		return abi.Event{Kind: abi.EventResponse, Code: h.control}, true
	case abi.ActionWait:
		if h.fetchPending() {
			return abi.Event{}, false
		}
		h.nowMs += a.KeepMs
		return abi.Event{Kind: abi.EventTimer}, true
	}
	return abi.Event{}, false
}

func (h *host) fetchPending() bool {
	return slices.ContainsFunc(h.pending, func(a abi.Action) bool { return a.Kind == abi.ActionFetch })
}

func (h *host) readKey(key string) abi.Event {
	event := abi.Event{Kind: abi.EventStored, Code: abi.OutcomeAbsent}
	switch {
	case strings.HasPrefix(key, "key/") && !h.noRecord:
		event.Code, event.Data = abi.OutcomeOK, h.recordAt(5)
	case strings.HasPrefix(key, "policy/") && h.policy != nil:
		event.Code, event.Data = abi.OutcomeOK, h.policy.Encode()
	case strings.HasPrefix(key, "cache/") && h.cached != nil:
		event.Code, event.Data = abi.OutcomeOK, h.cached
	}
	return event
}

func (h *host) recordAt(version uint64) []byte {
	r := doc.Record{Version: version, KeyID: "key_1", ProjectID: "prj_1", Kind: keys.Gateway, Environment: keys.Production, Plan: "free"}
	if h.key == developmentKey {
		r.Environment = keys.Development
	}
	if h.policy != nil {
		r.Policy = h.policy.Version
	}
	if h.record != nil {
		h.record(&r)
	}
	return r.Encode()
}

// callObject replies in place of the object that was called. By default, every request is admitted. The Ledger makes
// only the grants in h.grants.
func (h *host) callObject(a *abi.Action) abi.Event {
	event := abi.Event{Kind: abi.EventReply}
	switch command := decodeCommand(a).(type) {
	case *keymeter.Admit:
		event.Data = h.admitReply(command.AmountPico).Encode()
	case *keymeter.Extend:
		event.Data = h.admitReply(command.TotalPico).Encode()
	case *keymeter.Flush:
		event.Data = (&keymeter.FlushReply{Absorbs: [][]byte{{1}}, Open: h.openReservations}).Encode()
	default:
		h.callLedger(command, &event)
	}
	return event
}

// decodeCommand returns the command of a call. For other actions, it returns nil.
func decodeCommand(a *abi.Action) any {
	switch {
	case a.Kind != abi.ActionCall:
		return nil
	case a.Class == abi.ClassLedger:
		return ledger.Open(a.Data)
	}
	return keymeter.Open(a.Data)
}

func (h *host) admitReply(amount int64) *keymeter.AdmitReply {
	v := &keymeter.AdmitReply{Verdict: keymeter.Admitted, ReservedPico: amount}
	if len(h.verdicts) > 0 {
		v, h.verdicts = h.verdicts[0], h.verdicts[1:]
	}
	return v
}

func (h *host) callLedger(command any, event *abi.Event) {
	switch command.(type) {
	case *ledger.Grant:
		var reply ledger.GrantReply
		if len(h.grants) > 0 {
			reply, h.grants = h.grants[0], h.grants[1:]
		}
		event.Data = reply.Encode()
	case *ledger.Report:
		reply := h.report
		if len(h.reports) > 0 {
			reply, h.reports = h.reports[0], h.reports[1:]
		}
		event.Data = reply.Encode()
	case *ledger.PolicyCommand:
		if h.ledgerPolicy != nil {
			event.Data = h.ledgerPolicy.Encode()
		}
	default:
		event.Code = h.absorbOutcome
	}
}

// nextFetchEvent returns the next event of the pending fetch. If a tick is next, or if no events are left, it returns
// false.
func (h *host) nextFetchEvent(a *abi.Action) (abi.Event, bool) {
	if !h.fetchStarted {
		if len(h.provider) == 0 {
			h.t.Fatalf("unexpected fetch of %s", a.URL)
		}
		h.fetchEvents, h.provider, h.fetchStarted = h.provider[0], h.provider[1:], true
	}
	if len(h.fetchEvents) == 0 || h.fetchEvents[0].Kind == abi.EventTimer || h.paused {
		return abi.Event{}, false
	}
	event := h.fetchEvents[0]
	if h.fetchEvents = h.fetchEvents[1:]; event.Kind == abi.EventResponse {
		h.Buffers.Keep(a.Buffer, event.Data)
	}
	return event, true
}

var jsonHead = []abi.Header{{Name: "content-type", Value: "application/json"}}

// wholeResponse returns a provider's non-streaming response.
func wholeResponse(status uint64, body string) []abi.Event {
	return []abi.Event{{Kind: abi.EventResponse, Code: status, Headers: jsonHead, Data: []byte(body)}}
}

const openaiResponse = `{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"Hello!"},"finish_reason":"stop"}],` +
	`"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`

const anthropicResponse = `{"id":"m1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hello!"}],` +
	`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":3}}`

// streamEvents returns a provider's stream: a head and the chunks. The chunk "tick" is a tick, and "end" is the end
// of the body.
func streamEvents(chunks ...string) []abi.Event {
	events := []abi.Event{{Kind: abi.EventHead, Code: 200, Headers: []abi.Header{{Name: "content-type", Value: "text/event-stream"}}}}
	for _, c := range chunks {
		switch c {
		case "tick":
			events = append(events, abi.Event{Kind: abi.EventTimer})
		case "end":
			events = append(events, abi.Event{Kind: abi.EventEnd})
		default:
			events = append(events, abi.Event{Kind: abi.EventChunk, Data: []byte(c)})
		}
	}
	return events
}
