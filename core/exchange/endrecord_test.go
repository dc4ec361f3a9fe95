package exchange_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// recorded contains the fields of a record's body that the tests read.
type recorded struct {
	User, FinishReason, UserAgent string
	Details, Attempts             []map[string]any
	Governor                      struct{ Rules []string }
}

// endingOf runs a request that is not served, and returns the body of its record.
func endingOf(t *testing.T, r request) (body recorded) {
	t.Helper()
	h := r.run(t)
	record := exchange.Ending(h.config, h.State)
	if err := json.Unmarshal(record.Body, &body); err != nil {
		t.Fatalf("%v: %s", err, record.Body)
	}
	if len(record.Body) > ledger.MaxRecordBytes {
		t.Errorf("the record has %d bytes: %s", len(record.Body), record.Body)
	}
	return body
}

const hello = `"messages":[{"role":"user","content":"Hello"}]`

// TestRecordedUser: for each API, a record names the end user if the value looks like an ID.
func TestRecordedUser(t *testing.T) {
	limited := []*keymeter.AdmitReply{{Verdict: keymeter.RateLimited, RetryMs: 1000}}
	for _, c := range []struct{ path, body, want string }{
		{"/v1/chat/completions", `{"model":"gpt",` + hello + `,"user":"user-17"}`, "user-17"},
		{"/v1/chat/completions", `{"model":"gpt",` + hello + `,"user":"user-17","safety_identifier":"h4sh"}`, "h4sh"},
		{"/v1/chat/completions", `{"model":"gpt","messages":"none","user":"user-17"}`, "user-17"},
		{"/v1/chat/completions", `{"model":"nobody-has-it",` + hello + `,"user":"user-17"}`, "user-17"},
		{"/v1/chat/completions", `{"model":"gpt",` + hello + `,"user":"jane.doe@example.com"}`, "jane.doe@example.com"},
		{"/v1/chat/completions", `{"model":"gpt",` + hello + `,"user":"3f2504e0-4f89-41d3-9a0c-0305e82c3301"}`, "3f2504e0-4f89-41d3-9a0c-0305e82c3301"},
		{"/v1/chat/completions", `{"model":"gpt",` + hello + `,"user":"` + strings.Repeat("0f9a", 16) + `"}`, strings.Repeat("0f9a", 16)},
		{"/v1/chat/completions", `{"model":"gpt",` + hello + `,"user":"a\"b\\c"}`, `a"b\c`},
		{"/v1/chat/completions", `{"model":"gpt",` + hello + `,"user":"` + strings.Repeat("0f9a", 16) + `0"}`, ""},
		{"/v1/chat/completions", `{"model":"gpt",` + hello + `,"user":"Jane Doe"}`, ""},
		{"/v1/chat/completions", `{"model":"gpt",` + hello + `,"user":"Zoë"}`, ""},
		{"/v1/chat/completions", `{"model":"gpt",` + hello + `,"user":"a\nb"}`, ""},
		{"/v1/chat/completions", `{"model":"gpt",` + hello + `,"user":"AKIAQYLPMN5HHHFPZAM2"}`, ""},
		{"/v1/chat/completions", `{"model":"gpt",` + hello + `,"safety_identifier":{"a":1}}`, ""},
		{"/v1/chat/completions", `{"model":"gpt",` + hello + `}`, ""},
		{"/v1/messages", `{"model":"gpt","max_tokens":9,` + hello + `,"metadata":{"user_id":"user-17"}}`, "user-17"},
		{"/v1/responses", `{"model":"gpt","input":"Hello","user":"user-17"}`, "user-17"},
		{"/v1/responses", `{"model":"gpt","input":"Hello","safety_identifier":"h4sh"}`, "h4sh"},
		{"/v1/embeddings", `{"model":"vectors","input":"Hello","user":"user-17"}`, "user-17"},
		{"/api/ai/chat", `{` + hello + `}`, ""},
	} {
		got := endingOf(t, request{path: c.path, body: c.body, verdicts: limited})
		equal(t, c.path+" "+c.body, got.User, c.want)
	}
}

// TestGovernedUser: if the Governor finds anything in an end user's ID, the record does not name the user.
func TestGovernedUser(t *testing.T) {
	for _, action := range []governor.Action{governor.Flag, governor.Redact, governor.Block} {
		for user, want := range map[string]string{"jane.doe@example.com": "", "user-17": "user-17"} {
			s := governor.NewSettings()
			s.Enabled, s.Reversible = true, true
			s.Actions = []governor.RuleActions{{Rule: "personal.email", Input: action, Output: governor.Flag}}
			got := endingOf(t, request{
				path: "/v1/chat/completions", overlay: governedOverlay, policy: &doc.Policy{Version: 2, Governor: s.Encode()},
				record:   func(r *doc.Record) { r.Plan = "governed" },
				body:     `{"model":"gpt","messages":[{"role":"user","content":"Write to john@example.net"}],"user":"` + user + `"}`,
				verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.RateLimited, RetryMs: 1000}},
			})
			equal(t, action.String()+" "+user, got.User, want)
		}
	}
}

