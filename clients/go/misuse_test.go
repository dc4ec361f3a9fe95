package postern

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// calls makes every kind of call of a client and returns the errors by name.
func calls(ctx context.Context, c *Client) map[string]error {
	all := map[string]error{}
	_, all["ai.complete"] = c.AI.Complete(ctx, hello)
	_, all["CompleteJSON"] = CompleteJSON[any](ctx, c, hello)
	_, all["stream.text"] = c.AI.Chat(ctx, hello).Text()
	_, all["stream.usage"] = c.AI.Chat(ctx, hello).Usage()
	for _, all["stream.events"] = range c.AI.Chat(ctx, hello).Events() {
	}
	_ = c.AI.Chat(ctx, hello).Close()
	_ = c.AI.Chat(ctx, hello).Meta()
	_, all["ai.countTokens"] = c.AI.CountTokens(ctx, hello)
	_, all["ChatJSON.data"] = ChatJSON[any](ctx, c, hello).Data()
	_, all["ChatJSON.final"] = ChatJSON[any](ctx, c, hello).Final()
	_ = ChatJSON[any](ctx, c, hello).Close()
	_ = ChatJSON[any](ctx, c, hello).Meta()
	all["get"] = c.Get(ctx, "/v1/models", nil)
	all["post"] = c.Post(ctx, "/v1/responses", nil, nil)
	_, all["usage.get"] = c.Usage.Get(ctx, UsageParams{})
	_, all["usage.get of a project"] = c.Usage.Get(ctx, UsageParams{ProjectID: "proj_1"})
	_, all["health.get"] = c.Health.Get(ctx)
	_, all["governor.validate"] = c.Governor.Validate(ctx, ValidationParams{Text: "a"})
	for _, all["violations.list"] = range c.Violations.List(ctx, ViolationFilter{}) {
	}
	_, all["violations.get"] = c.Violations.Get(ctx, "vio_1")
	_, all["violations.update"] = c.Violations.Update(ctx, "vio_1", ViolationChange{})
	for _, all["models.list"] = range c.Models.List(ctx, ModelFilter{}) {
	}
	_, all["models.get"] = c.Models.Get(ctx, "mod_1")
	_, all["models.available"] = c.Models.Available(ctx)
	_, all["compliance.bom"] = c.Compliance.BOM(ctx)
	_, all["compliance.summary"] = c.Compliance.Summary(ctx)
	for _, all["compliance.export"] = range c.Compliance.Export(ctx, ExportParams{}) {
	}
	return all
}

func wantConfigurationError(t *testing.T, errs map[string]error, text string) {
	t.Helper()
	for name, err := range errs {
		var wrong *ConfigurationError
		if !errors.As(err, &wrong) || err.Error() != text {
			t.Errorf("%s: %T %v", name, err, err)
		}
	}
}

func TestZeroClient(t *testing.T) {
	client := &Client{}
	wantConfigurationError(t, calls(context.Background(), client), "postern: client is empty: use New")
	ctx := context.Background()
	_, err := CompleteJSON[any](ctx, nil, hello)
	_, streamErr := ChatJSON[any](ctx, nil, hello).Data()
	var none *Client
	wantConfigurationError(t, map[string]error{"nil": err, "stream": streamErr, "get": none.Get(ctx, "/", nil)}, "postern: client is empty: use New")
	if text := client.String() + fmt.Sprintf("%#v", client); text != "postern.Client()postern.Client()" {
		t.Error(text)
	}
}

func TestNilContext(t *testing.T) {
	client := newFake(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	var none context.Context
	wantConfigurationError(t, calls(none, client), "postern: ctx must not be nil: use context.Background()")
}

func TestNilOptions(t *testing.T) {
	var shared SharedOption
	client := newFake(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, `{"project_id":"proj_1"}`) }, nil, shared)
	if _, err := client.Health.Get(context.Background(), nil, shared, WithResponse(nil)); err != nil {
		t.Error(err)
	}
	t.Setenv("POSTERN_API_KEY", "")
	if _, err := New(nil, WithHTTPClient(nil)); err == nil || !strings.Contains(err.Error(), "POSTERN_API_KEY") {
		t.Error(err)
	}
}

