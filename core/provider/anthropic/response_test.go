package anthropic_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/anthropic"
	"github.com/postern-ai/postern/core/provider/wire"
)

const message = `{"id":"msg_01A","type":"message","role":"assistant","model":"claude-opus-4-6","content":[
 {"type":"thinking","thinking":"Which city?\n","signature":"EqQB=="},{"type":"redacted_thinking","data":"Em0="},
 {"type":"text","text":"Let me \"see\".","citations":null},{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},
 {"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},
 {"type":"tool_use","id":"toolu_01","name":"weather","input":{"city":"Bern"},"caller":{"type":"direct"}},
 {"type":"tool_use","id":"toolu_02","name":"time","input":{}}],
 "stop_reason":"tool_use","stop_sequence":null,"stop_details":null,"container":null,
 "usage":{"input_tokens":10,"cache_creation_input_tokens":300,"cache_read_input_tokens":2000,
 "cache_creation":{"ephemeral_5m_input_tokens":200,"ephemeral_1h_input_tokens":100},"output_tokens":55,
 "output_tokens_details":{"thinking_tokens":20},"server_tool_use":null,"service_tier":"standard"}}`

func TestResponses(t *testing.T) {
	got, ok := anthropic.Response(gjson.Parse(message))
	want := chat.Response{
		ID: "msg_01A", Model: "claude-opus-4-6",
		Choices: []chat.Answer{{Finish: chat.FinishTools, Parts: []chat.Part{
			{Kind: chat.Thinking, Text: `Which city?\n`, Signature: "EqQB=="}, {Kind: chat.Redacted, Data: "Em0="},
			{Kind: chat.Text, Text: `Let me \"see\".`},
			{Kind: chat.ToolCall, ID: "toolu_01", Name: "weather", Args: `{"city":"Bern"}`},
			{Kind: chat.ToolCall, ID: "toolu_02", Name: "time", Args: `{}`},
		}}},
		Usage: chat.Usage{Input: 2310, CachedInput: 2000, CacheWrite: 200, CacheWrite1h: 100, Output: 55, Reasoning: 20, Reported: true, Extras: &chat.Extras{Terms: "service_tier=", Calls: chat.Calls{chat.Searches: 1}}},
	}
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\ngot  %+v\nwant %+v", ok, got, want)
	}
}

func TestResponseValidity(t *testing.T) {
	for in, want := range map[string]bool{
		`{"content":[],"stop_reason":"end_turn"}`:   true,
		`{"content":[7,null,{"type":7}],"usage":7}`: true,
		`{"content":"x"}`:                           false, `{}`: false, `[]`: false, `"content"`: false, `null`: false, ``: false,
	} {
		if r, ok := anthropic.Response(gjson.Parse(in)); ok != want || len(r.Choices) != 1 {
			t.Errorf("%s: %v", in, ok)
		}
	}
}

func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]chat.Finish{
		"end_turn": chat.FinishStop, "max_tokens": chat.FinishLength, "stop_sequence": chat.FinishStopSeq, "tool_use": chat.FinishTools,
		"pause_turn": chat.FinishPause, "refusal": chat.FinishFilter, "model_context_window_exceeded": chat.FinishLength,
		"something_new": chat.FinishStop, "": chat.FinishNone,
	} {
		if got := anthropic.FinishOf(reason); got != want {
			t.Errorf("%s: %d", reason, got)
		}
	}
}

