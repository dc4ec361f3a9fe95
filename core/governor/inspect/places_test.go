package inspect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/jsontext"
)

// email replaces «» in the bodies of the tests.
const email = "jane.roe@example.com"

func policy(t testing.TB, a governor.Action, rules ...string) *governor.Policy {
	t.Helper()
	p := governor.NewPolicy()
	for _, name := range rules {
		id, ok := governor.Lookup(name)
		if !ok {
			t.Fatalf("no rule %s", name)
		}
		p.Set(governor.Input, id, a)
		p.Set(governor.Output, id, a)
	}
	return p
}

func redacting(t testing.TB) *inspect.Check {
	return &inspect.Check{
		Policy: policy(t, governor.Redact, "personal.email", "personal.payment-card"), Redactor: &governor.Redactor{Reversible: true}, Key: func() []byte { return []byte("key") },
	}
}

func run(c *inspect.Check, kind inspect.Kind, body string) inspect.Result {
	if kind >= inspect.NativeAnswer {
		return c.Answer(kind, []byte(body))
	}
	return c.Request(kind, []byte(body))
}

func placeholder(kind inspect.Kind) string {
	if kind >= inspect.NativeAnswer {
		return "[EMAIL]"
	}
	return "[EMAIL_1]"
}

// checked lists bodies with a finding in every place where texts are checked. «» is the finding.
var checked = []struct {
	kind inspect.Kind
	path string
	body string
}{
	{inspect.NativeRequest, "messages[1].content", `{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"To «»."}]}`},
	{inspect.OpenAIRequest, "messages[0].content", `{"model":"m","messages":[{"role":"system","content":"«»"}]}`},
	{inspect.OpenAIRequest, "messages[0].content", `{"messages":[{"role":"developer","content":"é «»"}]}`},
	{inspect.OpenAIRequest, "messages[0].content[1].text", `{"messages":[{"content":[{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"«»"}]}]}`},
	{inspect.OpenAIRequest, "messages[0].content[0].text", `{"messages":[{"content":[{"text":"«»","type":"text"}]}]}`},
	{inspect.OpenAIRequest, "messages[0].content[0].refusal", `{"messages":[{"content":[{"type":"refusal","refusal":"«»"}]}]}`},
	{inspect.OpenAIRequest, "messages[0].refusal", `{"messages":[{"refusal":"«»"}]}`},
	{inspect.OpenAIRequest, "messages[0].reasoning_content", `{"messages":[{"reasoning_content":"«»"}]}`},
	{inspect.OpenAIRequest, "messages[0].name", `{"messages":[{"role":"user","name":"«»","content":"x"}]}`},
	{inspect.OpenAIRequest, "messages[2].content", `{"messages":[{},{},{"role":"tool","tool_call_id":"c","content":"{\"to\":\"«»\"}"}]}`},
	{inspect.OpenAIRequest, "messages[0].tool_calls[0].function.arguments", `{"messages":[{"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"to\":[\"«»\"]}"}}]}]}`},
	{inspect.OpenAIRequest, "messages[0].tool_calls[0].function.arguments", `{"messages":[{"tool_calls":[{"function":{"arguments":"to «»"}}]}]}`},
	{inspect.OpenAIRequest, "messages[0].tool_calls[0].function.arguments", `{"messages":[{"tool_calls":[{"function":{"arguments":" {\"cut off\":\"«»"}}]}]}`},
	{inspect.OpenAIRequest, "messages[0].tool_calls[0].custom.input", `{"messages":[{"tool_calls":[{"type":"custom","custom":{"name":"f","input":"«»"}}]}]}`},
	{inspect.OpenAIRequest, "messages[0].function_call.arguments", `{"messages":[{"function_call":{"name":"f","arguments":"{\"to\":\"«»\"}"}}]}`},
	{inspect.OpenAIRequest, "tools[0].function.description", `{"tools":[{"type":"function","function":{"description":"«»"}}]}`},
	{inspect.OpenAIRequest, "tools[0].function.parameters", `{"tools":[{"function":{"parameters":{"type":"object","properties":{"a":{"description":"«»"}}}}}]}`},
	{inspect.OpenAIRequest, "tools[0].custom.format.definition", `{"tools":[{"type":"custom","custom":{"format":{"type":"grammar","definition":"«»"}}}]}`},
	{inspect.OpenAIRequest, "functions[0].parameters", `{"functions":[{"parameters":{"properties":{"a":{"enum":["«»"]}}}}]}`},
	{inspect.OpenAIRequest, "response_format.json_schema.schema", `{"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"description":"«»"}}}}`},
	{inspect.OpenAIRequest, "response_format.json_schema.description", `{"response_format":{"json_schema":{"description":"«»"}}}`},
	{inspect.OpenAIRequest, "prediction.content[0].text", `{"prediction":{"type":"content","content":[{"type":"text","text":"«»"}]}}`},
	{inspect.OpenAIRequest, "stop[1]", `{"stop":["x","«»"]}`},
	{inspect.OpenAIRequest, "user", `{"user":"«»"}`},
	{inspect.OpenAIRequest, "metadata", `{"metadata":{"type":"«»"}}`},
	{inspect.OpenAIRequest, "new_member.of_a_provider[0].note", `{"new_member":{"of_a_provider":[{"note":"«»"}]}}`},
	{inspect.OpenAIRequest, "*.note", `{"Jane Roe":{"note":"«»"}}`},
	{inspect.OpenAIRequest, "messages[0].content", "{\n \"messages\" : [ {\t\"content\" :\r\n \"«»\" } ] }"},
	{inspect.OpenAIRequest, "messages[0].content[0].file.file_data", ``}, // see TestTextFiles
	{inspect.OpenAIRequest, "messages[0].content[0].data", `{"messages":[{"content":[{"type":"note","data":"«»"}]}]}`},
	{inspect.ResponsesRequest, "instructions", `{"instructions":"«»"}`},
	{inspect.ResponsesRequest, "input", `{"input":"«»"}`},
	{inspect.ResponsesRequest, "input[1].content[0].text", `{"input":[{"type":"item_reference","id":"i"},{"type":"message","role":"user","content":[{"type":"input_text","text":"«»"}]}]}`},
	{inspect.ResponsesRequest, "input[0].content", `{"input":[{"role":"user","content":"«»"}]}`},
	{inspect.ResponsesRequest, "input[0].arguments", `{"input":[{"type":"function_call","arguments":"{\"a\":{\"b\":\"«»\"}}"}]}`},
	{inspect.ResponsesRequest, "input[0].output", `{"input":[{"type":"function_call_output","output":"«»"}]}`},
	{inspect.ResponsesRequest, "input[0].output[0].text", `{"input":[{"type":"function_call_output","output":[{"type":"input_text","text":"«»"}]}]}`},
	{inspect.ResponsesRequest, "input[0].input", `{"input":[{"type":"custom_tool_call","input":"«»"}]}`},
	{inspect.ResponsesRequest, "input[0].summary[0].text", `{"input":[{"type":"reasoning","encrypted_content":"x","summary":[{"type":"summary_text","text":"«»"}]}]}`},
	{inspect.ResponsesRequest, "prompt.variables.city", `{"prompt":{"id":"p","variables":{"city":"«»"}}}`},
	{inspect.ResponsesRequest, "prompt.variables.city.text", `{"prompt":{"variables":{"city":{"type":"input_text","text":"«»"}}}}`},
	{inspect.ResponsesRequest, "text.format.schema", `{"text":{"format":{"type":"json_schema","schema":{"properties":{"a":{"description":"«»"}}}}}}`},
	{inspect.ResponsesRequest, "tools[0].parameters", `{"tools":[{"type":"function","parameters":{"description":"«»"}}]}`},
	{inspect.ResponsesRequest, "tools[0].server_description", `{"tools":[{"type":"mcp","server_description":"«»"}]}`},
	{inspect.AnthropicRequest, "system", `{"system":"«»"}`},
	{inspect.AnthropicRequest, "system[1].text", `{"system":[{"type":"text","text":"x "},{"type":"text","text":"«»","cache_control":{"type":"ephemeral"}}]}`},
	{inspect.AnthropicRequest, "messages[0].content[0].input", `{"messages":[{"content":[{"type":"tool_use","id":"t","name":"f","input":{"to":{"deep":["«»"]}}}]}]}`},
	{inspect.AnthropicRequest, "messages[0].content[0].content", `{"messages":[{"content":[{"type":"tool_result","content":"«»"}]}]}`},
	{inspect.AnthropicRequest, "messages[0].content[0].content[1].text", `{"messages":[{"content":[{"type":"tool_result","content":[{"type":"image","source":{"type":"url","url":"u"}},{"type":"text","text":"«»"}]}]}]}`},
	{inspect.AnthropicRequest, "messages[0].content[0].thinking", `{"messages":[{"content":[{"type":"thinking","thinking":"«»","signature":""}]}]}`},
	{inspect.AnthropicRequest, "messages[0].content[0].source.data", `{"messages":[{"content":[{"type":"document","source":{"data":"«»","type":"text","media_type":"text/plain"}}]}]}`},
	{inspect.AnthropicRequest, "messages[0].content[0].source.content[0].text", `{"messages":[{"content":[{"type":"document","source":{"type":"content","content":[{"type":"text","text":"«»"}]}}]}]}`},
	{inspect.AnthropicRequest, "messages[0].content[0].source.content", `{"messages":[{"content":[{"type":"document","source":{"type":"content","content":"«»"}}]}]}`},
	{inspect.AnthropicRequest, "messages[0].content[0].title", `{"messages":[{"content":[{"type":"document","title":"«»","source":{"type":"text","data":"x"}}]}]}`},
	{inspect.AnthropicRequest, "messages[0].content[0].source", `{"messages":[{"content":[{"type":"search_result","source":"«»","content":[{"type":"text","text":"x"}]}]}]}`},
	{inspect.AnthropicRequest, "messages[0].content[0].citations[0].cited_text", `{"messages":[{"content":[{"type":"text","text":"x","citations":[{"cited_text":"«»"}]}]}]}`},
	{inspect.AnthropicRequest, "tools[0].input_schema", `{"tools":[{"name":"f","input_schema":{"properties":{"a":{"default":"«»"}}}}]}`},
	{inspect.AnthropicRequest, "output_config.format.schema", `{"output_config":{"format":{"type":"json_schema","schema":{"description":"«»"}}}}`},
	{inspect.AnthropicRequest, "metadata", `{"metadata":{"user_id":"«»"}}`},
	{inspect.EmbeddingsRequest, "input", `{"input":"«»"}`},
	{inspect.EmbeddingsRequest, "input[1]", `{"model":"m","input":["x","«»"]}`},
	{inspect.NativeAnswer, "text", `{"text":"«»","provider":"p","usage":{"promptTokens":12345678}}`},
	{inspect.OpenAIAnswer, "choices[0].message.content", `{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"«»"}}]}`},
	{inspect.OpenAIAnswer, "choices[1].message.refusal", `{"choices":[{"message":{"content":"x"}},{"message":{"refusal":"«»"}}]}`},
	{inspect.OpenAIAnswer, "choices[0].message.reasoning", `{"choices":[{"message":{"reasoning":"«»"}}]}`},
	{inspect.OpenAIAnswer, "choices[0].message.tool_calls[0].function.arguments", `{"choices":[{"message":{"content":null,"tool_calls":[{"function":{"arguments":"{\"to\":\"«»\"}"}}]}}]}`},
	{inspect.OpenAIAnswer, "choices[0].message.audio.transcript", `{"choices":[{"message":{"audio":{"id":"a","data":"AAAA","transcript":"«»"}}}]}`},
	{inspect.OpenAIAnswer, "choices[0].message.annotations[0].url_citation.url", `{"choices":[{"message":{"annotations":[{"type":"url_citation","url_citation":{"url":"https://x.example/?m=«»"}}]}}]}`},
	{inspect.ResponsesAnswer, "output[0].content[0].text", `{"output":[{"type":"message","content":[{"type":"output_text","text":"«»","annotations":[]}]}]}`},
	{inspect.ResponsesAnswer, "output[0].arguments", `{"output":[{"type":"function_call","arguments":"{\"to\":\"«»\"}"}]}`},
	{inspect.ResponsesAnswer, "output[0].content[0].refusal", `{"output":[{"content":[{"type":"refusal","refusal":"«»"}]}]}`},
	{inspect.ResponsesAnswer, "output[0].summary[0].text", `{"output":[{"type":"reasoning","summary":[{"text":"«»"}]}]}`},
	{inspect.ResponsesAnswer, "output[0].action.query", `{"output":[{"type":"web_search_call","action":{"type":"search","query":"«»"}}]}`},
	{inspect.AnthropicAnswer, "content[1].text", `{"content":[{"type":"thinking","thinking":"x","signature":"s"},{"type":"text","text":"«»"}]}`},
	{inspect.AnthropicAnswer, "content[0].input", `{"content":[{"type":"tool_use","input":{"to":"«»"}}]}`},
	{inspect.AnthropicAnswer, "content[0].content[0].title", `{"content":[{"type":"web_search_tool_result","content":[{"type":"web_search_result","encrypted_content":"x","title":"«»"}]}]}`},
}

