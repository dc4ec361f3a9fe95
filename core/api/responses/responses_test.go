package responses_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/responses"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	provider "github.com/postern-ai/postern/core/provider/responses"
	"github.com/postern-ai/postern/core/provider/wire"
	"github.com/postern-ai/postern/core/sse"
)

var meta = api.Meta{
	RequestID: "req_01", Model: "m", CreatedMs: 1_790_000_000_000,
	Usage: chat.Usage{Input: 10, CachedInput: 4, Output: 7, Reasoning: 3, Reported: true},
}

// whole is a response with every kind of part that survives a round trip through the provider's parser.
func whole() chat.Response {
	return chat.Response{Choices: []chat.Answer{{
		Parts: []chat.Part{
			{Kind: chat.Thinking, Text: "let me see"},
			{Kind: chat.Text, Text: `It is \"warm\" 😀.`},
			{Kind: chat.ToolCall, ID: "call_1", Name: "weather", Args: `{"city":"Paris"}`},
			{Kind: chat.ToolCall, ID: "call_2", Name: "time", Args: `{}`},
		},
		Finish: chat.FinishTools,
	}}}
}

func TestAnswerRoundTrip(t *testing.T) {
	w := whole()
	body := responses.Answer(nil, &w, &meta)
	if jsontext.Check(body) != jsontext.OK {
		t.Fatalf("not JSON: %s", body)
	}
	got, ok := provider.Response(gjson.ParseBytes(body))
	if !ok || !reflect.DeepEqual(got.Choices, w.Choices) || got.Usage != meta.Usage {
		t.Errorf("%v %+v", ok, got)
	}
}

// written returns the stream of a response. Text pieces have size bytes.
func written(t *testing.T, r *chat.Response, size int) []sse.Event {
	t.Helper()
	var s api.State
	var out []byte
	for _, d := range chat.Unfold(r, size) {
		out = responses.Stream(out, &s, &d, &meta)
	}
	out = responses.End(out, &s, r, &meta)
	var p sse.Parser
	events, ok := p.Feed(out, true)
	if !ok || len(p.Rest) > 0 {
		t.Fatalf("not a stream: %q", p.Rest)
	}
	return events
}

func TestStreamRoundTrip(t *testing.T) {
	w := whole()
	for _, size := range []int{1, 5, 1000} {
		var s wire.State
		var deltas []chat.Delta
		for i, e := range written(t, &w, size) {
			root := gjson.ParseBytes(e.Data)
			if jsontext.Check(e.Data) != jsontext.OK || root.Get("type").Str != e.Name || root.Get("sequence_number").Uint() != uint64(i) {
				t.Fatalf("event %d: %s %s", i, e.Name, e.Data)
			}
			var ok bool
			if deltas, ok = provider.Stream(&s, e.Name, root, deltas); !ok {
				t.Fatalf("%s was not understood", e.Data)
			}
		}
		if got := chat.Fold(deltas); !reflect.DeepEqual(got.Choices, w.Choices) || got.Usage != meta.Usage {
			t.Errorf("in pieces of %d: %+v", size, got)
		}
		if deltas[len(deltas)-1].Kind != chat.DeltaEnd {
			t.Error("no end")
		}
	}
}

// TestItemsAreDone: each item with an added event also has a done event with the same ID and index, and with the
// complete text.
func TestItemsAreDone(t *testing.T) {
	w := whole()
	added, done := map[int64]string{}, map[int64]string{}
	for _, e := range written(t, &w, 3) {
		root := gjson.ParseBytes(e.Data)
		id := root.Get("item.id").Str + " " + root.Get("item.type").Str
		switch e.Name {
		case "response.output_item.added":
			added[root.Get("output_index").Int()] = id
		case "response.output_item.done":
			done[root.Get("output_index").Int()] = id
		case "response.output_text.done":
			if root.Get("text").Str != `It is "warm" 😀.` {
				t.Errorf("%s", e.Data)
			}
		case "response.function_call_arguments.done":
			if args := root.Get("arguments").Str; args != `{"city":"Paris"}` && args != `{}` {
				t.Errorf("%s", e.Data)
			}
		}
	}
	if len(added) != 4 || !reflect.DeepEqual(added, done) {
		t.Errorf("added %v, done %v", added, done)
	}
}

func TestIncomplete(t *testing.T) {
	for finish, reason := range map[chat.Finish]string{chat.FinishLength: "max_output_tokens", chat.FinishFilter: "content_filter"} {
		r := chat.Response{Choices: []chat.Answer{{Parts: []chat.Part{{Kind: chat.Text, Text: "cut"}}, Finish: finish}}}
		root := gjson.ParseBytes(responses.Answer(nil, &r, &meta))
		if root.Get("status").Str != "incomplete" || root.Get("incomplete_details.reason").Str != reason {
			t.Errorf("%s", root.Raw)
		}
		events := written(t, &r, 100)
		if last := events[len(events)-1]; last.Name != "response.incomplete" {
			t.Errorf("ends with %s", last.Name)
		}
	}
}

func TestStreamError(t *testing.T) {
	e := &api.Error{Fault: fault.ProviderError, RequestID: "req_01"}
	var s api.State
	out := responses.Stream(nil, &s, &chat.Delta{Kind: chat.DeltaStart}, &meta)
	out = responses.Stream(out, &s, &chat.Delta{Kind: chat.DeltaText, Text: "x"}, &meta)
	out = responses.StreamError(out, &s, e, &meta)
	if text := string(out); !strings.Contains(text, "event: response.failed\n") || strings.Contains(text, "response.completed") ||
		!strings.Contains(text, `"error":{"code":"provider_error","message":"Provider error"}`) {
		t.Error(text)
	}
}

