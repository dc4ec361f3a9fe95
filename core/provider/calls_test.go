package provider_test

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider"
	"github.com/postern-ai/postern/core/provider/wire"
)

// calls has a response with two tool calls for each API, in three pieces. The middle piece is the first call, which
// has no ID.
var calls = map[string][3]string{
	"openai": {`{"choices":[{"message":{"content":null,"tool_calls":[`, `{"type":"function","function":{"name":"f","arguments":"{}"}}`,
		`,{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`},
	"anthropic": {`{"content":[`, `{"type":"tool_use","name":"f","input":{}}`, `,{"type":"tool_use","id":"b","name":"g","input":{}}],"stop_reason":"tool_use"}`},
	"bedrock":   {`{"output":{"message":{"content":[`, `{"toolUse":{"name":"f","input":{}}}`, `,{"toolUse":{"toolUseId":"b","name":"g","input":{}}}]}},"stopReason":"tool_use"}`},
	"responses": {`{"output":[`, `{"type":"function_call","name":"f","arguments":"{}"}`, `,{"type":"function_call","call_id":"b","name":"g","arguments":"{}"}]}`},
	"cohere": {`{"message":{"tool_calls":[`, `{"type":"function","function":{"name":"f","arguments":"{}"}}`,
		`,{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"TOOL_CALL"}`},
}

// TestCallsWithoutIDOrName checks that a call without an ID gets one, and that a response with a nameless call is
// invalid.
func TestCallsWithoutIDOrName(t *testing.T) {
	for name, c := range calls {
		f, _ := provider.For(name)
		r, ok := f.Response(gjson.Parse(c[0] + c[1] + c[2]))
		if !ok || len(r.Choices[0].Parts) != 2 || r.Choices[0].Parts[0].ID != "call_0" || r.Choices[0].Parts[1].ID != "b" {
			t.Errorf("%s: %v %+v", name, ok, r)
		}
		for _, none := range []string{"", `"name":"",`, `"name":null,`, `"name":7,`} {
			body := c[0] + strings.Replace(c[1], `"name":"f",`, none, 1) + c[2]
			if r, ok := f.Response(gjson.Parse(body)); ok {
				t.Errorf("%s: %s was read as %+v", name, body, r)
			}
		}
	}
}

// TestCallsWithoutObject: if a call's arguments are not an object, the caller gets them as a string in _invalid. If
// they are empty, the caller gets {}.
func TestCallsWithoutObject(t *testing.T) {
	for _, name := range []string{"openai", "anthropic", "bedrock"} {
		f, _ := provider.For(name)
		for input, want := range map[string]string{
			`"a \"b\""`: `{"_invalid":"a \"b\""}`, `[1]`: `{"_invalid":"[1]"}`, `7`: `{"_invalid":"7"}`, `null`: `{}`, `""`: `{}`, `{"a": 1}`: `{"a": 1}`,
		} {
			c := calls[name]
			body := c[0] + strings.NewReplacer(`"{}"`, input, `{}`, input).Replace(c[1]) + c[2]
			if r, ok := f.Response(gjson.Parse(body)); !ok || r.Choices[0].Parts[0].Args != want {
				t.Errorf("%s: %s: %v %+v", name, body, ok, r)
			}
		}
	}
}

// TestStreamedCallsWithoutIDOrName is TestCallsWithoutIDOrName for streams.
func TestStreamedCallsWithoutIDOrName(t *testing.T) {
	for name, event := range map[string]string{
		"openai":    `{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}}]}`,
		"anthropic": `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"f","input":{}}}`,
		"bedrock":   `{"start":{"toolUse":{"name":"f","input":""}},"contentBlockIndex":0}`,
	} {
		f, _ := provider.For(name)
		kind := "contentBlockStart"
		s := wire.State{Started: true}
		deltas, ok := f.Stream(&s, kind, gjson.Parse(event))
		if !ok || len(deltas) == 0 || deltas[0].Kind != chat.DeltaTool || deltas[0].ID != "call_0" || deltas[0].Name != "f" {
			t.Errorf("%s: %v %+v", name, ok, deltas)
		}
		if name == "openai" { // its parser waits for the name; see TestInvalidCalls in core/provider/openai
			continue
		}
		s = wire.State{Started: true}
		if deltas, ok := f.Stream(&s, kind, gjson.Parse(strings.Replace(event, `"name":"f",`, "", 1))); ok {
			t.Errorf("%s: %+v", name, deltas)
		}
	}
}

// TestMadeIDs: the made-up IDs of two responses' calls differ, because one conversation can contain both responses.
func TestMadeIDs(t *testing.T) {
	f, _ := provider.For("openai")
	ids := map[jsontext.Escaped]bool{}
	for _, response := range []string{"chatcmpl-1", "chatcmpl-2"} {
		body := `{"id":"` + response + `",` + calls["openai"][0][1:] + calls["openai"][1] + calls["openai"][2]
		r, ok := f.Response(gjson.Parse(body))
		event := `{"id":"` + response + `-s","choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}}]}`
		deltas, streamed := f.Stream(&wire.State{Started: true}, "", gjson.Parse(event))
		if !ok || !streamed {
			t.Fatalf("%v %v", ok, streamed)
		}
		ids[r.Choices[0].Parts[0].ID], ids[deltas[0].ID] = true, true
	}
	if len(ids) != 4 {
		t.Errorf("%v", ids)
	}
}