func spellings() map[string]string {
	var all strings.Builder
	for _, c := range email {
		all.WriteString(`\u00`)
		all.WriteByte("0123456789abcdef"[c>>4])
		all.WriteByte("0123456789ABCDEF"[c&15])
	}
	return map[string]string{
		"plain": email, "one escape": strings.Replace(email, "@", `\u0040`, 1), "first": strings.Replace(email, "j", `\u006a`, 1), "all": all.String(),
	}
}

func TestTextsAreChecked(t *testing.T) {
	for _, c := range checked {
		if c.body == "" {
			continue
		}
		for how, spelled := range spellings() {
			body := strings.Replace(c.body, "«»", spelled, 1)
			want := strings.Replace(c.body, "«»", placeholder(c.kind), 1)
			r := run(redacting(t), c.kind, body)
			if len(r.Findings) != 1 || r.Findings[0].Path != c.path || r.Findings[0].Action != governor.Redact || r.Findings[0].End-r.Findings[0].Start != len(email) {
				t.Errorf("%s: %s\nfinds %+v\nwant one at %s", how, body, r.Findings, c.path)
			}
			if string(r.Body) != want {
				t.Errorf("%s: %s\nbecomes %s", how, body, r.Body)
			}
			if len(r.Reports) != 1 || r.Reports[0].Path != c.path || r.Reports[0].Count != 1 || r.Reports[0].Excerpt != "om" || len(r.Reports[0].MAC) != 64 {
				t.Errorf("%s: %s\nreports %+v", how, body, r.Reports)
			}
		}
	}
}

