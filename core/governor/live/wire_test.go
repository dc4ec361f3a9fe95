package live_test

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/live"
	"github.com/postern-ai/postern/test/livestream"
)

// through sends a provider's stream to the checks and returns the data of the caller's events. The stream has one
// event per line.
func through(t *testing.T, d chat.Dialect, g *live.Guard, lines ...string) ([]string, *livestream.Result) {
	t.Helper()
	var stream strings.Builder
	for _, line := range lines {
		stream.WriteString("data: " + line + "\n\n")
	}
	r, err := livestream.Through(d, g, []byte(stream.String()), 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, block := range strings.Split(strings.TrimSuffix(string(r.Bytes), "\n\n"), "\n\n") {
		_, data, _ := strings.Cut(block, "data: ")
		out = append(out, data)
	}
	return out, &r
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("event %d is missing: %s", i, want[i])
		case i >= len(want):
			t.Errorf("event %d is too much: %s", i, got[i])
		case got[i] != want[i]:
			t.Errorf("event %d is\n     %s\nwant %s", i, got[i], want[i])
		}
	}
}

func emails(t *testing.T) *live.Guard {
	return &live.Guard{Policy: policy(t, map[string]governor.Action{"personal.email": governor.Redact}), Redactor: redactor(t, "me@example.org")}
}

// TestOpenAIEvents: everything except the texts stays the same, byte for byte. The end of a text is sent before the
// finish reason.
func TestOpenAIEvents(t *testing.T) {
	got, _ := through(t, chat.OpenAI, emails(t),
		`{"id":"c1", "created":7,"model":"m","choices":[{"delta":{"role":"assistant","content":""},"index":0,"extra":{"a":[1.50,"\u00e9"]}}],"obfuscation":"xY"}`,
		`{"id":"c1","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"H\u00e9 \"you\",\n joe@"},"logprobs":{"content":[{"token":"joe@"}]},"finish_reason":null}]}`,
		`{"id":"c1","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"example.com \u005bEMAIL_1\u005D ok"},"finish_reason":null}]}`,
		`{"id":"c1","created":7,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}`,
		`{"id":"c1","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
	)
	compare(t, got, []string{
		`{"id":"c1", "created":7,"model":"m","choices":[{"delta":{"role":"assistant","content":""},"index":0,"extra":{"a":[1.50,"\u00e9"]}}],"obfuscation":"xY"}`,
		`{"id":"c1","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"H\u00e9 \"you\",\n "},"logprobs":null,"finish_reason":null}]}`,
		`{"id":"c1","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"[EMAIL] me@example.org "},"finish_reason":null}]}`,
		`{"id":"c1","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":null}]}`,
		`{"id":"c1","created":7,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}`,
		`{"id":"c1","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
	})
}

// TestSameFrames: if an event differs from the event before only in its text, it is checked like any other event.
// This is true even if the text seems to end elsewhere. A test of package livestream sends the same event in a
// separate step and compares the results.
func TestSameFrames(t *testing.T) {
	const head, tail = `{"id":"c","choices":[{"index":0,"delta":{"content":"`, `"}}]}`
	middles := []string{
		`a `, `joe@exam`, `ple.com b`, `c","other":"joe@example.com`, `d\\`, `\\\"e `, `f"},"finish_reason":"stop","message":{"content":"joe@example.com`, ``, `\u006aoe@example.com`, ` g`,
	}
	for skipped := range middles {
		var events []string
		for i, middle := range middles {
			if i != skipped {
				events = append(events, head+middle+tail)
			}
		}
		got, _ := through(t, chat.OpenAI, emails(t), events...)
		if all := strings.Join(got, "\n"); strings.Contains(all, "joe@example.com") || !strings.Contains(all, "[EMAIL]") {
			t.Errorf("without %q: sent\n%s", middles[skipped], all)
		}
	}
	both := `{"id":"c","choices":[{"index":0,"delta":{"content":"b ","reasoning_content":"thought"}}]}`
	through(t, chat.OpenAI, emails(t), head+`a `+tail, both, head+`c `+tail) // the text ends the thought
	const anthropic = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`
	const begin = `{"type":"message_start","message":{"id":"m1","role":"assistant","content":[],"model":"m","usage":{"input_tokens":1}}}`
	got, _ := through(t, chat.Anthropic, emails(t), begin, anthropic+`to joe@exam"}}`, anthropic+`ple.com "}}`, anthropic+`ok "}}`, anthropic+`. "}}`)
	// After a word and a space, the equal sign of an assignment may follow.
	compare(t, got, []string{begin, anthropic + `to "}}`, anthropic + `"}}`, anthropic + `[EMAIL] ok "}}`, anthropic + `. "}}`})
}

// TestOpenAIOtherTexts covers the names of reasoning fields, older and newer forms of calls, content in chunks, and a
// complete message.
func TestOpenAIOtherTexts(t *testing.T) {
	got, r := through(t, chat.OpenAI, emails(t),
		`{"id":"c","choices":[{"index":0,"delta":{"reasoning":"a joe@","reasoning_content":"a joe@","reasoning_details":[{"type":"reasoning.text","text":"a joe@"}]}}]}`,
		`{"id":"c","choices":[{"index":0,"delta":{"reasoning":"example.com","reasoning_content":"example.com","reasoning_details":[{"type":"reasoning.text","text":"example.com"}]}}]}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":[{"type":"text","text":"b joe@example.com"}]},"message":{"role":"assistant","content":"b joe@example.com"}}]}`,
		`{"id":"c","choices":[{"index":0,"delta":{"function_call":{"name":"f","arguments":"{\"a\":\"joe@example.com"}}}]}`,
		`{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":3,"custom":{"name":"x","input":"joe@example.com"}}]}}]}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":"!"},"message":{"role":"assistant","content":"b joe@example.com!"},"finish_reason":"stop"}]}`,
	)
	all := strings.Join(got, "\n")
	if strings.Contains(all, "joe@") || strings.Contains(all, "example.com") {
		t.Errorf("sent\n%s", all)
	}
	for path, want := range map[string]string{
		"reasoning": "a [EMAIL]", "reasoning_content": "a [EMAIL]", "reasoning_details.0.text": "a [EMAIL]",
		"function_call.arguments": `{"a":"[EMAIL]`, "tool_calls.0.custom.input": "[EMAIL]", "content": "!", "content.0.text": "b ",
	} {
		joined := ""
		for _, e := range got {
			joined += gjson.Get(e, "choices.0.delta."+path).Str
		}
		if path == "content" {
			joined = strings.ReplaceAll(joined, "[EMAIL]", "")
		}
		if joined != want {
			t.Errorf("%s is %q, want %q", path, joined, want)
		}
	}
	if m := gjson.Get(got[len(got)-1], "choices.0.message.content").Str; m != "b [EMAIL]!" {
		t.Errorf("the whole message is %q", m)
	}
	if r.Stream.Tally.Total == 0 || len(r.Stream.Reports) != 1 {
		t.Errorf("reports %+v", r.Stream.Reports)
	}
}

