package inspect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/jsontext"
)

// logProbs returns a choice's log probabilities for tokens. list is the name of the array that contains them.
func logProbs(list string, tokens ...string) string {
	var all []string
	for _, token := range tokens {
		quoted, _ := json.Marshal(token)
		bytes, _ := json.Marshal([]int{int(token[0])})
		all = append(all, `{"token":`+string(quoted)+`,"logprob":-0.1,"bytes":`+string(bytes)+`,"top_logprobs":[{"token":`+string(quoted)+`,"logprob":-0.1,"bytes":null}]}`)
	}
	return `{"` + list + `":[` + strings.Join(all, ",") + `]}`
}

// tokensOf joins the tokens of log probabilities. It also returns the number of blanked tokens.
func tokensOf(t *testing.T, data string) (text string, blanked int) {
	t.Helper()
	var lists map[string][]struct {
		Token string
		Bytes []int
		Top   []any `json:"top_logprobs"`
	}
	if err := json.Unmarshal([]byte(data), &lists); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	for _, list := range lists {
		for _, token := range list {
			text += token.Token
			if token.Bytes == nil && len(token.Top) == 0 {
				blanked++
			}
		}
	}
	return text, blanked
}

var tokens = []string{"Mail ", "jane", ".roe", "@", "example", ".com", " now", "."}

func TestLogProbsRepeatTheText(t *testing.T) {
	for _, order := range []bool{false, true} {
		members := []string{`"message":{"content":"Mail jane.roe@example.com now."}`, `"logprobs":` + logProbs("content", tokens...)}
		if order {
			members[0], members[1] = members[1], members[0]
		}
		r := redacting(t).Answer(inspect.OpenAIAnswer, []byte(`{"choices":[{`+members[0]+`,`+members[1]+`}]}`))
		if r.Tally.Total != 1 || r.Findings[0].Path != "choices[0].message.content" || strings.Contains(string(r.Body), "jane") {
			t.Fatalf("%+v\n%s", r.Findings, r.Body)
		}
		var answer struct {
			Choices []struct{ LogProbs json.RawMessage }
		}
		if err := json.Unmarshal(r.Body, &answer); err != nil {
			t.Fatal(err)
		}
		if text, blanked := tokensOf(t, string(answer.Choices[0].LogProbs)); text != "Mail [EMAIL] now." || blanked != 5 {
			t.Errorf("%q, %d blanked: %s", text, blanked, r.Body)
		}
	}
}

func TestResponsesRepeatTheText(t *testing.T) {
	lists := logProbs("content", tokens...)
	list := strings.TrimSuffix(strings.TrimPrefix(lists, `{"content":`), "}")
	body := `{"output_text":"Mail jane.roe@example.com now.","output":[{"type":"message","content":[{"type":"output_text","text":"Mail jane.roe@example.com now.","logprobs":` + list + `,"annotations":[]}]}]}`
	r := redacting(t).Answer(inspect.ResponsesAnswer, []byte(body))
	if r.Tally.Total != 1 || r.Findings[0].Path != "output[0].content[0].text" || strings.Contains(string(r.Body), "jane") || strings.Count(string(r.Body), "Mail [EMAIL] now.") != 2 {
		t.Errorf("%+v\n%s", r.Findings, r.Body)
	}
}

// TestRepetitionsAloneCount: a finding counts even if it occurs only in a field that repeats the text.
func TestRepetitionsAloneCount(t *testing.T) {
	blocking := &inspect.Check{Policy: policy(t, governor.Block, "personal.email")}
	for _, body := range []string{
		`{"output":[],"output_text":"` + email + `"}`,
		`{"choices":[{"message":{"content":"x"},"logprobs":` + logProbs("refusal", tokens...) + `}]}`,
	} {
		if r := blocking.Answer(inspect.ResponsesAnswer, []byte(body)); r.Decision != governor.Rejected || r.Tally.Total != 1 {
			t.Errorf("%s: %s, %+v", body, r.Decision, r.Findings)
		}
	}
}

// redacted returns a redactor that knows an email address as [EMAIL_1] and a private key with line feeds as
// [PRIVATE_KEY_1].
func redacted(t *testing.T) *governor.Redactor {
	t.Helper()
	check := redacting(t)
	if r := check.Request(inspect.NativeRequest, []byte(`{"a":"`+email+`"}`)); r.Body == nil {
		t.Fatal("nothing redacted")
	}
	if r := check.Request(inspect.NativeRequest, []byte(`{"a":"key `+strings.ReplaceAll(pem, "\n", `\n`)+`"}`)); !strings.Contains(string(r.Body), "[PRIVATE_KEY_1]") {
		t.Fatalf("not redacted: %s", r.Body)
	}
	return check.Redactor
}