var events = []struct{ name, data string }{
	{"message_start", `{"type":"message_start","message":{"id":"msg_01A","type":"message","role":"assistant","content":[],"model":"claude-opus-4-6",
	 "stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":300,"cache_read_input_tokens":2000,
	 "cache_creation":{"ephemeral_5m_input_tokens":200,"ephemeral_1h_input_tokens":100},"output_tokens":1,"service_tier":"standard"}}}`},
	{"content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`},
	{"ping", `{"type":"ping"}`},
	{"content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Which "}}`},
	{"content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"city?\n"}}`},
	{"content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB=="}}`},
	{"content_block_stop", `{"type":"content_block_stop","index":0}`},
	{"content_block_start", `{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"Em0="}}`},
	{"content_block_stop", `{"type":"content_block_stop","index":1}`},
	{"content_block_start", `{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`},
	{"content_block_delta", `{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Let me "}}`},
	{"content_block_delta", `{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{}}}`},
	{"content_block_delta", `{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"\"see\"."}}`},
	{"content_block_stop", `{"type":"content_block_stop","index":2}`},
	{"content_block_start", `{"type":"content_block_start","index":3,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}`},
	{"content_block_delta", `{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}}`},
	{"content_block_stop", `{"type":"content_block_stop","index":3}`},
	{"content_block_start", `{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_01","name":"weather","input":{}}}`},
	{"content_block_delta", `{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":""}}`},
	{"content_block_delta", `{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}`},
	{"content_block_delta", `{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"\"Bern\"}"}}`},
	{"content_block_stop", `{"type":"content_block_stop","index":4}`},
	{"content_block_start", `{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"toolu_02","name":"time","input":{}}}`},
	{"content_block_stop", `{"type":"content_block_stop","index":5}`},
	{"something_new", `{"type":"something_new"}`},
	{"message_delta", `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":55,"input_tokens":null,
	 "output_tokens_details":{"thinking_tokens":20}}}`},
	{"message_stop", `{"type":"message_stop"}`},
}

func TestStreams(t *testing.T) {
	var s wire.State
	var got []chat.Delta
	for _, e := range events {
		var ok bool
		if got, ok = anthropic.Stream(&s, e.name, gjson.Parse(e.data), got); !ok {
			t.Fatal(e.data)
		}
	}
	first := chat.Usage{Input: 2310, CachedInput: 2000, CacheWrite: 200, CacheWrite1h: 100, Output: 1, Extras: &chat.Extras{Terms: "service_tier="}}
	last := first
	last.Output, last.Reasoning, last.Reported = 55, 20, true
	last.Edit().Calls[chat.Searches] = 1
	want := []chat.Delta{
		{Kind: chat.DeltaStart, ID: "msg_01A", Model: "claude-opus-4-6"},
		{Kind: chat.DeltaUsage, Usage: first},
		{Kind: chat.DeltaThinking, Text: "Which "}, {Kind: chat.DeltaThinking, Text: `city?\n`}, {Kind: chat.DeltaSignature, Text: "EqQB=="},
		{Kind: chat.DeltaRedacted, Text: "Em0="},
		{Kind: chat.DeltaText, Text: "Let me "}, {Kind: chat.DeltaText, Text: `\"see\".`},
		{Kind: chat.DeltaOther, JSON: `"{\"query\":\"x\"}"`},
		{Kind: chat.DeltaTool, ID: "toolu_01", Name: "weather"},
		{Kind: chat.DeltaArgs, Text: `{\"city\":`}, {Kind: chat.DeltaArgs, Text: `\"Bern\"}`},
		{Kind: chat.DeltaTool, Index: 1, ID: "toolu_02", Name: "time"}, {Kind: chat.DeltaArgs, Index: 1, Text: "{}"},
		{Kind: chat.DeltaFinish, Finish: chat.FinishTools}, {Kind: chat.DeltaUsage, Usage: last},
		{Kind: chat.DeltaEnd},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	whole, _ := anthropic.Response(gjson.Parse(message))
	if folded := chat.Fold(got); !reflect.DeepEqual(folded, whole) {
		t.Errorf("got  %+v\nwant %+v", folded, whole)
	}
}

func TestStreamEdgeCases(t *testing.T) {
	start := events[0].data
	tests := []struct {
		name   string
		events []string
		want   []chat.Delta // after the deltas of start
		ok     bool
	}{
		{"error", []string{start, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
			[]chat.Delta{{Kind: chat.DeltaError, Name: "overloaded_error", Text: "Overloaded"}}, true},
		{"arguments in the block's start", []string{start,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{"x": "\n"}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`, `{"type":"content_block_stop"}`},
			[]chat.Delta{{Kind: chat.DeltaTool, ID: "a", Name: "f"}, {Kind: chat.DeltaArgs, Text: `{\"x\": \"\\n\"}`}}, true},
		{"arguments that are no object", []string{start, `{"type":"content_block_start","content_block":{"type":"tool_use","id":"a","name":"f","input":["x"]}}`,
			`{"type":"content_block_start","content_block":{"type":"tool_use","id":"b","name":"g","input":null}}`,
			`{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{}"}}`},
			[]chat.Delta{{Kind: chat.DeltaTool, ID: "a", Name: "f"}, {Kind: chat.DeltaArgs, Text: `{\"_invalid\":\"[\\\"x\\\"]\"}`},
				{Kind: chat.DeltaTool, Index: 1, ID: "b", Name: "g"}, {Kind: chat.DeltaArgs, Index: 1, Text: "{}"}}, true},
		{"stop sequence without content_block_stop", []string{start, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"\n"}}`},
			[]chat.Delta{{Kind: chat.DeltaTool}, {Kind: chat.DeltaArgs, Text: "{}"}, {Kind: chat.DeltaFinish, Finish: chat.FinishStopSeq, Text: `\n`}}, true},
		{"no message_start", []string{`{"type":"content_block_stop"}`}, nil, false},
		{"message_start twice", []string{start, start}, nil, false},
		{"no type", []string{`{}`}, nil, false},
		{"not an object", []string{`[]`}, nil, false},
		{"empty", []string{``}, nil, false},
		{"message is not an object", []string{`{"type":"message_start","message":[]}`}, nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var s wire.State
			var out []chat.Delta
			ok := true
			for _, e := range test.events {
				out, ok = anthropic.Stream(&s, "", gjson.Parse(e), out)
			}
			if ok != test.ok || ok && !reflect.DeepEqual(out[2:], test.want) {
				t.Errorf("%v %+v", ok, out)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	tests := []struct {
		status  uint64
		body    string
		kind    wire.FailureKind
		message jsontext.Escaped
	}{
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`, wire.FailDown, "Overloaded"},
		{500, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, wire.FailDown, "Internal server error"},
		{504, `{"type":"error","error":{"type":"timeout_error","message":"late"}}`, wire.FailDown, "late"},
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, wire.FailBusy, "slow"},
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"spent","details":{"error_code":"enforced_spend_limit_reached"}}}`, wire.FailTarget, "spent"},
		{401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, wire.FailTarget, "invalid x-api-key"},
		{402, `{"type":"error","error":{"type":"billing_error","message":"m"}}`, wire.FailTarget, "m"},
		{403, `{"type":"error","error":{"type":"permission_error","message":"m"}}`, wire.FailTarget, "m"},
		{404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}`, wire.FailTarget, "model: claude-x"},
		{413, `{"type":"error","error":{"type":"request_too_large","message":"m"}}`, wire.FailRejected, "m"},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: Field required"}}`, wire.FailRejected, "max_tokens: Field required"},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`,
			wire.FailTooLong, "prompt is too long: 210000 tokens > 200000 maximum"},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 9 + 9 > 10"}}`,
			wire.FailTooLong, "input length and max_tokens exceed context limit: 9 + 9 > 10"},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`,
			wire.FailTarget, "Your credit balance is too low to access the Anthropic API."},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`,
			wire.FailFiltered, "Output blocked by content filtering policy"},
		{502, ``, wire.FailDown, ""}, {400, `[7]`, wire.FailRejected, ""}, {403, `{"error":"x"}`, wire.FailTarget, ""},
	}
	for _, test := range tests {
		if f := anthropic.Failure(test.status, gjson.Parse(test.body)); f.Kind != test.kind || f.Message != test.message {
			t.Errorf("%d %s: %+v", test.status, test.body, f)
		}
	}
}