// TestResponsesEvents: a repeated text is rewritten in the same way each time, but counted once. The events' numbers
// stay in order.
func TestResponsesEvents(t *testing.T) {
	got, r := through(t, chat.Responses, emails(t),
		`{"type":"response.created","sequence_number":0,"response":{"id":"r","instructions":"write to [EMAIL_1]","output":[]}}`,
		`{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","content":[]}}`,
		`{"type":"response.output_text.delta","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"ask [EMAIL_1] or joe@exam","logprobs":[{"token":"joe"}]}`,
		`{"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"ple.com"}`,
		`{"type":"response.output_text.done","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"text":"ask [EMAIL_1] or joe@example.com","logprobs":[{"token":"joe"}]}`,
		`{"type":"response.content_part.done","sequence_number":5,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"ask [EMAIL_1] or joe@example.com","annotations":[]}}`,
		`{"type":"response.output_item.done","sequence_number":6,"output_index":0,"item":{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"ask [EMAIL_1] or joe@example.com"}]}}`,
		`{"type":"response.output_item.added","sequence_number":7,"output_index":1,"item":{"id":"fc_1","type":"function_call","call_id":"c","name":"f","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","sequence_number":8,"item_id":"fc_1","output_index":1,"delta":"{\"to\":\"joe@example.com\",\"cc\":\"[EMAIL_1]\"}"}`,
		`{"type":"response.function_call_arguments.done","sequence_number":9,"item_id":"fc_1","output_index":1,"arguments":"{\"to\":\"joe@example.com\",\"cc\":\"[EMAIL_1]\"}"}`,
		`{"type":"response.completed","sequence_number":10,"response":{"id":"r","output":[{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"ask [EMAIL_1] or joe@example.com"}]},{"type":"function_call","arguments":"{\"to\":\"joe@example.com\",\"cc\":\"[EMAIL_1]\"}"}],"usage":{"input_tokens":1,"output_tokens":2}}}`,
	)
	compare(t, got, []string{
		`{"type":"response.created","sequence_number":0,"response":{"id":"r","instructions":"write to me@example.org","output":[]}}`,
		`{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","content":[]}}`,
		`{"type":"response.output_text.delta","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"ask me@example.org or ","logprobs":[]}`,
		`{"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":""}`,
		`{"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"[EMAIL]","logprobs":[],"sequence_number":4}`,
		`{"type":"response.output_text.done","sequence_number":5,"item_id":"msg_1","output_index":0,"content_index":0,"text":"ask me@example.org or [EMAIL]","logprobs":[]}`,
		`{"type":"response.content_part.done","sequence_number":6,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"ask me@example.org or [EMAIL]","annotations":[]}}`,
		`{"type":"response.output_item.done","sequence_number":7,"output_index":0,"item":{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"ask me@example.org or [EMAIL]"}]}}`,
		`{"type":"response.output_item.added","sequence_number":8,"output_index":1,"item":{"id":"fc_1","type":"function_call","call_id":"c","name":"f","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","sequence_number":9,"item_id":"fc_1","output_index":1,"delta":"{\"to\":\"[EMAIL]\",\"cc\":\"me@example.org\"}"}`,
		`{"type":"response.function_call_arguments.done","sequence_number":10,"item_id":"fc_1","output_index":1,"arguments":"{\"to\":\"[EMAIL]\",\"cc\":\"me@example.org\"}"}`,
		`{"type":"response.completed","sequence_number":11,"response":{"id":"r","output":[{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"ask me@example.org or [EMAIL]"}]},{"type":"function_call","arguments":"{\"to\":\"[EMAIL]\",\"cc\":\"me@example.org\"}"}],"usage":{"input_tokens":1,"output_tokens":2}}}`,
	})
	if n := r.Stream.Reports[0].Count; n != 2 {
		t.Errorf("%d findings are counted, want 2", n)
	}
}

