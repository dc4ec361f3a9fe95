package workersai_test

import (
	"reflect"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/wire"
	"github.com/postern-ai/postern/core/provider/workersai"
)

var model = &config.Model{
	Upstream: "@cf/meta/llama-4-scout-17b-16e-instruct", MaxTokensField: "max_tokens",
	Provider: &config.Provider{BaseURL: "https://api.cloudflare.com/client/v4/accounts/0123abcd/ai", Key: "secret"},
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
	call := &wire.Call{Model: model, Request: &chat.Request{MaxTokens: 5, Messages: []chat.Message{{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "Hi"}}}}}}
	for _, c := range []struct {
		a         abi.Action
		operation string
		want      string
	}{
		{workersai.Request(call), "/chat/completions", `{"model":"@cf/meta/llama-4-scout-17b-16e-instruct","messages":[{"role":"user","content":"Hi"}],"max_tokens":5}`},
		{workersai.Direct(call, abi.Part{Buffer: 3}), "/chat/completions", `{"model":"@cf/meta/llama-4-scout-17b-16e-instruct","messages":[],"max_tokens":5}`},
		{workersai.EmbedRequest(&wire.EmbedCall{Model: model, Inputs: []jsontext.Escaped{"a"}}), "/embeddings",
			`{"model":"@cf/meta/llama-4-scout-17b-16e-instruct","input":["a"],"encoding_format":"float"}`},
	} {
		if got := bodyOf(c.a, `"messages":[]`); got != c.want {
			t.Errorf("%s:\n%s, want\n%s", c.operation, got, c.want)
		}
		headers := []abi.Header{{Name: "content-type", Value: "application/json"}, {Name: "authorization", Value: "Bearer secret"}}
		if c.a.URL != "https://api.cloudflare.com/client/v4/accounts/0123abcd/ai/v1"+c.operation || !reflect.DeepEqual(c.a.Headers, headers) {
			t.Errorf("%s %v", c.a.URL, c.a.Headers)
		}
	}
	if a := workersai.EmbedRequest(&wire.EmbedCall{Model: model, Tokens: []string{"[1]"}}); a.URL != "" {
		t.Errorf("tokens were sent to %s", a.URL)
	}
}

const response = `{"id":"id-1795252507","object":"chat.completion","created":1795252507,"model":"@cf/meta/llama-4-scout-17b-16e-instruct",
	"choices":[{"index":0,"message":{"role":"assistant","content":"Hi","tool_calls":[]},"logprobs":null,"finish_reason":"stop"}],
	"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,"prompt_tokens_details":{"cached_tokens":0}}}`

func TestResponses(t *testing.T) {
	want := chat.Response{
		ID: "id-1795252507", Model: "@cf/meta/llama-4-scout-17b-16e-instruct", Created: 1795252507,
		Choices: []chat.Answer{{Parts: []chat.Part{{Kind: chat.Text, Text: "Hi"}}, Finish: chat.FinishStop}}, Usage: chat.Usage{Input: 9, Output: 2, Reported: true},
	}
	for _, json := range []string{response, `{"result":` + response + `,"success":true,"errors":[],"messages":[]}`} {
		if got, ok := workersai.Response(gjson.Parse(json)); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v %+v", json, ok, got)
		}
	}
	for _, json := range []string{`{"result":null,"success":false,"errors":[{"code":1,"message":"a"}]}`, `{"result":"a"}`, "[]"} {
		if got, ok := workersai.Response(gjson.Parse(json)); ok {
			t.Errorf("%s was parsed as %+v", json, got)
		}
	}
	vectors := `{"object":"list","data":[{"object":"embedding","embedding":[1,2],"index":0}],"usage":{"prompt_tokens":3,"total_tokens":3}}`
	for _, json := range []string{vectors, `{"result":` + vectors + `,"success":true}`} {
		got, ok := workersai.EmbedResponse(gjson.Parse(json))
		if !ok || !reflect.DeepEqual(got, wire.Embedding{Vectors: []string{"[1,2]"}, Usage: chat.Usage{Input: 3, Reported: true}}) {
			t.Errorf("%s: %v %+v", json, ok, got)
		}
	}
}