// TestRecordedFinishReason: a record has the finish reason of the last response that named one.
func TestRecordedFinishReason(t *testing.T) {
	stream := func(chunks ...string) request {
		return request{path: "/v1/chat/completions", body: streamRequest, provider: [][]abi.Event{streamEvents(chunks...)}}
	}
	notJSON := wholeResponse(200, strings.Replace(openaiResponse, `"stop"`, `"end_of_everything"`, 1))
	for name, c := range map[string]struct {
		request
		want string
	}{
		"cut":            {stream(greeting, chunk(`{}`, `"length"`), "data: {\n\n"), "length"},
		"calls":          {stream(greeting, chunk(`{}`, `"tool_calls"`), "data: {\n\n"), "tool_calls"},
		"filter":         {stream(greeting, chunk(`{}`, `"content_filter"`), "data: {\n\n"), "content_filter"},
		"not told":       {stream(greeting, "data: {\n\n"), ""},
		"no word":        {request{path: "/api/ai/complete", body: `{"model":"gpt","mode":"json",` + hello + `}`, provider: [][]abi.Event{notJSON, notJSON}}, "stop"},
		"not dispatched": {request{path: "/v1/chat/completions", body: "{}"}, ""},
	} {
		equal(t, name, endingOf(t, c.request).FinishReason, c.want)
	}
}

// TestRecordedRules: a record names the violated rules, whether the request or the response violated them.
func TestRecordedRules(t *testing.T) {
	s := governor.NewSettings()
	s.Enabled = true
	for _, rule := range []string{"personal", "secret"} {
		s.Actions = append(s.Actions, governor.RuleActions{Rule: rule, Input: governor.Block, Output: governor.Block})
	}
	policy, governed := &doc.Policy{Version: 2, Governor: s.Encode()}, func(r *doc.Record) { r.Plan = "governed" }
	leaks := strings.Replace(openaiResponse, "Hello!", "Use AKIAQYLPMN5HHHFPZAM2", 1)
	leaking := []string{chunk(`{"content":"Use AKIAQYLPMN5HHHFPZAM2 and then go on with something else"}`, "null"), finish, "end"}
	for name, c := range map[string]struct {
		text     string
		stream   string
		provider []abi.Event
		want     string
	}{
		"request":  {"Write to john@example.net and jane@example.net", "false", nil, "personal.email"},
		"two":      {"Write to john@example.net, AKIAQYLPMN5HHHFPZAM2", "false", nil, "personal.email secret.aws-access-key-id"},
		"response": {"Hello", "false", wholeResponse(200, leaks), "secret.aws-access-key-id"},
		"stream":   {"Hello", "true", streamEvents(leaking...), "secret.aws-access-key-id"},
		"none":     {"Hello", "false", wholeResponse(400, `{}`), ""},
	} {
		body := `{"model":"gpt","stream":` + c.stream + `,"messages":[{"role":"user","content":"` + c.text + `"}]}`
		got := endingOf(t, request{
			path: "/v1/chat/completions", overlay: governedOverlay, policy: policy, record: governed, body: body, provider: [][]abi.Event{c.provider},
		})
		equal(t, name, strings.Join(got.Governor.Rules, " "), c.want)
		limited := []*keymeter.AdmitReply{{Verdict: keymeter.RateLimited, RetryMs: 1000}}
		got = endingOf(t, request{
			path: "/v1/chat/completions", overlay: governedOverlay, policy: policy, record: governed, body: body, verdicts: limited,
		})
		equal(t, name+" that is limited", len(got.Governor.Rules), 0)
	}
}

// TestLongRecords checks which parts are omitted from a record that is too long.
func TestLongRecords(t *testing.T) {
	windows := make([]keymeter.Window, 20)
	for i := range windows {
		windows[i] = keymeter.Window{Tokens: true, WindowMs: 1 << 50, Limit: 1 << 50, Remaining: 1 << 50, ResetMs: 1 << 50}
	}
	long := request{
		path: "/v1/chat/completions", body: `{"model":"gpt",` + hello + `,"user":"` + strings.Repeat(`\"`, 64) + `"}`,
		headers:  []abi.Header{{Name: "user-agent", Value: strings.Repeat("program/1 ", 9)}},
		verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.RateLimited, RetryMs: 1000, Windows: windows[:5]}},
	}
	if got := endingOf(t, long); got.User == "" || got.UserAgent == "" {
		t.Errorf("%+v", got)
	}
	long.verdicts = []*keymeter.AdmitReply{{Verdict: keymeter.RateLimited, RetryMs: 1000, Windows: windows}}
	endingOf(t, long)
}
