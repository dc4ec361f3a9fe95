package fakeprovider_test

import (
	"io"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/eventstream"
	"github.com/postern-ai/postern/core/provider/anthropic"
	"github.com/postern-ai/postern/core/provider/cohere"
	"github.com/postern-ai/postern/core/provider/gemini"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
	"github.com/postern-ai/postern/test/fakeprovider"
)

type parser struct {
	response func(gjson.Result) (chat.Response, bool)
	stream   func(*wire.State, string, gjson.Result, []chat.Delta) ([]chat.Delta, bool)
	failure  func(uint64, gjson.Result) wire.Failure
}

var parsers = map[string]parser{
	"openai": chatParser, "azure": chatParser, "mistral": chatParser, "workersai": chatParser, "deepseek": chatParser,
	"anthropic": {anthropic.Response, anthropic.Stream, anthropic.Failure},
	"cohere":    {cohere.Response, cohere.Stream, cohere.Failure},
	"gemini":    {gemini.Response, gemini.Stream, gemini.Failure},
}

var chatParser = parser{openai.Response, openai.Stream, openai.Failure}

// outline summarizes a response in one line.
func outline(r *chat.Response) string {
	var b strings.Builder
	for _, p := range r.Choices[0].Parts {
		switch p.Kind {
		case chat.Text:
			b.WriteString("text " + p.Text.Plain() + "; ")
		case chat.Thinking:
			if p.Text != "" { // a signature without text counts as a thinking part
				b.WriteString("thinking " + p.Text.Plain() + "; ")
			}
		case chat.ToolCall:
			b.WriteString("call " + p.Name.Plain() + gjson.Get(p.Args, "@ugly").Raw + "; ")
		}
	}
	return b.String()
}

const thinkingOutline = "thinking The user wants me to think. I shall say little.; "

var outlines = []struct {
	text, want string
	tools      bool
	finish     chat.Finish
}{
	{"hi", "text Hello from upstream; ", false, chat.FinishStop},
	{"think, cached", thinkingOutline + "text Hello from upstream; ", false, chat.FinishStop},
	{"count to 12", "text 1 2 3 4 5 6 7 8 9 10 11 12; ", false, chat.FinishStop},
	{"hi", `call weather{"city":"Paris"}; `, true, chat.FinishTools},
	{"think in parallel", thinkingOutline + `call weather{"city":"Paris"}; call clock{"zone":7}; `, true, chat.FinishTools},
}

func TestCoreParsesResponses(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	for _, f := range families() {
		p, ok := parsers[f.name]
		if !ok {
			continue
		}
		for _, c := range outlines {
			_, body := post(t, s, f, fill(f.wholeBody, c.text, members(f, c.tools)...))
			r, ok := p.response(gjson.Parse(body))
			if !ok {
				t.Errorf("%s, %s: not parsed: %s", f.name, c.text, body)
				continue
			}
			compare(t, f, "whole", c.text, &r, c.want, c.finish)
		}
	}
}

func members(f family, tools bool) []string {
	if tools {
		return []string{f.tools}
	}
	return nil
}

func compare(t *testing.T, f family, kind, text string, r *chat.Response, want string, finish chat.Finish) {
	t.Helper()
	if f.name == "cohere" && finish == chat.FinishTools && !strings.Contains(text, "think") {
		want = "thinking I will use a tool.; " + want // coherePlan
	}
	if got := outline(r); got != want {
		t.Errorf("%s, %s, %s: %q, want %q", f.name, kind, text, got, want)
	}
	if r.Choices[0].Finish != finish {
		t.Errorf("%s, %s, %s: finish %d, want %d", f.name, kind, text, r.Choices[0].Finish, finish)
	}
	u := chat.Usage{Input: fakeprovider.InputTokens, Output: fakeprovider.OutputTokens, Reported: true}
	if strings.Contains(text, "cached") {
		u.CachedInput = fakeprovider.CachedTokens
	}
	if strings.Contains(text, "think") && f.name != "mistral" && f.name != "cohere" { // these two providers do not report reasoning tokens
		u.Reasoning = fakeprovider.ReasoningTokens
	}
	if f.name == "cohere" {
		u.CachedInput = r.Usage.CachedInput // Cohere's SDK types have cached tokens, but its reference does not, so any number is accepted
	}
	r.Usage.Extras = nil // core/provider checks the service tier in its own tests
	if r.Usage != u {
		t.Errorf("%s, %s, %s: %+v, want %+v", f.name, kind, text, r.Usage, u)
	}
}

