package anthropic_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/anthropic"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	provider "github.com/postern-ai/postern/core/provider/anthropic"
	"github.com/postern-ai/postern/core/provider/wire"
	"github.com/postern-ai/postern/core/sse"
)

func parts(data []byte) abi.Part { return abi.Part{Data: data} }

var meta = api.Meta{RequestID: "01J", Model: "claude-opus-4-6", Usage: chat.Usage{Input: 20, Output: 3}}

func whole() chat.Response {
	return chat.Response{
		ID: "msg_01A", Model: "claude-opus-4-6",
		Choices: []chat.Answer{{Finish: chat.FinishTools, Parts: []chat.Part{
			{Kind: chat.Thinking, Text: `Hm\n`, Signature: "EqQB=="}, {Kind: chat.Redacted, Data: "Em0="},
			{Kind: chat.Text, Text: `Let me \"see\" the weather in Z\u00fcrich.`},
			{Kind: chat.ToolCall, ID: "toolu_01", Name: "weather", Args: `{"city":"Zürich \"x\""}`},
			{Kind: chat.ToolCall, ID: "toolu_02", Name: "time", Args: `{}`},
			{Kind: chat.Thinking, Signature: "EqQC=="}, {Kind: chat.Text, Text: "Done."},
		}}},
		Usage: chat.Usage{Input: 2310, CachedInput: 2000, CacheWrite: 200, CacheWrite1h: 100, Output: 55, Reasoning: 20, Reported: true},
	}
}

func TestAnswer(t *testing.T) {
	r := whole()
	same(t, string(anthropic.Answer(nil, &r, &meta)), `{"id":"msg_01A","type":"message","role":"assistant","model":"claude-opus-4-6","content":[
	 {"type":"thinking","thinking":"Hm\n","signature":"EqQB=="},{"type":"redacted_thinking","data":"Em0="},
	 {"type":"text","text":"Let me \"see\" the weather in Zürich."},
	 {"type":"tool_use","id":"toolu_01","name":"weather","input":{"city":"Zürich \"x\""}},
	 {"type":"tool_use","id":"toolu_02","name":"time","input":{}},
	 {"type":"thinking","thinking":"","signature":"EqQC=="},{"type":"text","text":"Done."}],
	 "stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":300,"cache_read_input_tokens":2000,
	 "cache_creation":{"ephemeral_5m_input_tokens":200,"ephemeral_1h_input_tokens":100},"output_tokens":55,"output_tokens_details":{"thinking_tokens":20}}}`)
}

func TestAnswers(t *testing.T) {
	const usage = `"usage":{"input_tokens":20,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,
	 "cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":3}`
	tests := []struct {
		name string
		in   chat.Response
		want string
	}{
		{"another provider's ID, a refusal", chat.Response{ID: "chatcmpl-1", Choices: []chat.Answer{{Finish: chat.FinishStop, Parts: []chat.Part{{Kind: chat.Refusal, Text: "No."}}}}},
			`"content":[{"type":"text","text":"No."}],"stop_reason":"refusal","stop_sequence":null`},
		{"a stop sequence", chat.Response{StopSequence: `\n`, Choices: []chat.Answer{{Finish: chat.FinishStopSeq}}}, `"content":[],"stop_reason":"stop_sequence","stop_sequence":"\n"`},
		{"an unknown stop sequence", chat.Response{Choices: []chat.Answer{{Finish: chat.FinishStopSeq}}}, `"content":[],"stop_reason":"stop_sequence","stop_sequence":null`},
		{"length", chat.Response{Choices: []chat.Answer{{Finish: chat.FinishLength}}}, `"content":[],"stop_reason":"max_tokens","stop_sequence":null`},
		{"pause", chat.Response{Choices: []chat.Answer{{Finish: chat.FinishPause}}}, `"content":[],"stop_reason":"pause_turn","stop_sequence":null`},
		{"filter", chat.Response{Choices: []chat.Answer{{Finish: chat.FinishFilter}}}, `"content":[],"stop_reason":"refusal","stop_sequence":null`},
		{"no choice", chat.Response{}, `"content":[],"stop_reason":"end_turn","stop_sequence":null`},
		{"tool call arguments that are not JSON", chat.Response{Choices: []chat.Answer{{Finish: chat.FinishStop, Parts: []chat.Part{
			{Kind: chat.ToolCall, ID: "a", Name: "f", Args: `{"x":`}, {Kind: chat.ToolCall, ID: "b", Name: "f"}, {Kind: chat.ToolCall, ID: "c", Name: "f", Args: `[]`}}}}},
			`"content":[{"type":"tool_use","id":"a","name":"f","input":{"_invalid":"{\"x\":"}},{"type":"tool_use","id":"b","name":"f","input":{}},
			 {"type":"tool_use","id":"c","name":"f","input":{"_invalid":"[]"}}],"stop_reason":"tool_use","stop_sequence":null`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			same(t, string(anthropic.Answer(nil, &test.in, &meta)),
				`{"id":"msg_01J","type":"message","role":"assistant","model":"claude-opus-4-6",`+test.want+`,`+usage+`}`)
		})
	}
}