// TestLargeIndexes: an item's index does not change to which text of which item a piece belongs. An index that does not
// fit into a channel's place counts as 0.
func TestLargeIndexes(t *testing.T) {
	for index, want := range map[string]string{
		"2097151": "2097151", "2097152": "0", "6291456": "0", "10000000": "0", "99999999999999999999": "0", "1.5": "0", "-1": "0",
	} {
		for _, name := range []string{"response.output_text", "response.audio.transcript"} {
			delta := `{"type":"` + name + `.delta","output_index":` + index + `,"delta":"`
			got, _ := through(t, chat.Responses, emails(t), delta+`joe@exam"}`, delta+`ple.com"}`, `{"type":"response.completed","response":{"id":"r","output":[]}}`)
			tail := got[len(got)-2]
			if gjson.Get(tail, "type").Str != name+".delta" || gjson.Get(tail, "output_index").Raw != want || gjson.Get(tail, "delta").Str != "[EMAIL]" {
				t.Errorf("%s at %s: %s", name, index, strings.Join(got, "\n"))
			}
		}
	}
}

// TestCallsOfShellAndPatch: the pieces of a command or diff form one text, and the complete text is checked wherever
// it is repeated.
func TestCallsOfShellAndPatch(t *testing.T) {
	for name, lines := range map[string][]string{
		"response.shell_call_command": {
			`{"type":"response.shell_call_command.added","output_index":0,"command_index":0,"command":""}`,
			`{"type":"response.shell_call_command.delta","output_index":0,"command_index":0,"delta":"mail [EMAIL_1] or joe@exam"}`,
			`{"type":"response.shell_call_command.delta","output_index":0,"command_index":0,"delta":"ple.com now"}`,
			`{"type":"response.shell_call_command.done","output_index":0,"command_index":0,"command":"mail [EMAIL_1] or joe@example.com now"}`,
			`{"type":"response.shell_call_command.added","output_index":0,"command_index":1,"command":"to joe@example.com"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"shell_call","action":{"commands":["mail [EMAIL_1] or joe@example.com now"]}}}`,
		},
		"response.apply_patch_call_operation_diff": {
			`{"type":"response.apply_patch_call_operation_diff.delta","output_index":0,"item_id":"a","delta":"mail [EMAIL_1] or joe@exam"}`,
			`{"type":"response.apply_patch_call_operation_diff.delta","output_index":0,"item_id":"a","delta":"ple.com now"}`,
			`{"type":"response.apply_patch_call_operation_diff.done","output_index":0,"item_id":"a","diff":"mail [EMAIL_1] or joe@example.com now"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"apply_patch_call","operation":{"type":"create_file","path":"a","diff":"mail [EMAIL_1] or joe@example.com now"}}}`,
		},
	} {
		got, _ := through(t, chat.Responses, emails(t), lines...)
		pieces, wholes := "", 0
		for _, data := range got {
			if gjson.Get(data, "type").Str == name+".delta" {
				pieces += gjson.Get(data, "delta").Str
			}
			wholes += strings.Count(data, "mail me@example.org or [EMAIL] now")
		}
		if pieces != "mail me@example.org or [EMAIL] now" || wholes != 2 || strings.Contains(strings.Join(got, ""), "joe") {
			t.Errorf("%s: pieces %q, %d wholes: %s", name, pieces, wholes, strings.Join(got, "\n"))
		}
	}
}