var restored = []struct {
	kind       inspect.Kind
	body, want string
}{
	{inspect.NativeAnswer, `{"text":"To [EMAIL_1], [EMAIL_2], [EMAIL] or [email_1]."}`, `{"text":"To jane.roe@example.com, [EMAIL_2], [EMAIL] or [email_1]."}`},
	{inspect.OpenAIAnswer, `{"choices":[{"message":{"content":"\u005bEMAIL_1\u005d","refusal":"[EMAIL_1]","reasoning_content":"[EMAIL_1]"}}]}`, `{"choices":[{"message":{"content":"jane.roe@example.com","refusal":"jane.roe@example.com","reasoning_content":"jane.roe@example.com"}}]}`},
	{inspect.OpenAIAnswer, `{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"{\"to\":\"[EMAIL_1]\"}"}}]}}]}`, `{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"{\"to\":\"jane.roe@example.com\"}"}}]}}]}`},
	{inspect.OpenAIAnswer, `{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"{\"k\":\"[PRIVATE_KEY_1]\"}"}}]}}]}`, `{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"{\"k\":\"` + strings.ReplaceAll(pem, "\n", `\\n`) + `\"}"}}]}}]}`},
	{inspect.AnthropicAnswer, `{"content":[{"type":"tool_use","input":{"k":["[PRIVATE_KEY_1]"],"[EMAIL_1]":1}}]}`, `{"content":[{"type":"tool_use","input":{"k":["` + strings.ReplaceAll(pem, "\n", `\n`) + `"],"jane.roe@example.com":1}}]}`},
	{inspect.AnthropicAnswer, `{"content":[{"type":"thinking","thinking":"[EMAIL_1]","signature":"s"},{"type":"text","text":"[EMAIL_1]"}]}`, `{"content":[{"type":"thinking","thinking":"[EMAIL_1]","signature":"s"},{"type":"text","text":"jane.roe@example.com"}]}`},
	{inspect.AnthropicAnswer, `{"content":[{"type":"text","text":"[EMA"},{"type":"text","text":"IL_1]."}]}`, `{"content":[{"type":"text","text":"jane.roe@example.com"},{"type":"text","text":"."}]}`},
	{inspect.ResponsesAnswer, `{"instructions":"[EMAIL_1]","metadata":{"a":"[EMAIL_1]"},"output_text":"[EMAIL_1]","model":"[EMAIL_1]"}`, `{"instructions":"jane.roe@example.com","metadata":{"a":"jane.roe@example.com"},"output_text":"jane.roe@example.com","model":"[EMAIL_1]"}`},
}

func TestRestore(t *testing.T) {
	r := redacted(t)
	for _, c := range restored {
		if got := inspect.Restore(c.kind, []byte(c.body), r); string(got) != c.want {
			t.Errorf("%s\nbecomes %s\nwant    %s", c.body, got, c.want)
		}
	}
	if got := inspect.Restore(inspect.NativeAnswer, []byte(`{"text":"[EMAIL_7] [x] ["}`), r); got != nil {
		t.Errorf("without a placeholder: %s", got)
	}
}

func TestRestoreLogProbs(t *testing.T) {
	body := `{"choices":[{"message":{"content":"To [EMAIL_1]."},"logprobs":` + logProbs("content", "To ", "[", "EMAIL", "_1", "].") + `}]}`
	var answer struct {
		Choices []struct{ LogProbs json.RawMessage }
	}
	got := inspect.Restore(inspect.OpenAIAnswer, []byte(body), redacted(t))
	if err := json.Unmarshal(got, &answer); err != nil {
		t.Fatal(err)
	}
	if text, blanked := tokensOf(t, string(answer.Choices[0].LogProbs)); text != "To jane.roe@example.com." || blanked != 4 {
		t.Errorf("%q, %d blanked", text, blanked)
	}
}

// TestRestoreIsBounded: if a model repeats the placeholder of a long value, the response grows only up to a limit.
func TestRestoreIsBounded(t *testing.T) {
	body := `{"text":"` + strings.Repeat("[PRIVATE_KEY_1] ", 100_000) + `"}`
	got := inspect.Restore(inspect.NativeAnswer, []byte(body), redacted(t))
	if !json.Valid(got) || len(got) > len(body)+2<<20 || !strings.Contains(string(got), "BEGIN RSA") {
		t.Errorf("%d bytes become %d", len(body), len(got))
	}
}

