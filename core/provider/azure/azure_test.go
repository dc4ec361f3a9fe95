package azure_test

import (
	"reflect"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/azure"
	"github.com/postern-ai/postern/core/provider/wire"
)

func v1() *config.Model {
	return &config.Model{Upstream: "my gpt/4.1", MaxTokensField: "max_tokens", Provider: &config.Provider{BaseURL: "https://res.openai.azure.com/openai/v1", Key: "secret"}}
}

func classic() *config.Model {
	m := v1()
	m.Provider.BaseURL = "https://res.openai.azure.com"
	m.Provider.Settings = []abi.Header{{Name: "apiVersion", Value: "2024-10-21&x"}}
	return m
}

func bodyOf(a abi.Action, members string) string {
	var body []byte
	for _, p := range a.Body {
		if p.Buffer != 0 {
			body = append(body, members...)
		}
		body = append(body, p.Data...)
	}
	return string(body)
}

func TestRequests(t *testing.T) {
	call := &wire.Call{Request: &chat.Request{Stream: true, MaxTokens: 5, Messages: []chat.Message{{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "Hi"}}}}}}
	embed := &wire.EmbedCall{Inputs: []jsontext.Escaped{"a"}}
	const tail = `"max_tokens":5,"stream":true,"stream_options":{"include_usage":true}}`
	for _, c := range []struct {
		model      *config.Model
		url, query string
	}{
		{v1(), "https://res.openai.azure.com/openai/v1", ""},
		{classic(), "https://res.openai.azure.com/openai/deployments/my%20gpt%2F4.1", "?api-version=2024-10-21%26x"},
	} {
		call.Model, embed.Model = c.model, c.model
		for _, r := range []struct {
			a         abi.Action
			operation string
			want      string
		}{
			{azure.Request(call), "/chat/completions", `{"model":"my gpt/4.1","messages":[{"role":"user","content":"Hi"}],` + tail},
			{azure.Direct(call, abi.Part{Buffer: 3}), "/chat/completions", `{"model":"my gpt/4.1","messages":[],` + tail},
			{azure.EmbedRequest(embed), "/embeddings", `{"model":"my gpt/4.1","input":["a"],"encoding_format":"float"}`},
		} {
			if got := bodyOf(r.a, `"messages":[]`); got != r.want {
				t.Errorf("%s:\n%s, want\n%s", r.operation, got, r.want)
			}
			headers := []abi.Header{{Name: "content-type", Value: "application/json"}, {Name: "api-key", Value: "secret"}}
			if r.a.Method != "POST" || r.a.URL != c.url+r.operation+c.query || !reflect.DeepEqual(r.a.Headers, headers) {
				t.Errorf("%s %s %v", r.a.Method, r.a.URL, r.a.Headers)
			}
		}
	}
	call.Model.Provider.Key = ""
	if a := azure.Request(call); len(a.Headers) != 1 {
		t.Errorf("without a key: %v", a.Headers)
	}
}

func TestResponses(t *testing.T) {
	got, ok := azure.Response(gjson.Parse(`{"choices":[{"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}},"finish_reason":"content_filter","index":0,
		"message":{"content":"Hi","role":"assistant"}}],"created":1,"id":"c1","model":"gpt-4.1","object":"chat.completion",
		"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}],"usage":{"completion_tokens":2,"prompt_tokens":9,"total_tokens":11}}`))
	want := chat.Response{
		ID: "c1", Model: "gpt-4.1", Created: 1, Choices: []chat.Answer{{Parts: []chat.Part{{Kind: chat.Text, Text: "Hi"}}, Finish: chat.FinishFilter}},
		Usage: chat.Usage{Input: 9, Output: 2, Reported: true},
	}
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %+v", ok, got)
	}
}