// TestArgumentsAreDecodedTwice escapes the finding in the string, in the document inside the string, and in both.
func TestArgumentsAreDecodedTwice(t *testing.T) {
	for _, c := range checked {
		if !strings.Contains(c.body, `\"«»`) || !strings.HasSuffix(c.path, "arguments") {
			continue
		}
		for how, spelled := range map[string]string{
			"inner":             strings.Replace(email, "@", `\\u0040`, 1),
			"backslash spelled": strings.Replace(email, "@", `\u005cu0040`, 1),
			"digits spelled":    strings.Replace(email, "@", `\\\u00750\u003040`, 1),
			"outer":             strings.Replace(email, "@", `\u0040`, 1),
		} {
			r := run(redacting(t), c.kind, strings.Replace(c.body, "«»", spelled, 1))
			if want := strings.Replace(c.body, "«»", placeholder(c.kind), 1); string(r.Body) != want {
				t.Errorf("%s: %s becomes %s, %+v", how, spelled, r.Body, r.Findings)
			}
		}
	}
}

// skipped lists bodies with strings that are not texts. An email address in place of «» is not a finding in those
// strings.
var skipped = []struct {
	kind inspect.Kind
	body string
}{
	{inspect.OpenAIRequest, `{"model":"«»"}`},
	{inspect.OpenAIRequest, `{"m\u006fdel":"«»"}`},
	{inspect.OpenAIRequest, `{"messages":[{"role":"«»"}]}`},
	{inspect.OpenAIRequest, `{"messages":[{"content":[{"type":"«»"}]}]}`},
	{inspect.OpenAIRequest, `{"messages":[{"tool_call_id":"«»"}]}`},
	{inspect.OpenAIRequest, `{"messages":[{"content":[{"type":"image_url","image_url":{"url":"https://x.example/«»"}}]}]}`},
	{inspect.OpenAIRequest, `{"messages":[{"content":[{"type":"image_url","image_url":"«»"}]}]}`},
	{inspect.OpenAIRequest, `{"messages":[{"content":[{"type":"input_audio","input_audio":{"data":"«»","format":"wav"}}]}]}`},
	{inspect.OpenAIRequest, `{"messages":[{"content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,«»"}}]}]}`},
	{inspect.ResponsesRequest, `{"input":[{"type":"reasoning","encrypted_content":"«»"}]}`},
	{inspect.ResponsesRequest, `{"tools":[{"type":"mcp","server_label":"s","headers":{"authorization":"«»"},"authorization":"«»"}]}`},
	{inspect.ResponsesRequest, `{"previous_response_id":"«»"}`},
	{inspect.AnthropicRequest, `{"messages":[{"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"«»"}}]}]}`},
	{inspect.AnthropicRequest, `{"messages":[{"content":[{"type":"image","source":{"data":"«»","media_type":"«»","type":"base64"}}]}]}`},
	{inspect.AnthropicRequest, `{"messages":[{"content":[{"type":"document","source":{"type":"url","url":"«»"}}]}]}`},
	{inspect.AnthropicRequest, `{"messages":[{"content":[{"type":"redacted_thinking","data":"«»"}]}]}`},
	{inspect.AnthropicRequest, `{"messages":[{"content":[{"type":"thinking","thinking":"x","signature":"«»"}]}]}`},
	{inspect.ResponsesAnswer, `{"instructions":"«»","tools":[{"description":"«»"}],"metadata":{"a":"«»"},"output":[]}`},
	{inspect.ResponsesAnswer, `{"output":[{"type":"image_generation_call","result":"«»"}]}`},
	{inspect.AnthropicAnswer, `{"content":[{"type":"web_search_tool_result","content":[{"encrypted_content":"«»"}]}]}`},
}

