package sim_test

import (
	"regexp"
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

// pausing is the part of a fetch that a paused exchange needs.
type pausing struct {
	paused    bool
	next      func()     // continues the stream when it resumes; nil: it does not wait for that
	expire    func()     // starts the wait for the total timeout
	last      piece      // the last chunk delivered
	before    *reckoning // the expectations before it
	withholds bool       // the exchange keeps events of the last chunk back
}

// reckoning is what a fetch expects to be booked.
type reckoning struct {
	seen                                  uint64
	content, input, over, ended, reported bool
	whole, clean, flagged, unbilled       bool
	cost, tokens                          span
}

func (f *fetch) reckoning() *reckoning {
	return &reckoning{f.seen, f.content, f.input, f.over, f.ended, f.reported, f.whole, f.clean, f.flagged, f.unbilled, f.cost, f.tokens}
}

func (f *fetch) restore(r *reckoning) {
	f.seen, f.content, f.input, f.over, f.ended, f.reported = r.seen, r.content, r.input, r.over, r.ended, r.reported
	f.whole, f.clean, f.flagged, f.unbilled, f.cost, f.tokens = r.whole, r.clean, r.flagged, r.unbilled, r.cost, r.tokens
}

// withheldBuffer is the buffer in which the core keeps events of a stream that its reservation does not cover.
const withheldBuffer = 15

// withhold takes the last chunk back: the exchange keeps its events, or the rest of them. What it has sent of them shows by the
// mark.
func (f *fetch) withhold() {
	f.withholds = true
	f.restore(f.before)
	f.content = f.content || strings.Contains(string(f.x.history.body), f.mark())
	f.x.w.stats.Withheld++
}

// release counts the last chunk again: the exchange processes the rest of it.
func (f *fetch) release() {
	if f.withholds {
		f.withholds = false
		f.delivered(&f.last)
	}
}

func (f *fetch) pause() {
	f.paused = true
	f.expire()
}

func (f *fetch) resume() {
	f.paused = false
	if next := f.next; next != nil {
		f.next = nil
		next()
	}
}

// streaming is the fetch whose stream the exchange reads, or nil.
func (x *exchange) streaming() *fetch {
	if n := len(x.history.fetches); n > 0 && x.history.fetches[n-1].stream && x.history.fetches[n-1].before != nil {
		return x.history.fetches[n-1]
	}
	return nil
}

// noteWithheld follows what the exchange keeps back of a stream.
func (x *exchange) noteWithheld(a *abi.Action) {
	f := x.streaming()
	switch {
	case f == nil:
	case a.Kind == abi.ActionKeep && a.Buffer == withheldBuffer:
		f.withhold()
	case a.Kind == abi.ActionSupply && a.Buffer == withheldBuffer:
		f.release()
	case a.Kind == abi.ActionPause:
		f.pause()
	case a.Kind == abi.ActionResume:
		f.resume()
	}
}

// contentIn finds the generated text in a caller's stream, by the path of the request.
var contentIn = map[string]*regexp.Regexp{
	"openai":    regexp.MustCompile(`"delta":\{[^{}]*"content":"((?:[^"\\]|\\.)*)"`),
	"anthropic": regexp.MustCompile(`"type":"text_delta","text":"((?:[^"\\]|\\.)*)"`),
	"responses": regexp.MustCompile(`"type":"response\.output_text\.delta"[^{}]*"delta":"((?:[^"\\]|\\.)*)"`),
}

// checkDelivered checks I15: the delivered part of a stream costs at most one event more than its reservation. The prompt and
// the attempts before count as they are booked at least.
func (x *exchange) checkDelivered(reserved int64) {
	f := x.streaming()
	pattern := contentIn[x.item.Path]
	if f == nil || pattern == nil || f.n > 1 {
		return
	}
	text, events := strings.Builder{}, uint64(0)
	for _, found := range pattern.FindAllSubmatch(x.history.body, -1) {
		text.Write(found[1])
		events++
	}
	if events == 0 {
		return
	}
	in := f.prompt
	if f.input {
		in = f.in
	}
	tokens := tokensOf(text.String())
	delivered := f.reportedBounds([2]uint64{in, tokens}, [2]uint64{}).low
	for _, o := range x.history.fetches {
		if o != f && !o.unbilled {
			delivered += o.cost.low
		}
	}
	event := uint64(0)
	for _, c := range f.chunks() {
		event = max(event, tokensOf(c))
	}
	// The estimates of the events are rounded.
	if bound := reserved + f.bounds([2]uint64{}, [2]uint64{0, event + events}).high; delivered > bound {
		x.w.fail("I15", "%s: %d tokens delivered cost %d with a reservation of %d; one event has at most %d tokens", x.id, tokens, delivered, reserved, event)
	}
}
