package exchange_test

import (
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// request is a caller's request, and how a host answers what it leads to. Zero fields are a POST with the key of a
// production project to which nothing bad happens: it is admitted.
type request struct {
	after               uint64 // milliseconds from noon to its arrival
	method, path, query string
	key                 string // "-": none
	headers             []abi.Header
	body                string
	overlay             string // of the catalog

	record    func(*doc.Record) // changes the key's record
	stranger  bool              // neither memory nor KV has the record
	policy    *doc.Policy       // in memory
	authority *doc.Policy       // the Ledger's, if memory and KV have none
	stored    []byte            // in the cache

	verdicts []*keymeter.AdmitReply // of admissions and extensions, in turn; later ones are admitted
	grants   []ledger.GrantReply    // in turn; later ones are refused
	absorbed uint64                 // the outcome of an absorb
	reports  []ledger.ReportReply   // in turn; report is the answer to later ones
	report   ledger.ReportReply
	underWay uint64 // requests of each meter that is flushed

	provider [][]abi.Event                 // answers to fetches, in turn; a stream's has several events
	control  uint64                        // the status of the control plane's answer
	leaves   int                           // number of the answer before which the caller leaves, from 1; 0: the caller stays
	hold     func(*host, *abi.Action) bool // says that an action is not answered yet; nil: none is
}

// host answers one action at a time, the oldest first.
type host struct {
	*request
	t       *testing.T
	config  *config.Config
	nowMs   uint64
	state   []byte
	shared  []byte
	open    []abi.Action
	coming  []abi.Event // of the fetch that is under way
	begun   bool        // something of it came
	left    bool        // the caller is gone
	buffers map[uint64][]byte
	done    []abi.Action // all actions, in order
}

// run sends the request, and answers until nothing is open but ticks.
func (r request) run(t *testing.T) *host {
	t.Helper()
	h := &host{request: &r, t: t, config: configured(t, r.overlay), nowMs: noon + r.after, buffers: map[uint64][]byte{}}
	h.step(abi.Event{Kind: abi.EventRequest, Headers: h.head(), Data: []byte("0123456789abcdef")})
	for answers := range 200 {
		if h.leaves > 0 && answers == h.leaves-1 && len(h.open) > 0 {
			h.left = true
			h.step(abi.Event{Kind: abi.EventLeft})
		}
		if !h.answerNext() {
			return h
		}
	}
	t.Fatal("the exchange does not end")
	return nil
}

func (h *host) head() []abi.Header {
	method := h.method
	if method == "" {
		method = "POST"
	}
	head := append(slices.Clone(h.headers), abi.Header{Name: ":id", Value: "req_1"}, abi.Header{Name: ":method", Value: method},
		abi.Header{Name: ":path", Value: h.path}, abi.Header{Name: ":query", Value: h.query}, abi.Header{Name: ":address", Value: "192.0.2.1"},
		abi.Header{Name: "content-type", Value: "application/json"})
	switch h.key {
	case "-":
	case "":
		head = append(head, abi.Header{Name: "x-api-key", Value: productionKey})
	default:
		head = append(head, abi.Header{Name: "x-api-key", Value: h.key})
	}
	return head
}

// answerNext answers the action that is open for longest and has an answer; false: there is none.
func (h *host) answerNext() bool {
	for i := range h.open {
		a := h.open[i]
		if h.hold != nil && h.hold(h, &a) {
			continue
		}
		if event, ok := h.answer(&a); ok {
			event.ID = a.ID
			if event.Kind != abi.EventHead && event.Kind != abi.EventChunk {
				h.drop(a.ID)
			}
			h.step(event)
			return true
		}
	}
	if h.fetching() && len(h.coming) > 0 && h.coming[0].Kind == abi.EventTimer {
		return h.tick()
	}
	return false
}

// tick ends the wait beside a stream.
func (h *host) tick() bool {
	event := h.coming[0]
	h.coming = h.coming[1:]
	for _, a := range h.open {
		if a.Kind == abi.ActionWait {
			h.nowMs += a.KeepMs
			event.ID = a.ID
			h.drop(a.ID)
			h.step(event)
			return true
		}
	}
	h.t.Fatal("no tick is awaited")
	return false
}

func (h *host) drop(id uint64) {
	h.open = slices.DeleteFunc(h.open, func(a abi.Action) bool { return a.ID == id })
}

// step runs the machine on one event and does what it says.
func (h *host) step(event abi.Event) {
	h.t.Helper()
	out := exchange.Step(h.config, &abi.StepInput{NowMs: h.nowMs, Shared: h.shared, State: h.state, Event: event})
	if h.state = out.State; out.SharedChanged {
		h.shared = out.Shared
	}
	h.done = append(h.done, out.Actions...)
	for _, a := range out.Actions {
		switch a.Kind {
		case abi.ActionKeep:
			h.buffers[a.Buffer] = a.Data
		case abi.ActionAppend:
			h.buffers[a.Buffer] = append(slices.Clone(h.buffers[a.Buffer]), a.Data...)
		case abi.ActionCancel:
			h.drop(a.ID)
		default:
			if a.Kind == abi.ActionFetch {
				h.coming, h.begun = nil, false
			}
			if a.ID != 0 {
				h.open = append(h.open, a)
			}
		}
	}
}