func TestErrorTexts(t *testing.T) {
	detail := Detail{Field: "temperature", Message: "must be a number"}
	finding := Finding{Rule: "personal.email", Severity: "medium", Path: "messages[0].content"}
	for _, c := range []struct {
		err  APIError
		want string
	}{
		{APIError{StatusCode: 400, Message: "No"}, "postern: No (400)"},
		{APIError{StatusCode: 400, Message: "No", Code: "a", RequestID: "req_1"}, "postern: No (400, a, req_1)"},
		{APIError{StatusCode: 400, Message: "No", Details: []Detail{detail}}, "postern: No: temperature: must be a number (400)"},
		{APIError{StatusCode: 400, Message: "No", Details: []Detail{detail, detail, {Field: "x"}}},
			"postern: No: temperature: must be a number (and 1 more) (400)"},
		{APIError{StatusCode: 422, Message: "No", Findings: []Finding{finding}},
			"postern: No: messages[0].content contains personal.email (medium) (422)"},
		{APIError{StatusCode: 422, Message: "No", Findings: []Finding{{Rule: "a"}, {}, finding}}, "postern: No: a (and 1 more) (422)"},
		{APIError{StatusCode: 422, Message: "No", Details: []Detail{{Field: "x"}}, Findings: []Finding{{Rule: "a"}}},
			"postern: No: a (422)"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestErrorOfStatus checks that each error type of a status has the message and the fields of its APIError.
func TestErrorOfStatus(t *testing.T) {
	client := newScripted(t, 400, `{"error":"Invalid request","code":"invalid_request","requestId":"req_1",
		"details":[{"field":"temperature","message":"must be a number between 0 and 2, got 3"}]}`)
	_, err := client.AI.Complete(context.Background(), hello)
	want := "postern: Invalid request: temperature: must be a number between 0 and 2, got 3 (400, invalid_request, req_1)"
	var bad *BadRequestError
	if !errors.As(err, &bad) || err.Error() != want || bad.Message != "Invalid request" {
		t.Errorf("%T %v", err, err)
	}
}

// TestErrorsOfOtherFormats checks the errors of endpoints under /v1. It also checks that errors from other servers do
// not count as the gateway's.
func TestErrorsOfOtherFormats(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"Not found","code":"not_found","param":"path"},"request_id":"req_1"}`: "postern: Not found (404, not_found, req_1)",
		`{"type":"error","error":{"type":"not_found_error","message":"No"},"request_id":"req_1"}`:  "postern: No (404, req_1)",
		`{"error":{"message":"Not found","code":"not_found"}}`:                                     "postern: HTTP 404 from {url}/v1/nothing",
		`{"error":{"message":7},"request_id":"req_1"}`:                                             "postern: HTTP 404 from {url}/v1/nothing",
	} {
		client := newScripted(t, http.StatusNotFound, body)
		err := client.Get(context.Background(), "/v1/nothing", nil)
		var missing *NotFoundError
		if !errors.As(err, &missing) || err.Error() != strings.Replace(want, "{url}", client.base.String(), 1) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	client := newScripted(t, http.StatusPaymentRequired, `{"error":{"message":"No","resetsAt":"2026-12-01T00:00:00.000Z"},"request_id":"req_1"}`)
	var budget *BudgetExceededError
	if err := client.Post(context.Background(), "/v1/embeddings", nil, nil); !errors.As(err, &budget) || budget.ResetsAt.Month() != 12 {
		t.Error(err)
	}
}

func TestConnectionErrorTexts(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close() // nothing listens there now
	client, err := New(WithAPIKey(tableKey), WithBaseURL("http://"+address+"/secret"), WithRetries(0), WithLogging(Logging{Level: LogOff}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Usage.Get(context.Background(), UsageParams{ProjectID: "secret"})
	want := "postern: GET /api/usage: connection to http://" + address + " failed (dial tcp " + address + ": connect: connection refused)"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	text, jsonErr := json.Marshal(err)
	if jsonErr != nil || strings.Contains(string(text), "secret") {
		t.Errorf("%s %v", text, jsonErr)
	}
	timeout := &APITimeoutError{&APIConnectionError{Cause: io.EOF, call: "GET /api/health", origin: "http://127.0.0.1:1"}, 400e6}
	if got := timeout.Error(); got != "postern: GET /api/health: no response from http://127.0.0.1:1 within 400ms" {
		t.Error(got)
	}
}

func TestSettingsAreNamed(t *testing.T) {
	for _, c := range []struct{ variable, value, want string }{
		{"POSTERN_BASE_URL", "http://127.0.0.1/v1", "postern: POSTERN_BASE_URL must be the gateway's address without /v1 (that is for OpenAI's SDKs)"},
		{"POSTERN_ENVIRONMENT", "staging", "postern: POSTERN_ENVIRONMENT must be production or development"},
		{"POSTERN_ENVIRONMENT", "production", "postern: POSTERN_ENVIRONMENT is production, but the API key is for development"},
		{"POSTERN_LOG_LEVEL", "loud", "postern: POSTERN_LOG_LEVEL must be debug, info, warn, error or off"},
	} {
		t.Run(c.variable, func(t *testing.T) {
			t.Setenv(c.variable, c.value)
			_, err := New(WithAPIKey(tableKey))
			wantConfigurationError(t, map[string]error{c.value: err}, c.want)
		})
	}
	for want, option := range map[string]Option{
		"postern: WithBaseURL must be the gateway's address without /v1 (that is for OpenAI's SDKs)": WithBaseURL("http://127.0.0.1/v1"),
		"postern: WithEnvironment must be production or development":                                 WithEnvironment("staging"),
		"postern: WithLogging: Level must be debug, info, warn, error or off":                        WithLogging(Logging{Level: "loud"}),
		"postern: WithRetries must be an integer between 0 and 10":                                   WithRetries(11),
	} {
		_, err := New(WithAPIKey(tableKey), option)
		wantConfigurationError(t, map[string]error{want: err}, want)
	}
}

func TestStreamIsRangedOnce(t *testing.T) {
	for name, read := range map[string]func(*ChatStream){
		"events": func(s *ChatStream) {
			for range s.Events() {
			}
		},
		"text": func(s *ChatStream) { _, _ = s.Text() },
	} {
		stream := newScripted(t, http.StatusOK, okStream).AI.Chat(context.Background(), hello)
		read(stream)
		var errs []error
		for _, err := range stream.Events() {
			errs = append(errs, err)
		}
		var wrong *ConfigurationError
		if len(errs) != 1 || !errors.As(errs[0], &wrong) {
			t.Errorf("%s: %v", name, errs)
		}
		if text, err := stream.Text(); text != "Hi" || err != nil {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
}

func TestErrorsInJSONHaveNoOutput(t *testing.T) {
	completion := &Completion{Text: "confidential"}
	for _, err := range []Error{
		&StreamError{Message: "broken", Code: codeLost, Text: "confidential"},
		&OutputValidationError{Issues: []Issue{{Message: "is not JSON"}}, Text: "confidential", Completion: completion, Cause: errors.New("confidential")},
	} {
		text, problem := json.Marshal(err)
		if problem != nil || strings.Contains(string(text), "confidential") || len(text) < 10 {
			t.Errorf("%s %v", text, problem)
		}
	}
}

func TestCompleteJSONRequiresMembers(t *testing.T) {
	type line struct {
		Price float64 `json:"price"`
		Note  string  `json:"note,omitempty"`
	}
	type order struct {
		Name  string
		Lines []line  `json:"lines"`
		Extra *string `json:"extra"`
	}
	for text, path := range map[string]string{
		`{}`:                                        "Name",
		`{"name":null,"lines":[]}`:                  "Name",
		`{"name":"a"}`:                              "lines",
		`{"name":"a","lines":[{"price":1},{}]}`:     "lines.price",
		`{"name":"a","lines":[{"price":0}]}`:        "",
		`{"name":"a","lines":[],"unknown":{"a":1}}`: "",
		`{"name":"a","lines":[],"extra":null}`:      "",
	} {
		body, _ := json.Marshal(map[string]any{"text": text, "usage": map[string]any{}})
		_, err := CompleteJSON[order](context.Background(), newScripted(t, http.StatusOK, string(body)), hello)
		var wrong *OutputValidationError
		if errors.As(err, &wrong) != (path != "") || path != "" && wrong.Issues[0] != (Issue{path, "is required"}) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestCompleteJSONOfNull(t *testing.T) {
	type place struct {
		Name string `json:"name,omitempty"`
	}
	ctx := context.Background()
	complete := map[string]func(*Client) error{
		"struct":  func(c *Client) error { _, err := CompleteJSON[place](ctx, c, hello); return err },
		"stream":  func(c *Client) error { _, err := ChatJSON[place](ctx, c, hello).Data(); return err },
		"text":    func(c *Client) error { _, err := CompleteJSON[string](ctx, c, hello); return err },
		"list":    func(c *Client) error { _, err := CompleteJSON[[]place](ctx, c, hello); return err },
		"map":     func(c *Client) error { _, err := CompleteJSON[map[string]place](ctx, c, hello); return err },
		"pointer": func(c *Client) error { _, err := CompleteJSON[*place](ctx, c, hello); return err },
		"any":     func(c *Client) error { _, err := CompleteJSON[any](ctx, c, hello); return err },
	}
	for text, refusing := range map[string]string{"null": "struct stream text list map", "[null]": "list", `{"a":null}`: "map"} {
		body, _ := json.Marshal(map[string]any{"text": text, "usage": map[string]any{}})
		for _, name := range strings.Fields(refusing) {
			var wrong *OutputValidationError
			err := complete[name](newScripted(t, http.StatusOK, string(body)))
			if !errors.As(err, &wrong) || wrong.Issues[0] != (Issue{"", "must not be null"}) {
				t.Errorf("%s as %s: %v", text, name, err)
			}
		}
	}
	for _, name := range []string{"pointer", "any"} {
		if err := complete[name](newScripted(t, http.StatusOK, `{"text":"null","usage":{}}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