func TestOtherStringsAreNot(t *testing.T) {
	for _, c := range skipped {
		if r := run(redacting(t), c.kind, strings.ReplaceAll(c.body, "«»", email)); len(r.Findings) != 0 || r.Body != nil {
			t.Errorf("%s: %+v", c.body, r.Findings)
		}
	}
}

// unread lists bodies with content that cannot be read.
var unread = []struct {
	kind inspect.Kind
	want string
	path string
	body string
}{
	{inspect.OpenAIRequest, "image", "messages[0].content[0]", `{"messages":[{"content":[{"type":"image_url","image_url":{"url":"u"}}]}]}`},
	{inspect.OpenAIRequest, "audio", "messages[0].content[0]", `{"messages":[{"content":[{"type":"input_audio","input_audio":{"data":"AA","format":"wav"}}]}]}`},
	{inspect.OpenAIRequest, "audio", "messages[0].audio", `{"messages":[{"role":"assistant","audio":{"id":"a"}}]}`},
	{inspect.OpenAIRequest, "file", "messages[0].content[0]", `{"messages":[{"content":[{"type":"file","file":{"file_id":"f"}}]}]}`},
	{inspect.OpenAIRequest, "file", "messages[0].content[0]", `{"messages":[{"content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,AAAA"}}]}]}`},
	{inspect.ResponsesRequest, "image", "input[0].content[0]", `{"input":[{"content":[{"type":"input_image","image_url":"u"}]}]}`},
	{inspect.ResponsesRequest, "file", "input[0].content[0]", `{"input":[{"content":[{"type":"input_file","file_id":"f"}]}]}`},
	{inspect.ResponsesRequest, "image", "input[0].output", `{"input":[{"type":"computer_call_output","output":{"type":"computer_screenshot","image_url":"u"}}]}`},
	{inspect.AnthropicRequest, "image", "messages[0].content[0]", `{"messages":[{"content":[{"type":"image","source":{"type":"base64","data":"AA"}}]}]}`},
	{inspect.AnthropicRequest, "image", "messages[0].content[0]", `{"messages":[{"content":[{"source":{"file_id":"f","type":"file"},"type":"image"}]}]}`},
	{inspect.AnthropicRequest, "file", "messages[0].content[0]", `{"messages":[{"content":[{"type":"document","source":{"type":"base64","data":"AA"}}]}]}`},
	{inspect.AnthropicRequest, "file", "messages[0].content[0]", `{"messages":[{"content":[{"type":"document","source":{"type":"url","url":"u"}}]}]}`},
	{inspect.AnthropicRequest, "file", "messages[0].content[0]", `{"messages":[{"content":[{"type":"document","source":{"type":"file","file_id":"f"}}]}]}`},
	{inspect.AnthropicRequest, "file", "messages[0].content[0]", `{"messages":[{"content":[{"type":"container_upload","file_id":"f"}]}]}`},
	{inspect.AnthropicRequest, "image", "messages[0].content[0].content[0]", `{"messages":[{"content":[{"type":"tool_result","content":[{"type":"image","source":{"type":"url","url":"u"}}]}]}]}`},
	{inspect.EmbeddingsRequest, "tokens", "input", `{"input":[1,2,3]}`},
	{inspect.EmbeddingsRequest, "tokens", "input[0]", `{"input":[[1,2,3]]}`},
	{inspect.OpenAIAnswer, "audio", "choices[0].message.audio", `{"choices":[{"message":{"audio":{"id":"a","data":"AAAA","transcript":"x"}}}]}`},
	{inspect.ResponsesAnswer, "image", "output[0]", `{"output":[{"type":"image_generation_call","result":"AAAA"}]}`},
}