func TestCoreParsesStreams(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	for _, f := range families() {
		p, ok := parsers[f.name]
		if !ok {
			continue
		}
		for _, kind := range []string{"answer", "comment"} {
			for _, c := range outlines {
				s.Next(fakeprovider.Behavior{Kind: kind, DelayMs: -1})
				events, _ := stream(t, s, f, c.text, members(f, c.tools)...)
				deltas, ended := deltasOf(t, f, p, events)
				if !ended {
					t.Errorf("%s, %s: no end of stream", f.name, c.text)
				}
				r := chat.Fold(deltas)
				compare(t, f, kind, c.text, &r, c.want, c.finish)
			}
		}
	}
}

func deltasOf(t *testing.T, f family, p parser, events []streamed) (deltas []chat.Delta, ended bool) {
	t.Helper()
	var state wire.State
	for _, e := range events {
		if e.data == "[DONE]" {
			ended = true
			continue
		}
		var ok bool
		if deltas, ok = p.stream(&state, e.name, gjson.Parse(e.data), deltas); !ok {
			t.Errorf("%s: not parsed: %s", f.name, e.data)
		}
	}
	for _, d := range deltas {
		ended = ended || d.Kind == chat.DeltaEnd
	}
	return deltas, ended
}

func TestCoreParsesFailures(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	for _, f := range families() {
		p, ok := parsers[f.name]
		if !ok {
			continue
		}
		for status, want := range map[int]wire.FailureKind{
			400: wire.FailRejected, 404: wire.FailTarget, 429: wire.FailBusy, 500: wire.FailDown, 503: wire.FailDown,
		} {
			s.Next(fakeprovider.Behavior{Kind: "status", Status: status})
			_, body := post(t, s, f, fill(f.wholeBody, "hi"))
			if got := p.failure(uint64(status), gjson.Parse(body)); got.Kind != want {
				t.Errorf("%s, %d: %+v of %s", f.name, status, got, body)
			}
		}
		s.Next(fakeprovider.Behavior{Kind: "error-event"})
		events, _ := stream(t, s, f, "hi")
		deltas, _ := deltasOf(t, f, p, events)
		failed := false
		for _, d := range deltas {
			failed = failed || d.Kind == chat.DeltaError || d.Kind == chat.DeltaFinish && d.Finish == chat.FinishError
		}
		if !failed && f.name != "mistral" { // Mistral does not document errors in streams
			t.Errorf("%s: no error in %v", f.name, deltas)
		}
	}
}

func TestCoreParsesFrames(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	f := bedrockFamily()
	for _, c := range []struct {
		kind, names string
		last        eventstream.Status
	}{
		{"answer", "messageStart contentBlockDelta contentBlockDelta contentBlockDelta contentBlockStop messageStop metadata ", eventstream.NeedMore},
		{"comment", "somethingNew messageStart contentBlockDelta contentBlockDelta contentBlockDelta contentBlockStop messageStop metadata ", eventstream.NeedMore},
		{"corrupt", "messageStart contentBlockDelta contentBlockDelta ", eventstream.Bad},
		{"error-event", "messageStart contentBlockDelta contentBlockDelta modelStreamErrorException ", eventstream.NeedMore},
	} {
		s.Next(fakeprovider.Behavior{Kind: c.kind})
		data, _ := io.ReadAll(do(t, s, f.stream, fill(f.streamBody, "hi"), f.headers).Body)
		names := ""
		m, rest, status := eventstream.Next(data)
		for ; status == eventstream.OK; m, rest, status = eventstream.Next(rest) {
			names += m.Event + " "
			if !gjson.ValidBytes(m.Payload) {
				t.Errorf("%s: %s", c.kind, m.Payload)
			}
		}
		if names != c.names || status != c.last || (len(rest) > 0) != (c.last == eventstream.Bad) {
			t.Errorf("%s: %s, status %d, %d bytes left", c.kind, names, status, len(rest))
		}
	}
}