var chunks = []string{
	`{"id":"id-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"},"logprobs":null,"finish_reason":null}]}`,
	`{"id":"id-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}]}`,
	`{"id":"id-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}`,
	`{"errors":[{"message":"AiError: Internal","code":3043}],"success":false,"result":{},"messages":[]}`,
}

func TestStreams(t *testing.T) {
	var s wire.State
	var got []chat.Delta
	for _, json := range chunks {
		ok := false
		if got, ok = workersai.Stream(&s, "", gjson.Parse(json), got); !ok {
			t.Errorf("%s was rejected", json)
		}
	}
	want := []chat.Delta{
		{Kind: chat.DeltaStart, ID: "id-1", Model: "m"}, {Kind: chat.DeltaText, Text: "Hi"}, {Kind: chat.DeltaFinish, Finish: chat.FinishStop},
		{Kind: chat.DeltaUsage, Usage: chat.Usage{Input: 9, Output: 2, Reported: true}}, {Kind: chat.DeltaError, Name: "3043", Text: "AiError: Internal"},
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
		{400, `{"errors":[{"message":"AiError: No such model @cf/a or task","code":5007}],"success":false,"result":{},"messages":[]}`, wire.FailTarget, "AiError: No such model @cf/a or task"},
		{400, `{"errors":[{"code":5021,"message":"The estimated number of input and maximum output tokens (8810) exceeded this model context window limit (8192)"}]}`,
			wire.FailTooLong, "The estimated number of input and maximum output tokens (8810) exceeded this model context window limit (8192)"},
		{413, `{"errors":[{"code":3010,"message":"AiError: exceeded this model context window limit (24000)"}]}`, wire.FailTooLong, "AiError: exceeded this model context window limit (24000)"},
		{400, `{"errors":[{"code":5006,"message":"AiError: Bad input"}]}`, wire.FailRejected, "AiError: Bad input"},
		{400, `{"error":{"message":"This model's maximum context length is 131072 tokens.","type":"BadRequestError","code":400}}`, wire.FailTooLong, "This model's maximum context length is 131072 tokens."},
		{400, `{"error":"Bad input"}`, wire.FailRejected, "Bad input"},
		{401, `{"success":false,"errors":[{"code":10000,"message":"Authentication error"}]}`, wire.FailTarget, "Authentication error"},
		{408, `{"errors":[{"code":3007,"message":"a"}]}`, wire.FailDown, "a"},
		{429, `{"errors":[{"code":3036,"message":"You have used up your daily free allocation"}]}`, wire.FailTarget, "You have used up your daily free allocation"},
		{429, `{"errors":[{"code":3040,"message":"a"}]}`, wire.FailBusy, "a"},
		{500, `{"errors":[]}`, wire.FailDown, ""},
		{502, ``, wire.FailDown, ""},
		{403, `{"errors":"a"}`, wire.FailTarget, ""},
	} {
		if got := workersai.Failure(c.status, gjson.Parse(c.json)); got.Kind != c.kind || got.Message != c.text {
			t.Errorf("%d %s: %+v", c.status, c.json, got)
		}
	}
}

// TestHostileValues replaces each value in the examples with values of other types. Nothing may panic.
func TestHostileValues(t *testing.T) {
	for _, json := range append([]string{response, `{"result":{"choices":[{"message":{"content":"a"}}]},"errors":[{"code":1,"message":"a"}]}`}, chunks...) {
		for i := range json {
			if i == 0 || json[i-1] == ':' || json[i-1] == '[' || json[i-1] == ',' {
				for _, other := range []string{"null", "7", "-1e400", `"\ud800"`, `"[{"`, "[[]]", "{}"} {
					feed(t, json[:i]+other+json[i+len(gjson.Parse(json[i:]).Raw):])
				}
			}
		}
	}
}

func feed(t *testing.T, json string) {
	if jsontext.Check([]byte(json)) != jsontext.OK {
		return
	}
	root := gjson.Parse(json)
	workersai.Response(root)
	workersai.EmbedResponse(root)
	workersai.Failure(400, root)
	out, _ := workersai.Stream(&wire.State{}, "", root, nil)
	for _, d := range out {
		if jsontext.Check([]byte(`"`+string(d.Name)+string(d.Text)+`"`)) != jsontext.OK {
			t.Errorf("%s: invalid delta %+v", json, d)
		}
	}
}