func TestUnreadableContent(t *testing.T) {
	for _, c := range unread {
		r := run(redacting(t), c.kind, c.body)
		if !slices.Equal(r.Unchecked, []string{c.want}) || r.Decision != governor.Approve || len(r.Findings) > 0 {
			t.Errorf("%s: unchecked %v, %s, %+v", c.body, r.Unchecked, r.Decision, r.Findings)
		}
		settings := governor.NewSettings()
		settings.BlockUnchecked = true
		r = run(&inspect.Check{Policy: settings.Policy()}, c.kind, c.body)
		if r.Decision != governor.Rejected || len(r.Findings) != 1 || r.Findings[0].Rule != governor.RuleUnchecked || r.Findings[0].Path != c.path {
			t.Errorf("%s: %s, %+v; want one at %s", c.body, r.Decision, r.Findings, c.path)
		}
	}
}

// TestReadableContent: content that can be read is not reported as unchecked.
func TestReadableContent(t *testing.T) {
	settings := governor.NewSettings()
	settings.BlockUnchecked = true
	check := &inspect.Check{Policy: settings.Policy()}
	bodies := []string{
		`{"audio":{"voice":"alloy","format":"wav"},"modalities":["text","audio"]}`,
		`{"prompt":"x","input":["1","2"],"logit_bias":{"50256":-100}}`,
		`{"messages":[{"content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"}}]}]}`,
		`{"messages":[{"content":[{"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain;base64,eA=="}}]}]}`,
	}
	for _, c := range checked {
		if strings.Contains(c.body, "image") || strings.Contains(c.body, `"AAAA"`) {
			continue
		}
		bodies = append(bodies, c.body)
	}
	for _, body := range bodies {
		if r := check.Request(inspect.OpenAIRequest, []byte(body)); len(r.Unchecked) > 0 || r.Decision != governor.Approve {
			t.Errorf("%s: unchecked %v", body, r.Unchecked)
		}
	}
}