func response() *chat.Response {
	return &chat.Response{Choices: []chat.Answer{
		{Parts: []chat.Part{
			{Kind: chat.Thinking, Text: `a\u002eb@example.com`},
			{Kind: chat.Text, Text: "Mail jane.roe@exam"},
			{Kind: chat.Text, Text: `ple.com now.`},
			{Kind: chat.ToolCall, Name: "f", Args: `{"to":"jane.roe\u0040example.com","n": 4111111111111111}`},
			{Kind: chat.Refusal, Text: "jane.roe@example.com"},
			{Kind: chat.Redacted, Data: "jane.roe@example.com"},
		}, LogProbs: logProbs("content", tokens...)},
		{Parts: []chat.Part{{Kind: chat.Text, Text: "x"}, {Kind: chat.ToolCall, Args: "{}"}, {Kind: chat.ToolCall, Args: `{"a":"c.d@example.com"}`}}},
	}}
}

func TestResponse(t *testing.T) {
	resp := response()
	r := redacting(t).Response(resp)
	var paths []string
	for _, f := range r.Findings {
		paths = append(paths, f.Path)
	}
	want := "choices[0].message.reasoning_content choices[0].message.content choices[0].message.tool_calls[0].function.arguments " +
		"choices[0].message.tool_calls[0].function.arguments choices[0].message.refusal choices[1].message.tool_calls[1].function.arguments"
	if got := strings.Join(paths, " "); got != want || r.Body != nil || r.Decision != governor.Approve {
		t.Errorf("%s\nwant %s", got, want)
	}
	parts := resp.Choices[0].Parts
	if parts[0].Text != "[EMAIL]" || parts[1].Text != "Mail [EMAIL]" || parts[2].Text != " now." || parts[3].Args != `{"to":"[EMAIL]","n": "[PAYMENT_CARD]"}` ||
		parts[4].Text != "[EMAIL]" || parts[5].Data != email || resp.Choices[1].Parts[2].Args != `{"a":"[EMAIL]"}` || resp.Choices[1].Parts[1].Args != "{}" {
		t.Errorf("%+v", resp.Choices)
	}
	if text, blanked := tokensOf(t, resp.Choices[0].LogProbs); text != "Mail [EMAIL] now." || blanked != 5 {
		t.Errorf("%q, %d blanked", text, blanked)
	}
}

func TestRewrittenThinkingLosesItsSignature(t *testing.T) {
	resp := &chat.Response{Choices: []chat.Answer{{Parts: []chat.Part{
		{Kind: chat.Thinking, Text: email, Signature: "s"}, {Kind: chat.Thinking, Text: "x", Signature: "s"}, {Kind: chat.Text, Text: email},
	}}}}
	r := redacting(t).Response(resp)
	if p := resp.Choices[0].Parts; r.Decision != governor.Approve || p[0].Text != "[EMAIL]" || p[0].Signature != "" || p[1].Signature != "s" {
		t.Errorf("%s, %+v", r.Decision, p)
	}
}

func TestBlockedResponse(t *testing.T) {
	check := &inspect.Check{Policy: policy(t, governor.Block, "personal.email")}
	resp := &chat.Response{Choices: []chat.Answer{{Parts: []chat.Part{{Kind: chat.ToolCall, Args: `{"` + email + `":1}`}, {Kind: chat.Text, Text: email}}}}}
	if r := check.Response(resp); r.Decision != governor.Rejected || len(r.Findings) != 2 || resp.Choices[0].Parts[1].Text != email {
		t.Errorf("%s, %+v", r.Decision, r.Findings)
	}
	resp.Choices[0].Parts = resp.Choices[0].Parts[:1]
	if r := redacting(t).Response(resp); r.Decision != governor.Rejected || r.Findings[0].Action != governor.Block {
		t.Errorf("%s, %+v", r.Decision, r.Findings)
	}
}

