package inspect

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/governor"
)

// sessionDialect holds the forms of a session's bodies in one dialect. In a message, %s is its text as JSON.
type sessionDialect struct {
	name             string
	request, answers Kind
	body             string // %[1]s stands for the messages, and %[2]s for the session's own metadata
	growing          string // the field with the messages
	fixed            []string
	user, result     string
	assistant        string // the model's message in the history: a text, and a call with arguments
	answer           string // the same as a response
}

var sessionDialects = []sessionDialect{
	{
		"native", NativeRequest, NativeAnswer,
		`{"model":"m","messages":[{"role":"system","content":"ask owner@example.com"},%[1]s],"metadata":{"turn":%[2]s}}`, "messages", nil,
		`{"role":"user","content":%s}`, `{"role":"user","content":%s}`, `{"role":"assistant","content":%s}`, `{"text":%s}`,
	},
	{
		"chat completions", OpenAIRequest, OpenAIAnswer,
		`{"model":"m","messages":[%[1]s],"user":%[2]s,"tools":[{"type":"function","function":{"name":"f","description":"of owner@example.com","parameters":{"type":"object"}}}]}`,
		"messages", []string{"tools"},
		`{"role":"user","content":%s}`, `{"role":"tool","tool_call_id":"c","content":%s}`,
		`{"role":"assistant","content":%[1]s,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":%[2]s}}]}`,
		`{"choices":[{"message":{"role":"assistant","content":%[1]s,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":%[2]s}}]}}]}`,
	},
	{
		"responses", ResponsesRequest, ResponsesAnswer,
		`{"model":"m","input":[%[1]s],"prompt_cache_key":%[2]s,"instructions":"ask owner@example.com","tools":[{"type":"function","name":"f","description":"of tools@example.com"}]}`,
		"input", []string{"instructions", "tools"},
		`{"role":"user","content":[{"type":"input_text","text":%s}]}`, `{"type":"function_call_output","call_id":"c","output":%s}`,
		`{"type":"message","role":"assistant","content":[{"type":"output_text","text":%[1]s}]},{"type":"function_call","call_id":"c","name":"f","arguments":%[2]s}`,
		`{"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":%[1]s}]},{"type":"function_call","call_id":"c","name":"f","arguments":%[2]s}]}`,
	},
	{
		"messages", AnthropicRequest, AnthropicAnswer,
		`{"model":"m","metadata":{"user_id":%[2]s},"messages":[%[1]s],"system":[{"type":"text","text":"ask owner@example.com"}],"tools":[{"name":"f","description":"of tools@example.com","input_schema":{"type":"object"}}]}`,
		"messages", []string{"system", "tools"},
		`{"role":"user","content":%s}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":%s}]}`,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"[EMAIL_3] again","signature":"c2ln"},{"type":"text","text":%[1]s},{"type":"tool_use","id":"c","name":"f","input":%[3]s}]}`,
		`{"content":[{"type":"thinking","thinking":"[EMAIL_3] again","signature":"c2ln"},{"type":"text","text":%[1]s},{"type":"tool_use","id":"c","name":"f","input":%[3]s}]}`,
	},
}

func fill(form, text, arguments string) string {
	quote := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	}
	return strings.NewReplacer("%s", quote(text), "%[1]s", quote(text), "%[2]s", quote(arguments), "%[3]s", arguments).Replace(form)
}

// TestPlaceholdersOfASession: each turn's request begins with the same bytes as the request before. This holds
// wherever new values are: in a message, in a tool's result, in the model's own response, or in metadata.
func TestPlaceholdersOfASession(t *testing.T) {
	for _, d := range sessionDialects {
		history, before := []string{}, map[string]string{}
		turns := [][]string{
			{fill(d.user, "I am jane@example.com", "")},
			{fill(d.result, "found joe@example.com and jane@example.com, [EMAIL_9]", "")},
			{fill(d.result, "cc new@example.com, ann@example.com", ""), fill(d.user, "thank jane@example.com", "")},
		}
		for n, turn := range turns {
			history = append(history, turn...)
			metadata, _ := json.Marshal("of turn@example.com" + strings.Repeat(" and later@example.com", n))
			p := governor.NewPolicy()
			p.Set(governor.Input, emailRule(t), governor.Redact)
			p.Set(governor.Output, emailRule(t), governor.Allow)
			r := &governor.Redactor{Reversible: true}
			c := Check{Policy: p, Redactor: r}
			result := c.Request(d.request, []byte(fmt.Sprintf(d.body, strings.Join(history, ","), metadata)))
			if result.Body == nil || strings.Contains(string(result.Body), "@") {
				t.Fatalf("%s, turn %d: %s", d.name, n, result.Body)
			}
			now := membersOf(t, result.Body)
			for _, name := range d.fixed {
				if n > 0 && now[name] != before[name] {
					t.Errorf("%s, turn %d: %s is %s, was %s", d.name, n, name, now[name], before[name])
				}
			}
			if was := strings.TrimSuffix(before[d.growing], "]"); !strings.HasPrefix(now[d.growing], was) {
				t.Errorf("%s, turn %d:\n%s\ndoes not begin with\n%s", d.name, n, now[d.growing], was)
			}
			before = now
			// The model repeats a placeholder and names an address that is not in the request.
			sent := []byte(fill(d.answer, "to [EMAIL_3], or own"+fmt.Sprint(n)+"@example.com", `{"to":"[EMAIL_3]"}`))
			restored := Restore(d.answers, sent, r)
			if restored == nil || strings.Count(string(restored), "[EMAIL_3]") != strings.Count(d.answer, "[EMAIL_3]") {
				t.Fatalf("%s, turn %d: restored %s", d.name, n, restored)
			}
			text := valueOf(t, r, "[EMAIL_3]")
			history = append(history, fill(d.assistant, "to "+text+", or own"+fmt.Sprint(n)+"@example.com", `{"to":"`+text+`"}`))
		}
	}
}

func emailRule(t *testing.T) governor.ID {
	t.Helper()
	id, ok := governor.Lookup("personal.email")
	if !ok {
		t.Fatal("no rule personal.email")
	}
	return id
}

func valueOf(t *testing.T, r *governor.Redactor, placeholder string) string {
	t.Helper()
	text := string(r.Restore(nil, []byte(placeholder)))
	if text == placeholder {
		t.Fatalf("%s has no value", placeholder)
	}
	return text
}

func membersOf(t *testing.T, body []byte) map[string]string {
	t.Helper()
	raw, all := map[string]json.RawMessage{}, map[string]string{}
	if err := json.Unmarshal(body, &raw); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for name, value := range raw {
		all[name] = string(value)
	}
	return all
}

// TestRoles: system texts and definitions of tools have their own rules. The role may be anywhere in the message.
func TestRoles(t *testing.T) {
	s := governor.NewSettings()
	s.Actions = []governor.RuleActions{{Rule: "personal.email", Input: governor.Block, Output: governor.Flag, System: governor.OverrideBy(governor.Redact)}}
	s.Lists = []governor.KeywordList{{Name: "words", Input: governor.Allow, Output: governor.Allow, System: governor.OverrideBy(governor.Flag), Words: []string{"bluebird"}}}
	const system, user, word = "[EMAIL]", "blocked", "bluebird "
	for _, c := range []struct {
		kind Kind
		body string
		want string
	}{
		{OpenAIRequest, `{"messages":[{"role":"system","content":"@"}]}`, system},
		{OpenAIRequest, `{"messages":[{"content":[{"type":"text","text":"@"}],"role":"developer"},{"role":"user","content":"hi"}]}`, system},
		{OpenAIRequest, `{"messages":[{"name":"\"role\":\"system","content":{"role":"system"},"role":"\u0073ystem","a":"@"}]}`, system},
		{OpenAIRequest, `{"messages":[{"role":"user","content":[{"role":"system","text":"@"}]}]}`, user},
		{OpenAIRequest, `{"messages":[{"role":"system","content":"hi"},{"role":"user","content":"@"}]}`, user},
		{OpenAIRequest, `{"messages":[{"role":"system","content":"hi"},{"role":"tool","content":"@"}]}`, user},
		{OpenAIRequest, `{"messages":[{"role":"system","content":"hi"},{"role":"assistant","content":"@"}]}`, user},
		{OpenAIRequest, `{"messages":[{"role":["system"],"content":"@"}]}`, user},
		{OpenAIRequest, `{"messages":[{"content":"@"}]}`, user},
		{OpenAIRequest, `{"tools":[{"function":{"description":"@"}}],"messages":[]}`, system},
		{OpenAIRequest, `{"tools":[{"function":{"parameters":{"a":"@"}}}]}`, system},
		{OpenAIRequest, `{"functions":[{"description":"@"}]}`, system},
		{OpenAIRequest, `{"tools":[],"user":"@"}`, user},
		{OpenAIRequest, `{"user":{"tools":"@"}}`, user},
		{NativeRequest, `{"messages":[{"role":"system","content":"@"}]}`, system},
		{NativeRequest, `{"messages":[{"role":"user","content":"@"}]}`, user},
		{AnthropicRequest, `{"messages":[],"system":[{"type":"text","text":"@"}]}`, system},
		{AnthropicRequest, `{"system":"hi","messages":[{"role":"user","content":[{"type":"tool_result","content":"@"}]}]}`, user},
		{AnthropicRequest, `{"messages":[{"role":"user","content":"hi"}],"tools":[{"input_schema":{"a":"@"}}]}`, system},
		{ResponsesRequest, `{"instructions":"@"}`, system},
		{ResponsesRequest, `{"input":"@"}`, user},
		{ResponsesRequest, `{"input":[{"type":"message","role":"developer","content":[{"type":"input_text","text":"@"}]}]}`, system},
		{ResponsesRequest, `{"input":[{"role":"system","text":"hi "},{"role":"user","text":"@"}]}`, user},
		{ResponsesRequest, `{"input":[{"role":"user","text":"hi "},{"role":"system","text":"@"}]}`, system},
		{ResponsesRequest, `{"input":[{"type":"function_call_output","output":"@"}]}`, user},
		{EmbeddingsRequest, `{"input":["@"]}`, user},
	} {
		check := Check{Policy: s.Policy()}
		result := check.Request(c.kind, []byte(strings.Replace(c.body, `@`, word+"jane@example.com", 1)))
		got := user
		if result.Decision != governor.Rejected {
			got = system
			if !strings.Contains(string(result.Body), word+system) || result.Tally.Risk != 5 {
				t.Errorf("%s: %s %+v", c.body, result.Body, result.Findings)
			}
		} else if result.Tally.Risk != 5 {
			t.Errorf("%s: %+v", c.body, result.Findings)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.body, got, c.want)
		}
	}
}

// TestExemptedRequest: an exempted text is not a finding. It stays in a body in which other findings are redacted.
func TestExemptedRequest(t *testing.T) {
	s := governor.NewSettings()
	s.Actions = []governor.RuleActions{{Rule: "personal.email", Input: governor.Redact, Output: governor.Flag}}
	check := Check{Policy: s.Policy()}
	result := check.Request(AnthropicRequest, []byte(`{"system":"sign <NoReply@anthropic\u002ecom>","messages":[{"role":"user","content":[{"text":"noreply@"},{"text":"anthropic.com x@anthropic.com"}]}]}`))
	const want = `{"system":"sign <NoReply@anthropic\u002ecom>","messages":[{"role":"user","content":[{"text":"noreply@"},{"text":"anthropic.com [EMAIL]"}]}]}`
	if string(result.Body) != want || len(result.Findings) != 1 || result.Tally.Total != 1 || len(result.Reports) != 1 {
		t.Errorf("%s %+v", result.Body, result.Findings)
	}
}
