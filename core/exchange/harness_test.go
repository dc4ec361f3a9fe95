package exchange_test

import (
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/interpreter"
)

// request describes a caller's request and the host's replies to the exchange's actions. The zero value is an
// admitted POST with a production key.
type request struct {
	after               uint64 // arrival, in milliseconds after noon
	method, path, query string
	key                 string // "-": no key
	headers             []abi.Header
	body                string
	overlay             string // of the catalog
	logs                config.Log

	record       func(*doc.Record) // changes the key's record
	noRecord     bool              // neither memory nor KV has the record
	policy       *doc.Policy       // the project's policy in memory
	ledgerPolicy *doc.Policy       // the Ledger's policy, if neither memory nor KV has one
	cached       []byte            // the cache entry

	verdicts         []*keymeter.AdmitReply // for admissions and extensions, in order; once they are used up, all are admitted
	grants           []ledger.GrantReply    // in order; once they are used up, all are denied
	absorbOutcome    uint64                 // outcome of an absorb
	reports          []ledger.ReportReply   // in order; once they are used up, report
	report           ledger.ReportReply
	openReservations uint64 // of each flushed meter

	provider     [][]abi.Event                 // responses to fetches, in order; a stream has several events
	control      uint64                        // status of the control plane's response
	waiting      uint64                        // exchanges that follow it
	shared       []byte                        // the isolate's shared state before the request
	disconnectAt int                           // the client disconnects before this reply; the first is 1; 0: never
	hold         func(*host, *abi.Action) bool // reports whether to hold back an action's reply; nil: hold back none
}

// host replies to one pending action at a time, oldest first.
type host struct {
	*request
	interpreter.Exchange
	t            *testing.T
	config       *config.Config
	nowMs        uint64
	shared       []byte
	pinned       []byte
	pending      []abi.Action
	fetchEvents  []abi.Event  // the remaining events of the pending fetch
	fetchStarted bool         // fetchEvents is set
	paused       bool         // the fetch is paused, so only time passes
	disconnected bool         // the client has disconnected
	actions      []abi.Action // all actions, in order
}

// run sends the request. It replies to actions until only ticks are pending.
func (r request) run(t *testing.T) *host {
	t.Helper()
	h := &host{request: &r, t: t, config: r.config(t), nowMs: noon + r.after, shared: r.shared}
	h.step(abi.Event{Kind: abi.EventRequest, Headers: h.head(), Data: []byte("0123456789abcdef")})
	for answers := range 200 {
		if h.disconnectAt > 0 && answers == h.disconnectAt-1 && len(h.pending) > 0 {
			h.disconnected = true
			h.step(abi.Event{Kind: abi.EventDisconnect})
		}
		if !h.replyNext() {
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

// replyNext replies to the oldest pending action that has a reply. If there is none, it returns false.
func (h *host) replyNext() bool {
	for i := range h.pending {
		a := h.pending[i]
		if h.hold != nil && h.hold(h, &a) {
			continue
		}
		if event, ok := h.reply(&a); ok {
			event.ID = a.ID
			if event.Kind != abi.EventHead && event.Kind != abi.EventChunk {
				h.removePending(a.ID)
			}
			h.step(event)
			return true
		}
	}
	if h.paused {
		return h.tick()
	}
	if h.fetchPending() && len(h.fetchEvents) > 0 && h.fetchEvents[0].Kind == abi.EventTimer {
		h.fetchEvents = h.fetchEvents[1:]
		return h.tick()
	}
	return false
}

// tick ends the keep-alive wait of a stream.
func (h *host) tick() bool {
	for _, a := range h.pending {
		if a.Kind == abi.ActionWait {
			h.nowMs += a.KeepMs
			h.removePending(a.ID)
			h.step(abi.Event{Kind: abi.EventTimer, ID: a.ID})
			return true
		}
	}
	h.t.Fatal("no tick is pending")
	return false
}

func (h *host) removePending(id uint64) {
	h.pending = slices.DeleteFunc(h.pending, func(a abi.Action) bool { return a.ID == id })
}

// step advances the exchange by one event and performs its actions.
func (h *host) step(event abi.Event) {
	h.t.Helper()
	h.Step(h, &abi.StepInput{NowMs: h.nowMs, Shared: h.shared, Pinned: h.pinned, Waiting: h.waiting, Event: event})
}

func (h *host) Run(in *abi.StepInput) (abi.StepOutput, bool) {
	return h.Core(h, h.config, in), true
}

func (h *host) Stepped(_ *abi.StepInput, out *abi.StepOutput) {
	if out.SharedChanged {
		h.shared = out.Shared
	}
	if out.PinnedChanged {
		h.pinned = out.Pinned
	}
	h.actions = append(h.actions, out.Actions...)
}

func (h *host) Start(a *abi.Action) {
	if a.Kind == abi.ActionFetch {
		h.fetchEvents, h.fetchStarted, h.paused = nil, false, false
	}
	if a.ID != 0 && a.ID != pinnedID { // testdata/ending.txt covers the rest of such an exchange
		h.pending = append(h.pending, *a)
	}
}

func (h *host) Outstanding(id uint64) bool {
	return slices.ContainsFunc(h.pending, func(a abi.Action) bool { return a.ID == id })
}

func (h *host) Cancel(id uint64) {
	h.removePending(id)
	h.paused = h.paused && h.fetchPending()
}

func (h *host) Pause(a *abi.Action)                { h.paused = a.Kind == abi.ActionPause }
func (h *host) Violate(format string, args ...any) { h.t.Errorf(format, args...) }

// Sees returns true: the tests look at all actions afterward.
func (h *host) Sees(*abi.Action) bool      { return true }
func (h *host) Write(*abi.Action, []byte)  {}
func (h *host) Answer(*abi.Action, []byte) {}
func (h *host) Note(*abi.Action)           {}

// config returns the configuration of the request's deployment.
func (r *request) config(t *testing.T) *config.Config {
	c := *configured(t, r.overlay)
	c.Log = r.logs
	return &c
}
