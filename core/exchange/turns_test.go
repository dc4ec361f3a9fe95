package exchange_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
)

// This file tests sessions of two turns for each combination of caller's API and provider's API. Both turns are
// streamed. The second request contains the first turn's thinking and call, and the call's result.

// twoTurns is one kind of tool in one caller's API.
type twoTurns struct {
	path  string
	tools string
	args  string // arguments of the function that replaces the tool
	call  string // the call in the caller's API; the stream must contain its fields
	id    string // the result's field with the call's ID
	out   string // the result's other fields
}

const patch = `{"type":"update_file","path":"a","diff":"@@\n-x\n+\"y\" é"}`

var twoTurnTools = []twoTurns{
	{"/v1/responses", `{"type":"function","name":"f","parameters":{"type":"object"}}`, `{"a":"x \"y\" é"}`, `{"type":"function_call","name":"f","arguments":"{\"a\":\"x \\\"y\\\" é\"}"}`, "call_id", `"type":"function_call_output","output":"DONE"`},
	{"/v1/responses", `{"type":"custom","name":"f"}`, `{"input":"*** \"x\"\né"}`, `{"type":"custom_tool_call","name":"f","input":"*** \"x\"\né"}`, "call_id", `"type":"custom_tool_call_output","output":"DONE"`},
	{"/v1/responses", `{"type":"namespace","name":"n","description":"","tools":[{"type":"function","name":"f"}]},{"type":"function","name":"f"}`, `{"a":"x"}`,
		`{"type":"function_call","namespace":"n","name":"f","arguments":"{\"a\":\"x\"}"}`, "call_id", `"type":"function_call_output","output":"DONE"`},
	{"/v1/responses", `{"type":"local_shell"}`, `{"command":["ls","-l"],"env":{"A":"b"}}`, `{"type":"local_shell_call","action":{"type":"exec","command":["ls","-l"],"env":{"A":"b"},"timeout_ms":null,"user":null,"working_directory":null}}`,
		"id", `"type":"local_shell_call_output","output":"DONE"`},
	{"/v1/responses", `{"type":"shell"}`, `{"commands":["ls","pwd"],"timeout_ms":5}`, `{"type":"shell_call","environment":{"type":"local"},"action":{"commands":["ls","pwd"],"max_output_length":null,"timeout_ms":5}}`,
		"call_id", `"type":"shell_call_output","output":[{"stdout":"DONE","stderr":"","outcome":{"type":"exit","exit_code":0}}]`},
	{"/v1/responses", `{"type":"apply_patch"}`, `{"operation":` + patch + `}`, `{"type":"apply_patch_call","operation":` + patch + `}`, "call_id", `"type":"apply_patch_call_output","status":"completed","output":"DONE"`},
	{"/v1/chat/completions", `{"type":"function","function":{"name":"f"}}`, `{"a":"x \"y\" é"}`, `{"type":"function","function":{"name":"f","arguments":"{\"a\":\"x \\\"y\\\" é\"}"}}`, "tool_call_id", `"role":"tool","content":"DONE"`},
	{"/v1/chat/completions", `{"type":"custom","custom":{"name":"f"}}`, `{"input":"*** \"x\"\né"}`, `{"type":"custom","custom":{"name":"f","input":"*** \"x\"\né"}}`, "tool_call_id", `"role":"tool","content":"DONE"`},
	{"/v1/messages", `{"name":"f","input_schema":{"type":"object"}}`, `{"a":"x \"y\" é"}`, `{"type":"tool_use","name":"f","input":{"a":"x \"y\" é"}}`, "tool_use_id", `"type":"tool_result","content":"DONE"`},
	{"/v1/messages", `{"type":"bash_20250124","name":"bash"}`, `{"command":"ls \"x\""}`, `{"type":"tool_use","name":"bash","input":{"command":"ls \"x\""}}`, "tool_use_id", `"type":"tool_result","content":"DONE"`},
}