// TestItemsBeginWithTexts: the event at the start of an item is checked like the event at its end.
func TestItemsBeginWithTexts(t *testing.T) {
	for _, item := range []string{
		`{"type":"custom_tool_call","name":"f","input":"TEXT"}`,
		`{"type":"apply_patch_call","operation":{"type":"update_file","path":"a","diff":"TEXT"}}`,
		`{"type":"shell_call","action":{"commands":["TEXT"]}}`,
		`{"type":"local_shell_call","action":{"type":"exec","command":["TEXT"]}}`,
		`{"type":"tool_search_call","execution":"client","arguments":{"query":"TEXT"}}`,
		`{"type":"reasoning","summary":[{"type":"summary_text","text":"TEXT"}]}`,
		`{"type":"mcp_call","name":"f","arguments":"{}","output":"TEXT"}`,
		`{"type":"mcp_list_tools","tools":[{"name":"f","description":"TEXT"}]}`,
		`{"type":"call_that_is_new","id":"c","status":"completed","payload":{"a":["TEXT"]}}`,
		`{"type":"file_search_call","queries":["TEXT"],"results":[{"text":"TEXT"}]}`,
	} {
		events := func(text string) (lines []string) {
			whole := strings.ReplaceAll(item, "TEXT", text)
			return []string{
				`{"type":"response.output_item.added","output_index":0,"item":` + whole + `}`,
				`{"type":"response.output_item.done","output_index":0,"item":` + whole + `}`,
				`{"type":"response.completed","response":{"id":"r","output":[` + whole + `]}}`,
			}
		}
		got, _ := through(t, chat.Responses, emails(t), events("[EMAIL_1] or joe@example.com")...)
		compare(t, got, events("me@example.org or [EMAIL]"))
	}
}

// TestResponsesWithoutDeltas: if a text arrives only in complete form, it is checked and counted.
func TestResponsesWithoutDeltas(t *testing.T) {
	g := &live.Guard{Policy: policy(t, map[string]governor.Action{"personal.email": governor.Block})}
	_, r := through(t, chat.Responses, g,
		`{"type":"response.created","response":{"id":"r"}}`,
		`{"type":"response.completed","response":{"id":"r","output":[{"type":"message","content":[{"type":"output_text","text":"joe@example.com"}]}]}}`,
	)
	if !r.Stream.Blocked() || strings.Contains(string(r.Bytes), "joe") {
		t.Errorf("sent %s", r.Bytes)
	}
}

// TestAnthropicEvents covers blocks of several kinds. The rest of each block is sent before its content_block_stop.
func TestAnthropicEvents(t *testing.T) {
	got, _ := through(t, chat.Anthropic, emails(t),
		`{"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"ping"}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"by joe@exa"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"mple.com"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"char_location","cited_text":"joe@example.com","url":"http://x"}}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"to\":\"joe@"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"example.com"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"u","name":"g","input":{"to":["joe@example.com",4111111111111111,"[EMAIL_1]"]}}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}`,
		`{"type":"message_stop"}`,
	)
	compare(t, got, []string{
		`{"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"ping"}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"by "}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"char_location","cited_text":"[EMAIL]","url":"http://x"}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"[EMAIL]"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"to\":\""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"[EMAIL]"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"u","name":"g","input":{"to":["[EMAIL]",4111111111111111,"me@example.org"]}}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":2}}`,
		`{"type":"message_stop"}`,
	})
}