func TestRestoreResponse(t *testing.T) {
	resp := &chat.Response{Choices: []chat.Answer{{Parts: []chat.Part{
		{Kind: chat.Thinking, Text: "[EMAIL_1]", Signature: "s"},
		{Kind: chat.Thinking, Text: "[EMAIL_1]"},
		{Kind: chat.Text, Text: `To [EMA\u0049L_`},
		{Kind: chat.Text, Text: "1]."},
		{Kind: chat.ToolCall, Args: `{"k":"[PRIVATE_KEY_1]"}`},
		{Kind: chat.Refusal, Text: "none"},
	}, LogProbs: logProbs("content", "To ", "[EMAIL", "_1", "].")}}}
	inspect.RestoreResponse(resp, redacted(t))
	parts := resp.Choices[0].Parts
	if parts[0].Text != "[EMAIL_1]" || parts[1].Text != email || parts[2].Text+parts[3].Text != "To "+email+"." || parts[5].Text != "none" ||
		parts[4].Args != `{"k":"`+strings.ReplaceAll(pem, "\n", `\n`)+`"}` {
		t.Errorf("%+v", parts)
	}
	if text, _ := tokensOf(t, resp.Choices[0].LogProbs); text != "To "+email+"." {
		t.Errorf("%q", text)
	}
}

// TestRestoreIntoJSON: if a text is JSON, a value is escaped for a JSON string. In a call's arguments, it is escaped
// only once.
func TestRestoreIntoJSON(t *testing.T) {
	r := redacted(t)
	r.JSON = true
	text := `{"key":"[PRIVATE_KEY_1]"}`
	resp := &chat.Response{Choices: []chat.Answer{{Parts: []chat.Part{{Kind: chat.Text, Text: jsontext.Escape(text)}, {Kind: chat.ToolCall, Args: text}}}}}
	inspect.RestoreResponse(resp, r)
	want := strings.Replace(text, "[PRIVATE_KEY_1]", strings.ReplaceAll(pem, "\n", `\n`), 1)
	parts := resp.Choices[0].Parts
	if got := parts[0].Text.Plain(); got != want || parts[1].Args != want {
		t.Errorf("%q, %q", got, parts[1].Args)
	}
}

// TestAnswerSchema: the text of every dialect's response is checked. Responses without text are not.
func TestAnswerSchema(t *testing.T) {
	settings := governor.NewSettings()
	settings.Schema = governor.AnswerSchema{Schema: `{"type":"object","required":["a"]}`, Action: governor.Block}
	check := &inspect.Check{Policy: settings.Policy(), Schema: settings.Schema.Schema}
	for _, c := range []struct {
		kind inspect.Kind
		path string
		body string
	}{
		{inspect.NativeAnswer, "text", `{"text":"«»"}`},
		{inspect.OpenAIAnswer, "choices[1].message.content", `{"choices":[{"message":{"content":null,"tool_calls":[]}},{"message":{"content":"«»"}}]}`},
		{inspect.OpenAIAnswer, "choices[0].message.content", `{"choices":[{"message":{"content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"«»"}]}}]}`},
		{inspect.AnthropicAnswer, "content", `{"content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"«»"},{"type":"text","text":" "}]}`},
		{inspect.ResponsesAnswer, "output", `{"output":[{"type":"reasoning","content":[{"type":"output_text","text":"x"}]},{"type":"message","content":[{"type":"output_text","text":"«»"}]}]}`},
	} {
		if r := check.Answer(c.kind, []byte(strings.Replace(c.body, "«»", `{\"a\":1}`, 1))); r.Decision != governor.Approve || len(r.Findings) > 0 {
			t.Errorf("%s: %s, %+v", c.body, r.Decision, r.Findings)
		}
		for _, wrong := range []string{`{\"b\":1}`, "no JSON", `{\"a\":1} and more`} {
			r := check.Answer(c.kind, []byte(strings.Replace(c.body, "«»", wrong, 1)))
			if r.Decision != governor.Rejected || len(r.Findings) != 1 || r.Findings[0].Rule != governor.RuleSchema || r.Findings[0].Path != c.path || r.Reports[0].Path != c.path {
				t.Errorf("%s of %s: %s, %+v", wrong, c.body, r.Decision, r.Findings)
			}
		}
		if r := check.Answer(c.kind, []byte(strings.Replace(c.body, "«»", "", 1))); c.kind != inspect.AnthropicAnswer && r.Decision != governor.Approve {
			t.Errorf("without text: %s, %+v", r.Decision, r.Findings)
		}
	}
	for text, want := range map[jsontext.Escaped]governor.Decision{`{\"a\":1}`: governor.Approve, `[]`: governor.Rejected} {
		resp := &chat.Response{Choices: []chat.Answer{{Parts: []chat.Part{{Kind: chat.ToolCall, Args: "{}"}}}, {Parts: []chat.Part{{Kind: chat.Text, Text: text}}}}}
		if r := check.Response(resp); r.Decision != want {
			t.Errorf("%s: %s", text, r.Decision)
		}
	}
}