func parse(t *testing.T, body string) (api.Parsed, []fault.Detail) {
	t.Helper()
	if jsontext.Check([]byte(body)) != jsontext.OK {
		t.Fatalf("not JSON: %s", body)
	}
	var p api.Parser
	parsed := responses.Parse(&p, gjson.Parse(body))
	return parsed, p.Details
}

func TestParse(t *testing.T) {
	parsed, wrong := parse(t, `{"model":"m","stream":true,"store":true,"max_output_tokens":9,"instructions":"Be brief.",
	 "input":[{"role":"user","content":[{"type":"input_text","text":"Hi"},{"type":"input_image","image_url":"data:image/png;base64,AA==","detail":"low"}]},
	 {"type":"reasoning","summary":[],"encrypted_content":"E"},{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"},
	 {"type":"function_call_output","call_id":"c","output":"warm"}],
	 "tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":true}],"tool_choice":{"type":"function","name":"f"},
	 "text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"},"strict":true}},"reasoning":{"effort":"low","summary":"auto"},
	 "metadata":{"k":"v"},"previous_response_id":null}`)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	want := chat.Request{
		Dialect: chat.Responses, Model: "m", Stream: true, MaxTokens: 9,
		Messages: []chat.Message{
			{Role: chat.System, Parts: []chat.Part{{Kind: chat.Text, Text: "Be brief."}}},
			{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "Hi"}, {Kind: chat.Image, Media: "image/png", Data: "AA==", Detail: "low"}}},
			{Role: chat.Assistant, Parts: []chat.Part{
				{Kind: chat.Thinking, Signature: "openai:E"}, {Kind: chat.ToolCall, ID: "c", Name: "f", Args: `{"a":1}`},
			}},
			{Role: chat.ToolRole, Parts: []chat.Part{{Kind: chat.ToolResult, ID: "c", Parts: []chat.Part{{Kind: chat.Text, Text: "warm"}}}}},
		},
		Tools:      []chat.Tool{{Name: "f", Schema: `{"type":"object"}`, Strict: "true"}},
		ToolChoice: chat.ToolChoice{Choice: chat.ChoiceTool, Name: "f"},
		Format:     chat.Format{Kind: chat.FormatSchema, Name: "n", Schema: `{"type":"object"}`, Strict: "true"},
		Reasoning:  chat.Reasoning{Effort: "low", Visible: true},
		Extra:      []chat.Member{{Name: "metadata", Value: `{"k":"v"}`}},
	}
	if !reflect.DeepEqual(parsed.Request, want) {
		t.Errorf("got  %+v\nwant %+v", parsed.Request, want)
	}
	members := gjson.Parse("{" + string(parsed.Members) + "}")
	for _, name := range []string{"model", "stream", "store", "max_output_tokens"} {
		if members.Get(name).Exists() {
			t.Errorf("members contain %s", name)
		}
	}
	if !members.Get("metadata").Exists() || !members.Get("input.3").Exists() {
		t.Errorf("%s", parsed.Members)
	}
}

func TestInvalidBodies(t *testing.T) {
	for body, field := range map[string]string{
		`{"input":"x"}`:             "model",
		`{"model":"m"}`:             "input",
		`{"model":"m","input":7}`:   "input",
		`{"model":"m","input":[]}`:  "input",
		`{"model":"m","input":[1]}`: "input[0]",
		`{"model":"m","input":"x","previous_response_id":"resp_1"}`:            "previous_response_id",
		`{"model":"m","input":"x","conversation":"conv_1"}`:                    "conversation",
		`{"model":"m","input":"x","background":true}`:                          "background",
		`{"model":"m","input":[{"type":"item_reference","id":"msg_1"}]}`:       "input[0]",
		`{"model":"m","input":[{"role":"tool","content":"x"}]}`:                "input[0].role",
		`{"model":"m","input":[{"role":"user","content":7}]}`:                  "input[0].content",
		`{"model":"m","input":"x","temperature":3}`:                            "temperature",
		`{"model":"m","input":"x","max_output_tokens":0}`:                      "max_output_tokens",
		`{"model":"m","input":"x","tools":[{"type":"function"}]}`:              "tools[0].name",
		`{"model":"m","input":"x","text":{"format":{"type":"poem"}}}`:          "text.format.type",
		`{"model":"m","input":[{"type":"function_call_output","output":"x"}]}`: "input[0].call_id",
	} {
		if _, wrong := parse(t, body); len(wrong) == 0 || wrong[0].Field != field {
			t.Errorf("%s: %v, want %s", body, wrong, field)
		}
	}
}

// TestRequestRoundTrip: a translated request reaches a provider with the same dialect without loss.
func TestRequestRoundTrip(t *testing.T) {
	parsed, _ := parse(t, `{"model":"m","input":[{"role":"user","content":"Hi"},{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],
	 "encrypted_content":"E"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},
	 {"type":"function_call_output","call_id":"c","output":"ok"}],"service_tier":"flex","max_tool_calls":3}`)
	r := parsed.Request
	r.Stream, r.ServiceTier = true, r.Terms[len("service_tier="):]
	call := wire.Call{Model: model(), Request: &r}
	body := string(provider.Request(&call).Body[0].Data)
	want := `{"model":"up","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]},` +
		`{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"E"},` +
		`{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"ok"}],` +
		`"store":false,"max_tool_calls":3,"service_tier":"flex","stream":true}`
	if body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
}