// TestEveryKindOfEnd: before each kind of end, the rest of a text is sent. Its event has the dialect's form.
func TestEveryKindOfEnd(t *testing.T) {
	chunk := func(rest string) string { return `{"id":"c","choices":[{"index":0,` + rest + `}]}` }
	for name, c := range map[string]struct {
		dialect chat.Dialect
		stream  []string
	}{
		"finish reason":           {chat.OpenAI, []string{chunk(`"delta":{"content":"to joe@"}`), chunk(`"delta":{"content":"example.com"}`), chunk(`"finish_reason":"stop"`)}},
		"finish reason with text": {chat.OpenAI, []string{chunk(`"delta":{"content":"to joe@"}`), chunk(`"finish_reason":"length","delta":{"content":"example.com"}`)}},
		"end of the stream":       {chat.OpenAI, []string{chunk(`"delta":{"content":"to joe@"}`), chunk(`"delta":{"content":"example.com"}`)}},
		"content_block_stop": {chat.Anthropic, []string{
			`{"type":"message_start","message":{"id":"m"}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"to joe@"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"example.com"}}`, `{"type":"content_block_stop","index":0}`,
		}},
		"message_delta": {chat.Anthropic, []string{
			`{"type":"message_start","message":{"id":"m"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"to joe@"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"example.com"}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`,
		}},
		"response.completed": {chat.Responses, []string{
			`{"type":"response.created","response":{"id":"r"}}`, `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"to joe@"}`,
			`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"example.com"}`,
			`{"type":"response.completed","response":{"id":"r","output":[{"type":"message","content":[{"type":"output_text","text":"to joe@example.com"}]}]}}`,
		}},
		"next item": {chat.Responses, []string{
			`{"type":"response.created","response":{"id":"r"}}`, `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"to joe@"}`,
			`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"example.com"}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"type":"reasoning"}}`,
		}},
		"end without an end": {chat.Responses, []string{
			`{"type":"response.created","response":{"id":"r"}}`, `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"to joe@"}`,
			`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"example.com"}`,
		}},
	} {
		_, r := through(t, c.dialect, emails(t), c.stream...)
		for what, response := range map[string]*chat.Response{"sent": &r.Sent, "stored": &r.Stored} {
			if got := livestream.Text(response, 0, chat.Text); got != "to [EMAIL]" {
				t.Errorf("%s: %s %q", name, what, got)
			}
		}
	}
}

// TestLists: a project's keywords are found in every form of the text and for every cut.
func TestLists(t *testing.T) {
	settings := governor.NewSettings()
	settings.Lists = []governor.KeywordList{{Name: "codenames", Output: governor.Redact, Words: []string{"project bluebird", "naïve", "blue"}}}
	encoded, err := governor.DecodeSettings(settings.Encode())
	if err != nil {
		t.Fatal(err)
	}
	g := &live.Guard{Policy: encoded.Policy()}
	text, want := "so naïve: Project Bluebird, project bluebottle, \"blue\"", "so [KEYWORD_CODENAMES]: [KEYWORD_CODENAMES], project bluebottle, \"[KEYWORD_CODENAMES]\""
	for _, pieces := range splits(text)[:2] {
		for _, form := range livestream.Forms {
			r := run(t, form, g, textAnswer(chat.DeltaText, pieces...))
			wantText(t, form, "sent", &r.Sent, 0, chat.Text, want)
		}
	}
}

// TestToolWithoutArguments: Anthropic's stream has no piece for the arguments of such a call. The cache still gets an
// empty object as the arguments.
func TestToolWithoutArguments(t *testing.T) {
	_, r := through(t, chat.Anthropic, emails(t),
		`{"type":"message_start","message":{"id":"m"}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}`,
		`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`,
	)
	if got := livestream.Text(&r.Stored, 0, chat.ToolCall); got != "{}" {
		t.Errorf("stored arguments %q", got)
	}
}

// TestLongRepetition: an event that repeats a text of 500 KB with many findings is rewritten.
func TestLongRepetition(t *testing.T) {
	g := emails(t)
	text := strings.Repeat("joe@example.com [EMAIL_1]\\n", 20_000)
	got, r := through(t, chat.Responses, g, `{"type":"response.created","response":{"id":"r"}}`,
		`{"type":"response.completed","response":{"id":"r","output":[{"type":"message","content":[{"type":"output_text","text":"`+text+`"}]}]}}`)
	want := strings.Repeat("[EMAIL] me@example.org\n", 20_000)
	if sent := gjson.Get(got[1], "response.output.0.content.0.text").Str; sent != want || r.Stream.Failed() {
		t.Errorf("%d bytes are sent, want %d", len(sent), len(want))
	}
}