// TestHostileValues replaces each value in the examples with values of other types. Nothing may panic.
func TestHostileValues(t *testing.T) {
	examples := []string{message, `{"type":"error","error":{"type":"invalid_request_error","message":"m","details":{"error_code":"c"}}}`}
	for _, e := range events {
		examples = append(examples, e.data)
	}
	for _, example := range examples {
		broken := mutants(example)
		for i := range example {
			broken = append(broken, example[:i])
		}
		for _, mutant := range broken {
			root := gjson.Parse(mutant)
			anthropic.Response(root)
			anthropic.Failure(400, root)
			anthropic.CountResponse(root)
			for _, kind := range []uint64{0, 1, 2, 9} {
				s := wire.State{Started: true, Block: kind, Tools: 1}
				anthropic.Stream(&s, "", root, nil)
			}
			anthropic.Stream(&wire.State{}, "message_start", root, nil)
		}
	}
}

// mutants returns copies of a JSON text. In each, a value of another type replaces one value at any depth.
func mutants(text string) (all []string) {
	var walk func(v gjson.Result)
	walk = func(v gjson.Result) {
		for _, other := range []string{`null`, `7`, `-1e9`, `"x"`, `"\\"`, `[]`, `{}`, `[{}]`, `true`} {
			all = append(all, text[:v.Index]+other+text[v.Index+len(v.Raw):])
		}
		if v.IsObject() || v.IsArray() {
			v.ForEach(func(_, inner gjson.Result) bool {
				inner.Index = v.Index + 1 + strings.Index(text[v.Index+1:], inner.Raw)
				walk(inner)
				return true
			})
		}
	}
	walk(gjson.Parse(text))
	return all
}