// turnTarget is a provider's API. It has a stream with a call, and the call's paths in the second request.
type turnTarget struct {
	model, native string
	stream        func(name, args string) string
	name, input   string // ends of paths
	signature     string // the signature of the provider's thinking; empty: the API has no signatures
}

// quoted returns text as the inside of a JSON string.
func quoted(text string) string {
	data, _ := json.Marshal(text)
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(data[1 : len(data)-1]))
}

// events encodes server-sent events. An event's name is the type field of its data.
func events(data ...string) (stream string) {
	for _, d := range data {
		stream += "event: " + gjson.Get(d, "type").Str + "\ndata: " + d + "\n\n"
	}
	return stream
}

func chunksOf(args string) []string {
	third := len(args) / 3
	return []string{args[:third], args[third : 2*third], args[2*third:]}
}

const usageOfItems = `"usage":{"input_tokens":9,"output_tokens":3}`

var turnTargets = []turnTarget{
	{"gpt", "/v1/chat/completions", func(name, args string) string {
		stream := `data: {"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"` + name + `","arguments":""}}]}}]}` + "\n\n"
		for _, piece := range chunksOf(args) {
			stream += `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"` + quoted(piece) + `"}}]}}]}` + "\n\n"
		}
		return stream + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n" + `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}` + "\n\ndata: [DONE]\n\n"
	}, "tool_calls[].function.name", "tool_calls[].function.arguments", ""},
	{"item", "/v1/responses", func(name, args string) string {
		call := `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"` + name + `","arguments":"` + quoted(args) + `"}`
		return itemStream(strings.Replace(call, quoted(args), "", 1), call, "response.function_call_arguments.delta", chunksOf(args))
	}, "input[].name", "input[].arguments", "c2ln"},
	{"claude", "/v1/messages", func(name, args string) string {
		all := []string{
			`{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"call_1","name":"` + name + `","input":{}}}`,
		}
		for _, piece := range chunksOf(args) {
			all = append(all, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"`+quoted(piece)+`"}}`)
		}
		return events(append(all, `{"type":"content_block_stop","index":1}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":3}}`, `{"type":"message_stop"}`)...)
	}, "content[].name", "content[].input", "c2ln"},
	{"gem", "", func(name, args string) string {
		return `data: {"responseId":"r1","candidates":[{"index":0,"content":{"parts":[{"text":"Hm","thought":true}]}}]}` + "\n\n" +
			`data: {"candidates":[{"index":0,"content":{"parts":[{"functionCall":{"id":"call_1","name":"` + name + `","args":` + args + `},"thoughtSignature":"c2ln"}]},"finishReason":"STOP"}],` +
			`"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":3}}` + "\n\n"
	}, "functionCall.name", "functionCall.args", "c2ln"},
}

// itemStream returns a Responses API stream with thinking and a call.
func itemStream(added, done, delta string, pieces []string) string {
	const thought = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm"}],"encrypted_content":"c2ln"}`
	all := []string{`{"type":"response.created","response":{"id":"r1"}}`, `{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"item_id":"rs_1","delta":"Hm"}`, `{"type":"response.output_item.done","output_index":0,"item":` + thought + `}`,
		`{"type":"response.output_item.added","output_index":1,"item":` + added + `}`}
	for _, piece := range pieces {
		all = append(all, `{"type":"`+delta+`","output_index":1,"item_id":"i1","delta":"`+quoted(piece)+`"}`)
	}
	return events(append(all, `{"type":"response.output_item.done","output_index":1,"item":`+done+`}`,
		`{"type":"response.completed","response":{"id":"r1","status":"completed","output":[`+thought+`,`+done+`],`+usageOfItems+`}}`)...)
}