var chunks = []string{
	`{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}`,
	`{"choices":[{"content_filter_results":{},"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}],"created":1,"id":"c1","model":"gpt-4.1"}`,
	`{"choices":[{"content_filter_results":{"hate":{"filtered":false}},"delta":{"content":"Hi"},"finish_reason":null,"index":0}],"created":1,"id":"c1","model":"gpt-4.1"}`,
	`{"choices":[{"index":0,"finish_reason":null,"content_filter_results":{},"content_filter_offsets":{"check_offset":44,"start_offset":44,"end_offset":198}}],"id":"","model":""}`,
	`{"choices":[{"content_filter_results":{},"delta":{},"finish_reason":"stop","index":0}],"created":1,"id":"c1","model":"gpt-4.1"}`,
	`{"choices":[],"created":1,"id":"c1","model":"gpt-4.1","usage":{"completion_tokens":2,"prompt_tokens":9,"total_tokens":11}}`,
}

func TestStreams(t *testing.T) {
	var s wire.State
	var got []chat.Delta
	for _, json := range chunks {
		ok := false
		if got, ok = azure.Stream(&s, "", gjson.Parse(json), got); !ok {
			t.Errorf("%s was rejected", json)
		}
	}
	want := []chat.Delta{
		{Kind: chat.DeltaStart, ID: "c1", Model: "gpt-4.1"}, {Kind: chat.DeltaText, Text: "Hi"}, {Kind: chat.DeltaFinish, Finish: chat.FinishStop},
		{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 9, Output: 2, Reported: true}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want\n%+v", got, want)
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		status uint64
		json   string
		kind   wire.FailureKind
		text   jsontext.Escaped
	}{
		{400, `{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation",
			"content_filter_result":{"violence":{"filtered":true,"severity":"high"}}}}}`, wire.FailFiltered, "The response was filtered"},
		{400, `{"error":{"message":"a","code":"400","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, wire.FailFiltered, "a"},
		{400, `{"error":{"code":"OperationNotSupported","message":"The chatCompletion operation does not work with the specified model"}}`,
			wire.FailTarget, "The chatCompletion operation does not work with the specified model"},
		{400, `{"error":{"code":"BadRequest","message":"API version not supported"}}`, wire.FailTarget, "API version not supported"},
		{400, `{"error":{"code":"context_length_exceeded","message":"a"}}`, wire.FailTooLong, "a"},
		{400, `{"error":{"code":"unsupported_parameter","message":"a"}}`, wire.FailRejected, "a"},
		{401, `{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}`,
			wire.FailTarget, "Access denied due to invalid subscription key or wrong API endpoint."},
		{401, `{"statusCode":401,"message":"Unauthorized"}`, wire.FailTarget, "Unauthorized"},
		{404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, wire.FailTarget, "The API deployment for this resource does not exist."},
		{429, `{"error":{"code":"429","message":"Requests have exceeded the token rate limit"}}`, wire.FailBusy, "Requests have exceeded the token rate limit"},
		{503, ``, wire.FailDown, ""},
	} {
		if got := azure.Failure(c.status, gjson.Parse(c.json)); got.Kind != c.kind || got.Message != c.text {
			t.Errorf("%d %s: %+v", c.status, c.json, got)
		}
	}
}

// TestHostileValues replaces each value in the examples with values of other types. Nothing may panic.
func TestHostileValues(t *testing.T) {
	for _, json := range append([]string{`{"error":{"code":"a","message":"b","innererror":{"code":"c"}}}`}, chunks...) {
		for i := range json {
			if i == 0 || json[i-1] == ':' || json[i-1] == '[' || json[i-1] == ',' {
				for _, other := range []string{"null", "7", "-1e400", `"\ud800"`, `"[{"`, "[[]]", "{}"} {
					feed(json[:i] + other + json[i+len(gjson.Parse(json[i:]).Raw):])
				}
			}
		}
	}
}

func feed(json string) {
	if jsontext.Check([]byte(json)) != jsontext.OK {
		return
	}
	root := gjson.Parse(json)
	azure.Response(root)
	azure.EmbedResponse(root)
	azure.Failure(400, root)
	azure.Stream(&wire.State{}, "", root, nil)
}
