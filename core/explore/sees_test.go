package explore_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
)

// wrongs are machines that do something wrong, and what must be found of it.
var wrongs = []struct {
	name   string
	tamper func(e *abi.Event, out *abi.StepOutput)
	found  string
}{
	{"does not settle", without(isSettle), "a reservation is not settled"},
	{"settles twice", twice(isSettle), "settled 2 times"},
	{"does not answer", without(kind(abi.ActionRespond)), "ends without an answer"},
	{"answers twice", twice(kind(abi.ActionRespond)), "has an answer already"},
	{"does not close", without(kind(abi.ActionClose)), "ends with an open answer"},
	{"sends after the end", twice(kind(abi.ActionClose)), "Close without an open answer"},
	{"does not cut", without(kind(abi.ActionCancel)), "is not cut"},
	{"lets timers run", without(kind(abi.ActionCancel)), "a timer runs on after the answer"},
	{"asks twice at a time", twice(kind(abi.ActionFetch)), "while stream only is outstanding"},
	{"uses an id again", twice(kind(abi.ActionWait)), `id 12 is used for "wait" while`},
	{"asks before the admission", func(e *abi.Event, out *abi.StepOutput) {
		if e.Kind == abi.EventBody {
			out.Actions = append(out.Actions, abi.Action{Kind: abi.ActionFetch, ID: 99, URL: "https://openai.test/", Body: []abi.Part{{Data: []byte(`"up-only"`)}}})
		}
	}, "before an admission"},
	{"asks another target", changing(abi.ActionFetch, func(a *abi.Action) {
		a.Body = []abi.Part{{Data: []byte(`"up-naked"`)}}
	}), "naked is fetched, which the route or a policy does not allow"},
	{"settles another target", changing(abi.ActionCall, func(a *abi.Action) {
		if s, ok := keymeter.Open(a.Data).(*keymeter.Settle); ok && s.Model != "" {
			s.Model = "naked"
			a.Data = s.Encode()
		}
	}), "naked is settled, which was not asked"},
	{"logs a secret", changing(abi.ActionLog, func(a *abi.Action) { a.Data = []byte(callerKey) }), "the log holds the secret"},
	{"logs a prompt", changing(abi.ActionLog, func(a *abi.Action) { a.Data = []byte(promptMark) }), "the log holds " + promptMark},
	{"tells a provider's key", changing(abi.ActionOpen, func(a *abi.Action) { a.Data = []byte(openaiKey) }), "the answer holds the secret"},
	{"sends a key elsewhere", changing(abi.ActionFetch, func(a *abi.Action) { a.URL = "https://elsewhere.test/" }), "https://elsewhere.test/ is sent the secret"},
	{"stores too early", func(e *abi.Event, out *abi.StepOutput) {
		if e.Kind == abi.EventHead {
			out.Actions = append(out.Actions, abi.Action{Kind: abi.ActionWrite, Key: "cache/x"})
		}
	}, "cached that is not whole and clean"},
	{"uses an empty buffer", changing(abi.ActionSend, func(a *abi.Action) { a.Body = []abi.Part{{Buffer: 77}} }), "buffer 77 is used, and nothing was written to it"},
	{"remembers too much", func(_ *abi.Event, out *abi.StepOutput) { out.State = append(out.State, make([]byte, 9<<10)...) }, "the state has"},
	{"never ends", func(_ *abi.Event, out *abi.StepOutput) {
		out.Actions = []abi.Action{{Kind: abi.ActionWait, ID: 99}}
	}, "for ever"},
	{"panics", func(*abi.Event, *abi.StepOutput) { panic("wrong") }, "the step panics"},
	{"refuses for no reason", changing(abi.ActionRespond, func(a *abi.Action) { a.Code = 402 }), "402 for no reason"},
}

func kind(k abi.ActionKind) func(*abi.Action) bool {
	return func(a *abi.Action) bool { return a.Kind == k }
}

func isSettle(a *abi.Action) bool {
	_, ok := keymeter.Open(a.Data).(*keymeter.Settle)
	return ok && a.Kind == abi.ActionCall
}

func without(what func(*abi.Action) bool) func(*abi.Event, *abi.StepOutput) {
	return func(_ *abi.Event, out *abi.StepOutput) {
		out.Actions = slices.DeleteFunc(out.Actions, func(a abi.Action) bool { return what(&a) })
	}
}

func twice(what func(*abi.Action) bool) func(*abi.Event, *abi.StepOutput) {
	return func(_ *abi.Event, out *abi.StepOutput) {
		for _, a := range out.Actions {
			if what(&a) {
				out.Actions = append(out.Actions, a)
			}
		}
	}
}

func changing(k abi.ActionKind, change func(*abi.Action)) func(*abi.Event, *abi.StepOutput) {
	return func(_ *abi.Event, out *abi.StepOutput) {
		for i := range out.Actions {
			if out.Actions[i].Kind == k {
				change(&out.Actions[i])
			}
		}
	}
}

// TestSees: what a machine does wrong is found, and the transcript ends with it.
func TestSees(t *testing.T) {
	for _, wrong := range wrongs {
		s := post("a stream", "/v1/chat/completions", streaming(to("only", messages)), alphabet{"stream": {streamed(openaiStream), down}})
		s.tamper = wrong.tamper
		x := explore(s)
		at := slices.IndexFunc(x.findings, func(f finding) bool { return strings.Contains(f.what, wrong.found) })
		if at < 0 {
			t.Errorf("a machine that %s: found %q, want %q", wrong.name, x.findings, wrong.found)
			continue
		}
		lines := bytes.Split(bytes.TrimSpace([]byte(x.findings[at].transcript)), []byte("\n"))
		if last := string(lines[len(lines)-1]); !strings.HasPrefix(last, "VIOLATION") {
			t.Errorf("a machine that %s: the transcript ends with %q", wrong.name, last)
		}
	}
}
