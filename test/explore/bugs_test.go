package explore_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
)

// bugs lists bugs to inject into the machine. Each has the text of the violation that must be found.
var bugs = []struct {
	name   string
	tamper func(e *abi.Event, out *abi.StepOutput)
	found  string
}{
	{"does not settle", without(isSettle), "a reservation is not settled"},
	{"settles twice", twice(isSettle), "settled 2 times"},
	{"does not respond", without(kind(abi.ActionRespond)), "ends without a response"},
	{"responds twice", twice(kind(abi.ActionRespond)), "already has a response"},
	{"does not close", without(kind(abi.ActionClose)), "ends with an open response"},
	{"sends after the end", twice(kind(abi.ActionClose)), "a Send or Close without an open response"},
	{"does not abort", without(kind(abi.ActionCancel)), "is not aborted"},
	{"does not stop timers", without(kind(abi.ActionCancel)), "a timer continues after the response"},
	{"calls two targets at once", twice(kind(abi.ActionFetch)), "while stream only is outstanding"},
	{"reuses an ID", twice(kind(abi.ActionWait)), "ID 12 is used again while"},
	{"calls before the admission", func(e *abi.Event, out *abi.StepOutput) {
		if e.Kind == abi.EventBody {
			out.Actions = append(out.Actions, abi.Action{Kind: abi.ActionFetch, ID: 99, URL: "https://openai.test/", Body: []abi.Part{{Data: []byte(`"up-only"`)}}})
		}
	}, "before an admission"},
	{"calls another target", changing(abi.ActionFetch, func(a *abi.Action) {
		a.Body = []abi.Part{{Data: []byte(`"up-naked"`)}}
	}), "naked is called, which the route or a policy does not allow"},
	{"settles another target", changing(abi.ActionCall, func(a *abi.Action) {
		if s, ok := keymeter.Open(a.Data).(*keymeter.Settle); ok && s.Model != "" {
			s.Model = "naked"
			a.Data = s.Encode()
		}
	}), "naked is settled, which was not called"},
	{"logs a secret", changing(abi.ActionLog, func(a *abi.Action) { a.Data = []byte(callerKey) }), "the log contains the secret"},
	{"logs a prompt", changing(abi.ActionLog, func(a *abi.Action) { a.Data = []byte(promptMark) }), "the log contains " + promptMark},
	{"reveals a provider key", changing(abi.ActionOpen, func(a *abi.Action) { a.Data = []byte(openaiKey) }), "the response contains the secret"},
	{"sends a key elsewhere", changing(abi.ActionFetch, func(a *abi.Action) { a.URL = "https://elsewhere.test/" }), "https://elsewhere.test/ is sent the secret"},
	{"stores too early", func(e *abi.Event, out *abi.StepOutput) {
		if e.Kind == abi.EventHead {
			out.Actions = append(out.Actions, abi.Action{Kind: abi.ActionWrite, Key: "cache/x"})
		}
	}, "a cached response is not complete and clean"},
	{"uses an empty buffer", changing(abi.ActionSend, func(a *abi.Action) { a.Body = []abi.Part{{Buffer: 77}} }), "buffer 77 is used but was never written"},
	{"keeps too much state", func(_ *abi.Event, out *abi.StepOutput) { out.State = append(out.State, make([]byte, 9<<10)...) }, "the state has"},
	{"never ends", func(_ *abi.Event, out *abi.StepOutput) {
		out.Actions = []abi.Action{{Kind: abi.ActionWait, ID: 99}}
	}, "forever"},
	{"panics", func(*abi.Event, *abi.StepOutput) { panic("wrong") }, "the step panics"},
	{"delivers more than it books", settling(func(s *keymeter.Settle) { s.Tokens.Completion = min(s.Tokens.Completion, 1) }), "units delivered"},
	{"delivers more than is reserved", settling(func(s *keymeter.Settle) { s.CostPico *= 1000 }), "with a reservation of"},
	{"resumes without a pause", changing(abi.ActionSend, func(a *abi.Action) { *a = abi.Action{Kind: abi.ActionResume, ID: 5} }), "resumed twice"},
	{"rejects without a reason", changing(abi.ActionRespond, func(a *abi.Action) { a.Code = 402 }), "402 without a reason"},
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

// TestInjectedBugsAreFound checks that every injected bug is found, and that its transcript ends with the violation.
func TestInjectedBugsAreFound(t *testing.T) {
	for _, bug := range bugs {
		s := post("a stream", "/v1/chat/completions", streaming(bodyFor("only", messages)), alphabet{"stream": {streamed(openaiStream), down}})
		s.tamper = bug.tamper
		x := explore(s)
		at := slices.IndexFunc(x.findings, func(f finding) bool { return strings.Contains(f.what, bug.found) })
		if at < 0 {
			t.Errorf("machine that %s: found %q, want %q", bug.name, x.findings, bug.found)
			continue
		}
		lines := bytes.Split(bytes.TrimSpace([]byte(x.findings[at].transcript)), []byte("\n"))
		if last := string(lines[len(lines)-1]); !strings.HasPrefix(last, "VIOLATION") {
			t.Errorf("machine that %s: the transcript ends with %q", bug.name, last)
		}
	}
}

// TestInjectedBugsOfIdempotencyAreFound does the same as TestInjectedBugsAreFound for requests with an
// Idempotency-Key.
func TestInjectedBugsOfIdempotencyAreFound(t *testing.T) {
	early := func(a *abi.Action) bool { return a.Kind == abi.ActionRespond || a.Kind == abi.ActionClose }
	for _, bug := range []struct {
		name, found string
		tamper      func(e *abi.Event, out *abi.StepOutput)
	}{
		{"responds before the response is stored", "a response is sent before it is stored", func(_ *abi.Event, out *abi.StepOutput) {
			if slices.ContainsFunc(out.Actions, func(a abi.Action) bool { return isSettle(&a) }) && !slices.ContainsFunc(out.Actions, func(a abi.Action) bool { return early(&a) }) {
				out.Actions = append(out.Actions, abi.Action{Kind: abi.ActionRespond, Code: 200})
			}
		}},
		{"stores no response", "a request with a response frees its idempotency key", settling(func(s *keymeter.Settle) { s.Answer = nil })},
	} {
		s := post("a request", "/v1/chat/completions", bodyFor("only", messages), alphabet{"fetch": {openaiOK}}, withHeaders(header("idempotency-key", "i1")))
		s.tamper = bug.tamper
		if x := explore(s); !slices.ContainsFunc(x.findings, func(f finding) bool { return strings.Contains(f.what, bug.found) }) {
			t.Errorf("machine that %s: found %q, want %q", bug.name, x.findings, bug.found)
		}
	}
	marking := post("a stream", "/v1/messages", streaming(bodyFor("poet", messages)), alphabet{"stream": {streamed(anthropicStream)}}, allow("poet"), withHeaders(header("idempotency-key", "i1")))
	marking.tamper = func(e *abi.Event, out *abi.StepOutput) { // sends the provider's end mark at once
		if bytes.Contains(e.Data, []byte("message_stop")) && e.Kind == abi.EventChunk {
			out.Actions = append(out.Actions, abi.Action{Kind: abi.ActionSend, Body: []abi.Part{{Data: e.Data}}})
		}
	}
	if x := explore(marking); !slices.ContainsFunc(x.findings, func(f finding) bool { return strings.Contains(f.what, "before it is stored") }) {
		t.Errorf("found %q", x.findings)
	}
}

// TestInjectedBugsOfTheGovernorAreFound does the same as TestInjectedBugsAreFound for requests that the Governor and
// a classifier check.
func TestInjectedBugsOfTheGovernorAreFound(t *testing.T) {
	for _, bug := range []struct {
		name   string
		tamper func(e *abi.Event, out *abi.StepOutput)
		found  string
	}{
		{"sends a redacted value", changing(abi.ActionFetch, func(a *abi.Action) {
			a.Body = append(a.Body, abi.Part{Data: []byte(redactedMark)})
		}), "has a redacted value"},
		{"logs a redacted value", changing(abi.ActionLog, func(a *abi.Action) { a.Data = []byte(redactedMark) }), "has a redacted value"},
		{"sends a blocked text", changing(abi.ActionRespond, func(a *abi.Action) { a.Body = []abi.Part{{Data: []byte(blockedMark)}} }), "has a blocked text"},
		{"reports nothing", settling(func(s *keymeter.Settle) { s.Violations = nil }), "a block has no violation"},
		{"reports twice", settling(func(s *keymeter.Settle) { s.Violations = append(s.Violations, s.Violations...) }), "is reported twice"},
		{"loses a held settlement", func(e *abi.Event, out *abi.StepOutput) {
			if e.ID == heldSettleID {
				without(isSettle)(e, out)
			}
		}, "a reservation is not settled"},
		{"calls the classifier twice", func(_ *abi.Event, out *abi.StepOutput) {
			for _, a := range out.Actions {
				if a.ID == classifyID {
					out.Actions = append(out.Actions, a)
				}
			}
		}, "the classifier is called twice"},
	} {
		s := governedPost("a governed request", "/v1/chat/completions", bodyFor("only", writeTo), settings(redacts, blocksAnswers, judgedBy("guard")), alphabet{
			"classify": {unsafe, safe}, "fetch": {greeting, answered(openaiOK, "200 with a marked word", blockedMark)},
		})
		s.classifier, s.tamper = "guard", bug.tamper
		x := explore(s)
		if !slices.ContainsFunc(x.findings, func(f finding) bool { return strings.Contains(f.what, bug.found) }) {
			t.Errorf("machine that %s: found %q, want %q", bug.name, x.findings, bug.found)
		}
	}
}

func settling(change func(*keymeter.Settle)) func(*abi.Event, *abi.StepOutput) {
	return changing(abi.ActionCall, func(a *abi.Action) {
		if s, ok := keymeter.Open(a.Data).(*keymeter.Settle); ok {
			change(s)
			a.Data = s.Encode()
		}
	})
}