func TestAnswerRoundTrip(t *testing.T) {
	want := whole()
	got, ok := provider.Response(gjson.ParseBytes(anthropic.Answer(nil, &want, &meta)))
	// The comparison includes the JSON spelling of strings.
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// written returns the stream with these deltas. Like the exchange, it writes each delta to its own buffer.
func written(deltas []chat.Delta, m api.Meta) string {
	var s api.State
	out := ""
	for i := range deltas {
		out += string(anthropic.Stream(nil, &s, &deltas[i], &m))
		if deltas[i].Kind == chat.DeltaUsage {
			m.Usage = deltas[i].Usage
		}
		if deltas[i].Kind == chat.DeltaEnd {
			out += string(anthropic.End(nil, &s, nil, &m))
		}
	}
	return out
}

func read(t *testing.T, stream string) []chat.Delta {
	t.Helper()
	var p sse.Parser
	events, ok := p.Feed([]byte(stream), true)
	if !ok || len(p.Rest) > 0 {
		t.Fatalf("%v %q", ok, p.Rest)
	}
	var s wire.State
	var deltas []chat.Delta
	for _, e := range events {
		if jsontext.Check(e.Data) != jsontext.OK || gjson.GetBytes(e.Data, "type").Str != e.Name {
			t.Fatalf("%s: %s", e.Name, e.Data)
		}
		if deltas, ok = provider.Stream(&s, e.Name, gjson.ParseBytes(e.Data), deltas); !ok {
			t.Fatalf("%s", e.Data)
		}
	}
	return deltas
}

func TestStreamRoundTrip(t *testing.T) {
	want := whole()
	for _, size := range []int{1, 7, 1000} {
		if got := chat.Fold(read(t, written(chat.Unfold(&want, size), meta))); !reflect.DeepEqual(got, want) {
			t.Errorf("in pieces of %d:\ngot  %+v\nwant %+v", size, got, want)
		}
	}
	stopped := chat.Response{
		ID: "msg_1", Model: "claude-opus-4-6", StopSequence: `\n\"`, Usage: chat.Usage{Input: 5, Output: 2, Reported: true},
		Choices: []chat.Answer{{Finish: chat.FinishStopSeq, Parts: []chat.Part{{Kind: chat.Text, Text: "a"}}}},
	}
	if got := chat.Fold(read(t, written(chat.Unfold(&stopped, 100), meta))); !reflect.DeepEqual(got, stopped) {
		t.Errorf("got  %+v\nwant %+v", got, stopped)
	}
}

const begun = `event: message_start
data: {"type":"message_start","message":{"id":"msg_01J","type":"message","role":"assistant","model":"claude-opus-4-6","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":20,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":0}}}

`

func TestStreamText(t *testing.T) {
	got := written([]chat.Delta{
		{Kind: chat.DeltaStart, ID: "chatcmpl-1", Model: "gpt"},
		{Kind: chat.DeltaThinking, Text: "Hm"}, {Kind: chat.DeltaSignature, Text: "EqQB=="},
		{Kind: chat.DeltaText, Text: "Hello"}, {Kind: chat.DeltaText}, {Kind: chat.DeltaText, Text: ` \"you\"`},
		{Kind: chat.DeltaText, Choice: 1, Text: "another answer"}, {Kind: chat.DeltaLogProbs, JSON: `{"content":[]}`},
		{Kind: chat.DeltaRedacted, Text: "Em0="},
		{Kind: chat.DeltaTool, ID: "toolu_1", Name: "f"}, {Kind: chat.DeltaArgs, Text: `{\"x\":1}`},
		{Kind: chat.DeltaFinish, Finish: chat.FinishStop},
		{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 30, CachedInput: 10, Output: 7}},
		{Kind: chat.DeltaEnd},
	}, meta)
	want := begun + `event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hello"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":" \"you\""}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"redacted_thinking","data":"Em0="}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"x\":1}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":20,"cache_creation_input_tokens":0,"cache_read_input_tokens":10,"output_tokens":7}}

event: message_stop
data: {"type":"message_stop"}

`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Late argument pieces of interleaved tool calls have their block's index.
func TestInterleavedToolCalls(t *testing.T) {
	got := written([]chat.Delta{
		{Kind: chat.DeltaStart}, {Kind: chat.DeltaText, Text: "x"},
		{Kind: chat.DeltaTool, ID: "a", Name: "f"}, {Kind: chat.DeltaArgs, Text: "1"},
		{Kind: chat.DeltaText, Text: "y"},
		{Kind: chat.DeltaTool, Index: 1, ID: "b", Name: "f"}, {Kind: chat.DeltaArgs, Index: 1, Text: "2"},
		{Kind: chat.DeltaArgs, Text: "3"}, {Kind: chat.DeltaArgs, Index: 1, Text: "4"}, {Kind: chat.DeltaArgs, Index: 2, Text: "5"},
		{Kind: chat.DeltaArgs, Index: 1 << 63, Text: "6"},
	}, meta)
	var places []string
	for _, line := range strings.Split(got, "\n") {
		if data := gjson.Parse(strings.TrimPrefix(line, "data: ")); data.Get("delta.type").Str == "input_json_delta" {
			places = append(places, data.Get("index").Raw+":"+data.Get("delta.partial_json").Str)
		}
	}
	if want := []string{"1:1", "3:2", "1:3", "3:4"}; !reflect.DeepEqual(places, want) {
		t.Errorf("%v\n%s", places, got)
	}
}

func TestManyToolCalls(t *testing.T) {
	var deltas []chat.Delta
	for i := range uint64(200) {
		deltas = append(deltas, chat.Delta{Kind: chat.DeltaTool, Index: i, ID: "a", Name: "f"}, chat.Delta{Kind: chat.DeltaArgs, Index: i, Text: "{}"})
	}
	deltas = append(deltas, chat.Delta{Kind: chat.DeltaArgs, Index: 150, Text: "late"}, chat.Delta{Kind: chat.DeltaFinish, Finish: chat.FinishTools}, chat.Delta{Kind: chat.DeltaEnd})
	folded := chat.Fold(read(t, written(deltas, meta)))
	if len(folded.Choices[0].Parts) != 200 || folded.Choices[0].Parts[150].Args != "{}" || folded.Choices[0].Finish != chat.FinishTools {
		t.Errorf("%+v", folded)
	}
}

func TestEmptyStream(t *testing.T) {
	var s api.State
	got := string(anthropic.End(nil, &s, nil, &meta))
	want := begun + `event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":20,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":3}}

event: message_stop
data: {"type":"message_stop"}

`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRefusal(t *testing.T) {
	got := written([]chat.Delta{{Kind: chat.DeltaStart}, {Kind: chat.DeltaRefusal, Text: "No."}, {Kind: chat.DeltaFinish, Finish: chat.FinishStop}, {Kind: chat.DeltaEnd}}, meta)
	folded := chat.Fold(read(t, got))
	want := []chat.Answer{{Finish: chat.FinishFilter, Parts: []chat.Part{{Kind: chat.Text, Text: "No."}}}}
	if !reflect.DeepEqual(folded.Choices, want) {
		t.Errorf("%+v", folded.Choices)
	}
}

func TestErrors(t *testing.T) {
	types := map[uint64]string{
		400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
		405: "invalid_request_error", 426: "invalid_request_error", 409: "conflict_error", 413: "request_too_large", 415: "invalid_request_error", 422: "invalid_request_error",
		429: "rate_limit_error", 499: "invalid_request_error", 500: "api_error", 502: "api_error", 503: "overloaded_error", 504: "timeout_error",
	}
	for _, f := range fault.All() {
		e := api.Error{Fault: f, RequestID: "01J"}
		same(t, string(anthropic.Error(nil, &e)),
			`{"type":"error","error":{"type":"`+types[f.Status()]+`","message":"`+f.Text()+`"},"request_id":"01J"}`)
	}
	e := api.Error{Fault: fault.InvalidRequest, RequestID: "01J", Message: `prompt is \"too\" long`}
	same(t, string(anthropic.Error(nil, &e)), `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is \"too\" long"},"request_id":"01J"}`)
}

func TestStreamError(t *testing.T) {
	e := api.Error{Fault: fault.ProviderTimeout, RequestID: "01J"}
	const errorEvent = "event: error\ndata: " + `{"type":"error","error":{"type":"timeout_error","message":"Provider timeout"},"request_id":"01J"}` + "\n\n"
	var s api.State
	if got := string(anthropic.StreamError(nil, &s, &e, &meta)); got != errorEvent {
		t.Error(got)
	}
	// If a message_delta lacks its usage, StreamError completes it first.
	s = api.State{}
	got := string(anthropic.Stream(nil, &s, &chat.Delta{Kind: chat.DeltaFinish, Finish: chat.FinishStopSeq, Text: "END"}, &meta))
	got += string(anthropic.Stream(nil, &s, &chat.Delta{Kind: chat.DeltaText, Text: "late"}, &meta))
	got += string(anthropic.StreamError(nil, &s, &e, &meta))
	want := begun + `event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"END"},"usage":{"input_tokens":20,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":3}}

` + errorEvent
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Whatever the order of the deltas, the provider's parser accepts the events.
func TestAnyDeltaOrder(t *testing.T) {
	seed := uint64(1)
	random := func(n uint64) uint64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return seed >> 33 % n
	}
	for range 2000 {
		var s api.State
		out := ""
		for range random(12) {
			d := chat.Delta{Kind: chat.DeltaKind(random(15)), Choice: random(8) / 7, Index: random(4), Finish: chat.Finish(random(12)), Text: "t", ID: "i", Name: "n"}
			if random(4) == 0 {
				d.Text = ""
			}
			out += string(anthropic.Stream(nil, &s, &d, &meta))
		}
		read(t, out+string(anthropic.End(nil, &s, nil, &meta)))
	}
}
