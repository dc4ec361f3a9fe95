package host

import (
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/eventstream"
	"github.com/postern-ai/postern/core/keys"
)

// targets are one model of each provider API, with a stream in its format.
var targets = []struct{ model, stream string }{
	{"llama-3.3-70b-instruct-turbo", `data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi \"you\" é"}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\":1}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}

data: [DONE]

`},
	{"claude-haiku-4-5", `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":5,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

`},
	{"gemini-2.5-flash", `data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"},{"functionCall":{"name":"f","args":{"a":1}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":4,"candidatesTokenCount":2}}

`},
	{"command-a-03-2025", `event: content-delta
data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"Hi"}}}}

event: message-end
data: {"type":"message-end","delta":{"finish_reason":"COMPLETE","usage":{"billed_units":{"input_tokens":3,"output_tokens":1}}}}

`},
	{"mistral-small-latest", `data: {"id":"x","choices":[{"index":0,"delta":{"content":[{"type":"text","text":"Hi"}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":4,"completion_tokens":1}}

data: [DONE]

`},
	{"gpt-6.1-sol", `event: response.created
data: {"type":"response.created","response":{"id":"resp_1","model":"m"}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","delta":"Hi"}

event: response.completed
data: {"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":4,"output_tokens":2}}}

`},
	{"amazon.nova-lite-v1:0", string(eventstream.Append(eventstream.Append(eventstream.Append(nil,
		"event", "contentBlockDelta", []byte(`{"contentBlockIndex":0,"delta":{"text":"Hi"}}`)),
		"event", "messageStop", []byte(`{"stopReason":"end_turn"}`)),
		"event", "metadata", []byte(`{"usage":{"inputTokens":4,"outputTokens":2}}`)))},
}

// surfaces are the streaming endpoints. Each has the start of a request body, up to the model name.
var surfaces = []struct{ path, body string }{
	{"/v1/chat/completions", `{"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"x"}],"model":"`},
	{"/v1/messages", `{"stream":true,"max_tokens":2000,"messages":[{"role":"user","content":"x"}],"model":"`},
	{"/v1/responses", `{"stream":true,"input":"x","model":"`},
}

// exchangeStream sends a streaming request whose upstream response is chunks, and returns the response status.
func exchangeStream(w *world, target, surface int, chunks ...[]byte) uint64 {
	w.chunks, w.streamType = chunks, "text/event-stream"
	if targets[target].model == "amazon.nova-lite-v1:0" {
		w.streamType = "application/vnd.amazon.eventstream"
	}
	body := surfaces[surface].body + targets[target].model + `"}`
	return w.exchange(testRequest{"POST", surfaces[surface].path, "", []abi.Header{
		{Name: "x-api-key", Value: testKey(keys.Production)}, {Name: "content-type", Value: "application/json"},
	}, []byte(body)})
}

// TestStreamsDifferential sends every provider's stream through every streaming endpoint, at once and byte by byte.
// Go and Wasm must give the same result with status 200.
func TestStreamsDifferential(t *testing.T) {
	both := &enginePair{t: t, native: newNative(t), module: newWasm(t)}
	for target := range targets {
		for surface := range surfaces {
			stream := []byte(targets[target].stream)
			var bytewise [][]byte
			for i := range stream {
				bytewise = append(bytewise, stream[i:i+1])
			}
			for _, chunks := range [][][]byte{{stream}, bytewise} {
				w := newWorld(both)
				if status := exchangeStream(w, target, surface, chunks...); status != 200 || w.traps > 0 {
					t.Errorf("%s by %s in %d chunks: status %d, %d traps", targets[target].model, surfaces[surface].path, len(chunks), status, w.traps)
				}
				// If the same request is sent again, it is a cache hit, and the response is replayed as a stream.
				if status := exchangeStream(w, target, surface, []byte("data: not called\n\n")); status != 200 || w.traps > 0 {
					t.Errorf("%s by %s again: status %d, %d traps", targets[target].model, surfaces[surface].path, status, w.traps)
				}
			}
		}
	}
}

// FuzzStream fuzzes a provider's stream with arbitrary bytes, cut anywhere.
func FuzzStream(f *testing.F) {
	for target := range targets {
		f.Add(uint8(target), uint8(target), []byte(targets[target].stream), uint16(40))
	}
	newPair := sharedEngines(f)
	f.Fuzz(func(t *testing.T, target, surface uint8, stream []byte, cut uint16) {
		w := newWorld(newPair(t))
		at := min(int(cut), len(stream))
		status := exchangeStream(w, int(target)%len(targets), int(surface)%len(surfaces), stream[:at], stream[at:])
		if w.traps > 0 || status == 0 || status == 500 {
			t.Errorf("%q: status %d, %d traps", stream, status, w.traps)
		}
	})
}

// FuzzSurface fuzzes request bodies on the endpoints for OpenAI and Anthropic SDKs.
func FuzzSurface(f *testing.F) {
	for surface := range surfaces {
		for _, model := range []string{"llama-3.3-70b-instruct-turbo", "gpt-4.1", "claude-haiku-4-5", "gemini-2.5-flash", "amazon.nova-lite-v1:0", "gpt-6.1-sol"} {
			f.Add(uint8(surface), []byte(surfaces[surface].body+model+`"}`), surface%2 == 0)
		}
	}
	f.Add(uint8(0), []byte(`{"model":"claude-haiku-4-5","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{}}},"stop":["a"],"seed":1,"x":{"y":null}}`), true)
	f.Add(uint8(1), []byte(`{"model":"gpt-4.1","max_tokens":9,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}]}]}],"tools":[{"name":"f","input_schema":{"type":"object"}}],"thinking":{"type":"enabled","budget_tokens":1024}}`), false)
	f.Add(uint8(2), []byte(`{"model":"claude-haiku-4-5","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"},{"type":"reasoning","summary":[],"encrypted_content":"e"}],"text":{"format":{"type":"json_object"}}}`), false)
	newPair := sharedEngines(f)
	f.Fuzz(func(t *testing.T, surface uint8, body []byte, development bool) {
		w := newWorld(newPair(t))
		env := keys.Production
		if development {
			env = keys.Development
		}
		w.chunks, w.streamType = [][]byte{[]byte(targets[0].stream)}, "text/event-stream"
		status := w.exchange(testRequest{"POST", surfaces[int(surface)%len(surfaces)].path, "", []abi.Header{
			{Name: "x-api-key", Value: testKey(env)}, {Name: "content-type", Value: "application/json"},
		}, body})
		if w.traps > 0 || status == 0 || status == 500 {
			t.Errorf("%q: status %d, %d traps", body, status, w.traps)
		}
	})
}
