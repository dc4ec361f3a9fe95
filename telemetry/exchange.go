package telemetry

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/header"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/host"
)

// observed implements host.ObservedExchange.
type observed struct {
	t        *Telemetry
	catalog  *catalog
	started  time.Time
	method   string
	span     span // zero: not traced
	streamed bool
	first    time.Duration // time until the first content of a stream; 0: none yet
	decision string        // the Governor's decision about the request
	done     outcome

	mu       sync.Mutex // guards the fields below and the attempts
	attempts []*attempt
	ended    bool
	inline   [2]attempt // holds the first attempts, which saves allocations
	pointers [4]*attempt
}

type outcome struct {
	logged                              bool
	route, code, provider, model, cache string
	status                              int
	input, output                       uint64
	cacheRead, cacheWrite               uint64 // tokens of the input
	costPico, overrunPico               money.Pico
	cacheSavedPico                      money.Pico // may be negative
	stream, estimated                   bool
	took                                time.Duration
	broken                              [4]brokenStream
	unknown                             []string // fields of the provider's usage that are unknown
}

// brokenStream is an attempt whose stream the core gave up.
type brokenStream struct{ target, code string }

func (t *Telemetry) begin(r *http.Request) *observed {
	x := &observed{t: t, catalog: t.catalog.Load(), started: time.Now(), method: r.Method}
	x.attempts = x.pointers[:0]
	t.metrics.openRequests.Inc()
	if t.otel != nil {
		x.span = t.otel.begin(r, x.started)
	}
	return x
}

// Head implements host.ObservedExchange.
func (x *observed) Head(status uint64, headers []abi.Header, streamed bool) {
	x.done.status = int(status)
	if x.streamed = streamed; streamed {
		x.t.metrics.openStreams.Inc()
	}
	for i := range headers {
		if headers[i].Name == header.Governor {
			x.decision = decisionWord(headers[i].Value)
			x.t.metrics.governor.of([2]string{"input", x.decision}).Inc()
		}
	}
}

// decisionWord returns the decision in header.Governor as a label. An example of that header is "review; risk=40;
// policy=3".
func decisionWord(value string) string {
	word, _, _ := strings.Cut(value, ";")
	switch word {
	case "approve", "review", blocked:
		return word
	}
	return other
}

const blocked = "block"

// Sent implements host.ObservedExchange.
func (x *observed) Sent(piece []byte) {
	if x.first == 0 && !exchange.IsKeepAlive(piece) {
		x.first = time.Since(x.started)
	}
}

// Log implements host.ObservedExchange.
func (x *observed) Log(text []byte) {
	l := readLine(text)
	w := &x.t.words
	x.done = outcome{
		logged: true, route: w.of(l.route), code: w.of(l.code), cache: w.of(l.cache), status: int(l.status),
		provider: x.catalog.name(l.provider), model: x.catalog.name(l.model), input: l.input, output: l.output,
		cacheRead: l.cacheRead, cacheWrite: l.cacheWrite, cacheSavedPico: l.cacheSavedPico,
		costPico: l.costPico, overrunPico: l.overrunPico, stream: l.stream, estimated: l.estimated, took: time.Since(x.started),
	}
	x.done.readResults(l.results)
	for len(l.unknown) > 0 {
		var member []byte
		member, l.unknown, _ = bytes.Cut(l.unknown, []byte(","))
		x.done.unknown = append(x.done.unknown, x.t.usageMembers.of(member))
	}
	x.span.log(x, &l)
}

// readResults keeps the results that the host cannot know: the codes of streams that the core gave up.
func (o *outcome) readResults(results []byte) {
	n := 0
	for len(results) > 0 && n < len(o.broken) {
		var r result
		r, results = nextResult(results)
		if bytes.HasPrefix(r.outcome, []byte(providerCodes)) {
			o.broken[n] = brokenStream{string(r.target), string(r.outcome)}
			n++
		}
	}
}

// providerCodes is the prefix of the error codes of streams that failed because of a provider (core/fault).
const providerCodes = "provider_"

// Attempt implements host.ObservedExchange.
func (x *observed) Attempt(fetch *abi.Action, state host.State) host.ObservedAttempt {
	x.mu.Lock()
	defer x.mu.Unlock()
	var a *attempt
	if n := len(x.attempts); n < len(x.inline) {
		a = &x.inline[n]
	} else {
		a = &attempt{}
	}
	a.x, a.started = x, time.Now()
	a.fetch = describe(x.catalog, fetch.ID, state)
	x.attempts = append(x.attempts, a)
	a.span = x.span.attempt(a, fetch)
	return a
}

// End implements host.ObservedExchange.
func (x *observed) End() {
	m, now := x.t.metrics, time.Now()
	m.openRequests.Dec()
	if x.streamed {
		m.openStreams.Dec()
	}
	if !x.done.logged { // the core failed
		x.done.code, x.done.took = fault.Internal.Code(), now.Sub(x.started)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = true
	answers := 0
	for _, a := range x.attempts {
		a.conclude(now)
		if a.fetch.Purpose != exchange.ForClassifier {
			answers++
		}
	}
	x.count(answers > 0)
	x.span.end(x)
}

// count counts the request. If sent is true, the request was sent to a provider.
func (x *observed) count(sent bool) {
	m, o := x.t.metrics, &x.done
	m.requests.of(requestKey{o.route, statusWord(o.status), o.code, o.provider, o.model, o.cache}).Inc()
	m.durations.of(routeKey{o.route, x.streamed}).Observe(o.took.Seconds())
	if o.code == fault.Blocked.Code() && sent && x.decision != blocked {
		m.governor.of([2]string{"output", blocked}).Inc()
	}
	provider, model := x.billed()
	if model == "" {
		return
	}
	series := m.models.of(modelKey{provider, model})
	series.input.Add(float64(o.input))
	series.output.Add(float64(o.output))
	series.cost.Add(float64(o.costPico) / float64(money.Dollar))
	series.countPromptCache(o)
	series.overrun.Add(float64(o.overrunPico) / float64(money.Dollar))
	if o.estimated {
		series.estimated.Inc()
	}
	for _, member := range o.unknown {
		m.unknownUsage.of([2]string{provider, member}).Inc()
	}
	if x.first > 0 {
		series.firstToken.Observe(x.first.Seconds())
	}
}

// countPromptCache counts the effects of the provider's prompt cache. A counter can only grow. If the cache made a
// request more expensive, a separate counter counts that.
func (s *modelSeries) countPromptCache(o *outcome) {
	s.cacheRead.Add(float64(o.cacheRead))
	s.cacheWrite.Add(float64(o.cacheWrite))
	if o.cacheSavedPico >= 0 {
		s.cacheSaved.Add(float64(o.cacheSavedPico) / float64(money.Dollar))
	} else {
		s.cacheSurcharge.Add(float64(-o.cacheSavedPico) / float64(money.Dollar))
	}
}

// billed returns the model to which usage and cost belong. This is the model that answered. If none answered, it is
// the last one that was called.
func (x *observed) billed() (provider, model string) {
	if x.done.model != "" {
		return x.done.provider, x.done.model
	}
	for i := len(x.attempts) - 1; i >= 0; i-- {
		if f := &x.attempts[i].fetch; f.Purpose != exchange.ForClassifier {
			return f.Provider, f.Model
		}
	}
	return "", ""
}