// TestTextFiles: a file part with text in base64 is read, but cannot be rewritten.
func TestTextFiles(t *testing.T) {
	for _, data := range []string{
		"data:text/plain;base64,amFuZS5yb2VAZXhhbXBsZS5jb20=",
		`data:text\/plain;charset=utf-8;base64,bWFpbCBqYW5lLnJvZUBleGFtcGxlLmNvbQ==`,
		"data:application/json;base64,eyJhIjoiamFuZS5yb2VAZXhhbXBsZS5jb20ifQ",
	} {
		for path, body := range map[string]string{
			"messages[0].content[0].file.file_data": `{"messages":[{"content":[{"type":"file","file":{"file_data":"` + data + `"}}]}]}`,
			"input[0].content[0].file_data":         `{"input":[{"content":[{"type":"input_file","file_data":"` + data + `"}]}]}`,
		} {
			r := run(redacting(t), inspect.OpenAIRequest, body)
			if len(r.Findings) != 1 || r.Findings[0].Path != path || r.Findings[0].Action != governor.Block || r.Decision != governor.Rejected || r.Unchecked != nil {
				t.Errorf("%s: %+v, %s, unchecked %v", body, r.Findings, r.Decision, r.Unchecked)
			}
		}
	}
}

// TestBodiesAreValid checks that the tables above contain valid JSON.
func TestBodiesAreValid(t *testing.T) {
	for _, c := range checked {
		if c.body != "" && jsontext.Check([]byte(c.body)) != jsontext.OK {
			t.Errorf("invalid: %s", c.body)
		}
	}
	for _, c := range skipped {
		if jsontext.Check([]byte(c.body)) != jsontext.OK {
			t.Errorf("invalid: %s", c.body)
		}
	}
}
