package sim_test

import (
	"regexp"
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

// pausing is the part of a fetch's state that is used while its exchange pauses the fetch.
type pausing struct {
	paused    bool
	next      func()     // continues the stream after the pause; nil: the stream does not wait for the end of the pause
	expire    func()     // starts the wait for the total timeout
	last      piece      // the last chunk delivered
	before    *reckoning // the expectations before the last chunk
	withholds bool       // the exchange is withholding events of the last chunk
}

// reckoning is the booking that a fetch expects.
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

// withheldBuffer is the buffer in which the core keeps events of a stream if the reservation does not cover them.
const withheldBuffer = 15

// withhold undoes the counting of the last chunk: the exchange withholds all or some of its events. The mark shows
// whether it has already sent some of them.
func (f *fetch) withhold() {
	f.withholds = true
	f.restore(f.before)
	f.content = f.content || strings.Contains(string(f.x.history.body), f.mark())
	f.x.w.stats.Withheld++
}

// release counts the last chunk again: the exchange now processes the rest of it.
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

// streaming returns the fetch whose stream the exchange is reading, or nil.
func (x *exchange) streaming() *fetch {
	if n := len(x.history.fetches); n > 0 && x.history.fetches[n-1].stream && x.history.fetches[n-1].before != nil {
		return x.history.fetches[n-1]
	}
	return nil
}

// noteWithheld tracks which part of a stream the exchange withholds.
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

// contentIn has expressions by request path. They find the generated text in a caller's stream.
var contentIn = map[string]*regexp.Regexp{
	"openai":    regexp.MustCompile(`"delta":\{[^{}]*"content":"((?:[^"\\]|\\.)*)"`),
	"anthropic": regexp.MustCompile(`"type":"text_delta","text":"((?:[^"\\]|\\.)*)"`),
	"responses": regexp.MustCompile(`"type":"response\.output_text\.delta"[^{}]*"delta":"((?:[^"\\]|\\.)*)"`),
}

// checkDelivered checks I15. The part of a stream that was delivered may cost at most one event more than its
// reservation. For the prompt and for earlier attempts, the lowest amounts that may be booked are used.
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