// nativeStream returns a target's stream for a caller of the same API. The call has that API's format.
func (s *twoTurns) nativeStream(to *turnTarget, call string) string {
	switch {
	case s.path == "/v1/responses":
		return itemStream(call, call, "", nil)
	case gjson.Get(call, "custom").Exists():
		return `data: {"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,` + call[1:] + `]}}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n" + `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}` + "\n\ndata: [DONE]\n\n"
	case s.path == "/v1/chat/completions":
		return to.stream("f", s.args)
	}
	return to.stream(gjson.Get(call, "name").Str, s.args)
}

func (s *twoTurns) body(model, more string) string {
	head := `{"model":"` + model + `","stream":true,"tools":[` + s.tools + `],`
	if s.path == "/v1/responses" {
		return head + `"input":[{"role":"user","content":"Hi"}` + more + `]}`
	}
	return head + `"max_tokens":100,"messages":[{"role":"user","content":"Hi"}` + more + `]}`
}

// turn returns the content of the caller's stream as the caller sends it back, and the call in it. The content is a
// list of items, a message, or a message of blocks.
func (s *twoTurns) turn(t *testing.T, stream string) (said string, call gjson.Result) {
	t.Helper()
	message := map[string]any{}
	var blocks []map[string]any
	input := ""
	for line := range strings.SplitSeq(stream, "\n") {
		data, ok := strings.CutPrefix(line, "data: {")
		if !ok {
			continue
		}
		e := gjson.Parse("{" + data)
		for _, c := range e.Get("choices.0.delta.tool_calls").Array() {
			piece := c.Get(message0(message, c))
			calls := message["call"].(map[string]any)
			for member, text := range piece.Map() {
				old, _ := calls[member].(string)
				calls[member] = old + text.Str
			}
		}
		switch e.Get("type").Str {
		case "response.completed":
			items := e.Get("response.output").Array()
			for _, item := range items {
				said += "," + item.Raw
			}
			return said, items[len(items)-1]
		case "content_block_start":
			block, _ := e.Get("content_block").Value().(map[string]any)
			blocks, input = append(blocks, block), ""
		case "content_block_delta":
			last := blocks[len(blocks)-1]
			for _, member := range []string{"thinking", "signature"} {
				if piece := e.Get("delta." + member); piece.Exists() {
					last[member], _ = last[member].(string)
					last[member] = last[member].(string) + piece.Str
				}
			}
			input += e.Get("delta.partial_json").Str
		case "content_block_stop":
			if last := blocks[len(blocks)-1]; last["type"] == "tool_use" {
				last["input"] = json.RawMessage(input)
			}
		}
	}
	if len(blocks) > 0 {
		data, err := json.Marshal(map[string]any{"role": "assistant", "content": blocks})
		if err != nil {
			t.Fatal(err, stream)
		}
		all := gjson.GetBytes(data, "content").Array()
		return "," + string(data), all[len(all)-1]
	}
	whole := map[string]any{"id": message["id"], "type": message["type"]}
	kind, _ := message["type"].(string)
	whole[kind] = message["call"]
	data, _ := json.Marshal(map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{whole}})
	return "," + string(data), gjson.GetBytes(data, "tool_calls.0")
}

// message0 starts a new call if a chunk begins one. It returns the name of the field with the call's pieces.
func message0(message map[string]any, c gjson.Result) string {
	if id := c.Get("id").Str; id != "" {
		maps.Copy(message, map[string]any{"id": id, "type": c.Get("type").Str, "call": map[string]any{}})
	}
	kind, _ := message["type"].(string)
	return kind
}

// result returns the result of a call as the caller sends it.
func (s *twoTurns) result(call gjson.Result) string {
	id := call.Get("call_id").Str
	if id == "" {
		id = call.Get("id").Str
	}
	result := `{"` + s.id + `":"` + id + `",` + s.out + `}`
	if s.path == "/v1/messages" {
		return `,{"role":"user","content":[` + result + `]}`
	}
	return "," + result
}

// includes reports whether a JSON value has all fields of another value with equal values, at any depth.
func includes(got, want gjson.Result) bool {
	if !want.IsObject() {
		var a, b any
		if json.Unmarshal([]byte(got.Raw), &a) != nil || json.Unmarshal([]byte(want.Raw), &b) != nil {
			return false
		}
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		return string(x) == string(y)
	}
	ok := true
	want.ForEach(func(key, v gjson.Result) bool {
		ok = ok && includes(got.Get(key.Str), v)
		return ok
	})
	return ok
}

// find returns the value at the first path with the given end.
func find(v gjson.Result, path, end string) (found gjson.Result) {
	if strings.HasSuffix(path, end) {
		return v
	}
	if v.IsObject() || v.IsArray() {
		v.ForEach(func(key, member gjson.Result) bool {
			name := path + "[]"
			if v.IsObject() {
				name = strings.TrimPrefix(path+"."+key.Str, ".")
			}
			found = find(member, name, end)
			return !found.Exists()
		})
	}
	return found
}

// TestTwoTurns runs two streamed turns for each pair of APIs.
func TestTwoTurns(t *testing.T) {
	for i := range twoTurnTools {
		for j := range turnTargets {
			s, to := &twoTurnTools[i], &turnTargets[j]
			t.Run(s.path+" "+s.tools+" "+to.model, func(t *testing.T) { s.run(t, to) })
		}
	}
}

func (s *twoTurns) send(t *testing.T, to *turnTarget, more, stream string) (h *host, sent string) {
	t.Helper()
	h = request{path: s.path, overlay: translationOverlay, body: s.body(to.model, more), provider: [][]abi.Event{streamEvents(stream, "end")}}.run(t)
	if fetches := h.all(abi.ActionFetch); len(fetches) == 0 {
		t.Fatal("not sent: " + h.responseBody())
	} else {
		sent = h.bodyText(fetches[0].Body)
	}
	return h, sent
}

func (s *twoTurns) run(t *testing.T, to *turnTarget) {
	_, first := s.send(t, to, "", "")
	tool := find(gjson.Parse(first), "", "unction.name")
	for _, end := range []string{"tools[].name", "functionDeclarations[].name"} {
		if !tool.Exists() {
			tool = find(gjson.Parse(first), "", end)
		}
	}
	isNative := to.native == s.path
	stream := ""
	if isNative {
		stream = s.nativeStream(to, `{"id":"call_1","call_id":"call_1","status":"completed",`+s.call[1:])
	} else {
		stream = to.stream(tool.Str, s.args)
	}
	h, _ := s.send(t, to, "", stream)
	said, call := s.turn(t, h.sentText())
	if !includes(call, gjson.Parse(s.call)) {
		t.Fatalf("the stream has the call %s, want %s", call.Raw, s.call)
	}
	again, second := s.send(t, to, said+s.result(call), stream)
	if names := again.header("x-postern-dropped-params"); names != "" {
		t.Errorf("left out of the second turn: %s", names)
	}
	root := gjson.Parse(second)
	if !strings.Contains(second, "DONE") {
		t.Errorf("no result in %s", second)
	}
	if to.signature != "" && s.path != "/v1/chat/completions" && !strings.Contains(second, `"`+to.signature+`"`) {
		t.Errorf("no signature in %s", second)
	}
	if isNative {
		return // the body is the caller's
	}
	args := find(root, "", to.input)
	if args.Type == gjson.String {
		args = gjson.Parse(args.Str)
	}
	if name := find(root, "", to.name); name.Str != tool.Str || !includes(args, gjson.Parse(s.args)) {
		t.Errorf("second request: call of %s with %s, want %s with %s", name.Raw, args.Raw, tool.Raw, s.args)
	}
	if n := strings.Count(second, "call_1"); n < 2 && to.model != "gem" {
		t.Errorf("%d places have the call's ID in %s", n, second)
	}
}
