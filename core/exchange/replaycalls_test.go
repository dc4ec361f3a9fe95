package exchange_test

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
)

// nativeCalls are calls of client tools in responses from a target with the caller's own API. Each has the tool, the
// item, and the events between the item's first and last event.
var nativeCalls = []struct{ tools, item, pieces string }{
	{`{"type":"function","name":"f"}`, `{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"}`,
		`{"type":"response.function_call_arguments.delta","delta":"{\"a\":1}"}`},
	{`{"type":"custom","name":"f"}`, `{"type":"custom_tool_call","call_id":"c1","name":"f","input":"*** \"a\"\n\\b {\"input\":1}"}`,
		`{"type":"response.custom_tool_call_input.delta","delta":"*** \"a\"\n\\b {\"input\":1}"}`},
	{`{"type":"namespace","name":"n","description":"","tools":[{"type":"function","name":"f"}]},{"type":"function","name":"f"}`,
		`{"type":"function_call","call_id":"c1","namespace":"n","name":"f","arguments":"{\"a\":1}"}`, `{"type":"response.function_call_arguments.delta","delta":"{\"a\":1}"}`},
	{`{"type":"namespace","name":"n","description":"","tools":[{"type":"custom","name":"f"}]}`, `{"type":"custom_tool_call","call_id":"c1","namespace":"n","name":"f","input":"a"}`, ""},
	{`{"type":"local_shell"}`, `{"type":"local_shell_call","call_id":"c1","action":{"type":"exec","command":["ls"],"env":{"A":"b"},"timeout_ms":5,"user":null,"working_directory":"/"}}`, ""},
	{`{"type":"shell"}`, `{"type":"shell_call","call_id":"c1","environment":{"type":"local"},"action":{"commands":["ls","pwd"],"max_output_length":9,"timeout_ms":null}}`,
		`{"type":"response.shell_call_command.delta","command_index":0,"delta":"ls"}`},
	{`{"type":"apply_patch"}`, `{"type":"apply_patch_call","call_id":"c1","operation":{"type":"update_file","path":"a","diff":"@@\n-x\n+y"}}`,
		`{"type":"response.apply_patch_call_operation_diff.delta","delta":"@@\n-x\n+y"}`},
	{`{"type":"tool_search","execution":"client"}`, `{"type":"tool_search_call","call_id":"c1","execution":"client","arguments":{"query":"sky"}}`, ""},
}

const nativeUsage = `"usage":{"input_tokens":9,"output_tokens":3}`

// TestReplayOfNativeCalls: a response from the cache has the same calls as the original response. Both can be
// streamed or not.
func TestReplayOfNativeCalls(t *testing.T) {
	for _, c := range nativeCalls {
		item := `{"id":"i1","status":"completed",` + c.item[1:]
		body := `{"model":"item","input":"Hi","temperature":0,"tools":[` + c.tools + `]`
		whole := `{"id":"r1","status":"completed","output":[` + item + `],` + nativeUsage + `}`
		events := []string{`{"type":"response.created","response":{"id":"r1"}}`, `{"type":"response.output_item.added","output_index":0,"item":` +
			strings.NewReplacer(`"arguments":"{\"a\":1}"`, `"arguments":""`).Replace(item) + `}`}
		if c.pieces != "" {
			events = append(events, c.pieces)
		}
		events = append(events, `{"type":"response.output_item.done","output_index":0,"item":`+item+`}`, `{"type":"response.completed","response":`+whole+`}`)
		stream := ""
		for _, e := range events {
			stream += "event: " + gjson.Get(e, "type").Str + "\ndata: " + e + "\n\n"
		}
		answers := map[string][]abi.Event{"}": wholeResponse(200, whole), `,"stream":true}`: streamEvents(stream, "end")}
		for asked, answer := range answers {
			entry := cacheEntry(t, request{path: "/v1/responses", overlay: translationOverlay, body: body + asked, provider: [][]abi.Event{answer}})
			for again := range answers {
				hit := request{path: "/v1/responses", overlay: translationOverlay, body: body + again, record: withCache, cached: entry}.run(t)
				if hit.header("x-postern-cache") != "hit" {
					t.Fatalf("%s: no hit", c.item)
				}
				got := gjson.Get(hit.responseBody(), "output")
				if again != "}" {
					got = gjson.Get(hit.lastEvent(), "response.output")
				}
				sameCall(t, "asked with "+asked+" and "+again, got, c.item)
			}
		}
	}
}

// lastEvent returns the data of the last event in a streamed response.
func (h *host) lastEvent() string {
	lines := strings.Split(strings.TrimSpace(h.responseBody()), "\ndata: ")
	return lines[len(lines)-1]
}

// sameCall compares the only item in an output with a call, field by field.
func sameCall(t *testing.T, how string, output gjson.Result, want string) {
	t.Helper()
	if n := output.Get("#").Int(); n != 1 {
		t.Errorf("%s: %d items in place of %s: %s", how, n, want, output.Raw)
		return
	}
	got := output.Get("0")
	gjson.Parse(want).ForEach(func(key, v gjson.Result) bool {
		if g := got.Get(key.Str); g.String() != v.String() {
			t.Errorf("%s: %s is %s, want %s", how, key.Str, g.Raw, v.Raw)
		}
		return true
	})
	if status := got.Get("status").Str; status != "completed" {
		t.Errorf("%s: status %q", how, status)
	}
}

func TestReplayOfCustomCallsInCompletions(t *testing.T) {
	const input = `"*** \"a\"\n\\b {\"input\":1} é"`
	body := `{"model":"gpt","temperature":0,"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"custom","custom":{"name":"f"}}]`
	whole := `{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"custom","custom":{"name":"f","input":` + input +
		`}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`
	stream := ""
	for _, delta := range []string{
		`{"role":"assistant","tool_calls":[{"index":0,"id":"t1","type":"custom","custom":{"name":"f","input":""}}]}`,
		`{"tool_calls":[{"index":0,"custom":{"input":"*** \"a\"\n\\b {\"inp"}}]}`, `{"tool_calls":[{"index":0,"custom":{"input":"ut\":1} é"}}]}`,
	} {
		stream += `data: {"id":"c1","choices":[{"index":0,"delta":` + delta + `}]}` + "\n\n"
	}
	stream += `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n" +
		`data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}` + "\n\ndata: [DONE]\n\n"
	answers := map[string][]abi.Event{"}": wholeResponse(200, whole), `,"stream":true}`: streamEvents(stream, "end")}
	for asked, answer := range answers {
		entry := cacheEntry(t, request{path: "/v1/chat/completions", overlay: translationOverlay, body: body + asked, provider: [][]abi.Event{answer}})
		for again := range answers {
			hit := request{path: "/v1/chat/completions", overlay: translationOverlay, body: body + again, record: withCache, cached: entry}.run(t)
			got, name := "", ""
			for line := range strings.SplitSeq(hit.responseBody(), "\n") {
				for _, at := range []string{"choices.0.message", "choices.0.delta"} {
					custom := gjson.Get(strings.TrimPrefix(line, "data: "), at+".tool_calls.0.custom")
					got, name = got+custom.Get("input").Str, name+custom.Get("name").Str
				}
			}
			if want := gjson.Parse(input).Str; got != want || name != "f" {
				t.Errorf("asked with %s and %s: input %q of %q, want %q", asked, again, got, name, want)
			}
		}
	}
}
