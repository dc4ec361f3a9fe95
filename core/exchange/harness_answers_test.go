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

func (h *host) answer(a *abi.Action) (abi.Event, bool) {
	switch a.Kind {
	case abi.ActionReadBody:
		h.buffers[a.Buffer] = []byte(h.body)
		return abi.Event{Kind: abi.EventBody, Data: []byte(h.body)}, true
	case abi.ActionSupply:
		return abi.Event{Kind: abi.EventSupplied, Data: h.buffers[a.Buffer]}, true
	case abi.ActionUnseal:
		return abi.Event{Kind: abi.EventSupplied, Data: []byte("key-of-the-project")}, true
	case abi.ActionRead:
		return h.read(a.Key), true
	case abi.ActionCall:
		return h.call(a), true
	case abi.ActionFetch:
		return h.fetched(a)
	case abi.ActionForward:
		return abi.Event{Kind: abi.EventResponse, Code: h.control}, true
	case abi.ActionWait:
		if h.fetching() {
			return abi.Event{}, false
		}
		h.nowMs += a.KeepMs
		return abi.Event{Kind: abi.EventTimer}, true
	}
	return abi.Event{}, false
}

func (h *host) fetching() bool {
	return slices.ContainsFunc(h.open, func(a abi.Action) bool { return a.Kind == abi.ActionFetch })
}

func (h *host) read(key string) abi.Event {
	event := abi.Event{Kind: abi.EventStored, Code: abi.OutcomeAbsent}
	switch {
	case strings.HasPrefix(key, "key/") && !h.stranger:
		event.Code, event.Data = abi.OutcomeOK, h.recordAt(5)
	case strings.HasPrefix(key, "policy/") && h.policy != nil:
		event.Code, event.Data = abi.OutcomeOK, h.policy.Encode()
	case strings.HasPrefix(key, "cache/") && h.stored != nil:
		event.Code, event.Data = abi.OutcomeOK, h.stored
	}
	return event
}

func (h *host) recordAt(version uint64) []byte {
	r := doc.Record{Version: version, KeyID: "key_1", ProjectID: "prj_1", Kind: keys.Gateway, Environment: keys.Production, Plan: "free"}
	if h.key == mockedKey {
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

// call answers as the objects do: all is admitted, and the Ledger has no more than grants say.
func (h *host) call(a *abi.Action) abi.Event {
	event := abi.Event{Kind: abi.EventReply}
	switch command := opened(a).(type) {
	case *keymeter.Admit:
		event.Data = h.verdict(command.AmountPico).Encode()
	case *keymeter.Extend:
		event.Data = h.verdict(command.TotalPico).Encode()
	case *keymeter.Flush:
		event.Data = (&keymeter.FlushReply{Absorbs: [][]byte{{1}}, Open: h.underWay}).Encode()
	default:
		h.askLedger(command, &event)
	}
	return event
}

// opened is the command of a call; nil for other actions.
func opened(a *abi.Action) any {
	switch {
	case a.Kind != abi.ActionCall:
		return nil
	case a.Class == abi.ClassLedger:
		return ledger.Open(a.Data)
	}
	return keymeter.Open(a.Data)
}

func (h *host) verdict(amount int64) *keymeter.AdmitReply {
	v := &keymeter.AdmitReply{Verdict: keymeter.Admitted, ReservedPico: amount}
	if len(h.verdicts) > 0 {
		v, h.verdicts = h.verdicts[0], h.verdicts[1:]
	}
	return v
}

func (h *host) askLedger(command any, event *abi.Event) {
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
		if h.authority != nil {
			event.Data = h.authority.Encode()
		}
	default:
		event.Code = h.absorbed
	}
}

// fetched is the next event of the fetch; false: a tick comes first, or nothing more.
func (h *host) fetched(a *abi.Action) (abi.Event, bool) {
	if !h.begun {
		if len(h.provider) == 0 {
			h.t.Fatalf("nobody expects a fetch of %s", a.URL)
		}
		h.coming, h.provider, h.begun = h.provider[0], h.provider[1:], true
	}
	if len(h.coming) == 0 || h.coming[0].Kind == abi.EventTimer {
		return abi.Event{}, false
	}
	event := h.coming[0]
	if h.coming = h.coming[1:]; event.Kind == abi.EventResponse {
		h.buffers[a.Buffer] = event.Data
	}
	return event, true
}

var jsonHead = []abi.Header{{Name: "content-type", Value: "application/json"}}

// whole is an answer of a provider in one piece.
func whole(status uint64, body string) []abi.Event {
	return []abi.Event{{Kind: abi.EventResponse, Code: status, Headers: jsonHead, Data: []byte(body)}}
}

const goodAnswer = `{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"Hello!"},"finish_reason":"stop"}],` +
	`"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`

const goodMessage = `{"id":"m1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hello!"}],` +
	`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":3}}`

// flowing is a stream: a head, then each chunk. A chunk of "tick" is a tick, "end" its end.
func flowing(chunks ...string) []abi.Event {
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
