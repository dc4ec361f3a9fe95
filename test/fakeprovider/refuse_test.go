package fakeprovider_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/test/fakeprovider"
)

// TestCredentials checks each family's error for missing credentials.
func TestCredentials(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	for _, f := range families() {
		want, status := map[string]string{
			"anthropic": "authentication_error", "gemini": "PERMISSION_DENIED", "bedrock": "Missing Authentication Token",
			"mistral": `{"detail":"Unauthorized"}`, "workersai": `"code":10000`, "cohere": "no api key supplied",
			"azure": `"code":"401"`,
		}[f.name], 401
		if f.name == "gemini" || f.name == "bedrock" {
			status = 403
		}
		f.headers = nil
		if got, body := post(t, s, f, fill(f.wholeBody, "hi")); got != status || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", f.name, got, body)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	all := map[string]family{}
	for _, f := range families() {
		all[f.name] = f
	}
	for _, c := range []struct{ family, body, want string }{
		{"openai", `{"messages":[]}`, "you must provide a model parameter"},
		{"openai", `{"model":"m","messages":[]}`, "Missing required parameter: 'messages'."},
		{"openai", `{"model":"m","messages":[{"role":"user","content":"a"}],"top_k":1}`, "Unrecognized request argument supplied: top_k"},
		{"openai", `{"model":"m","messages":[{"role":"user","content":"a"}],"stream_options":{}}`, "'stream_options'"},
		{"openai", `{"model":"o3","messages":[{"role":"user","content":"a"}],"max_tokens":1}`, "Use 'max_completion_tokens' instead"},
		{"openai", `{"model":"m","messages":[{"role":"user","content":"a"}],"response_format":{"type":"json_object"}}`, "must contain the word 'json'"},
		{"openai", `{"model":"m","messages":[{"role":"tool","tool_call_id":"x","content":"a"}]}`, "messages with role 'tool'"},
		{"openai", `{"model":"m","messages":[{"role":"user","content":null}]}`, "Invalid value for 'content'"},
		{"openai", `{"model":`, "We could not parse"},
		{"mistral", `{"model":"m","messages":[{"role":"user","content":"a","name":"b"}],"store":false}`, `"loc":["body","messages",0,"user","name"]`},
		{"azure", `{}`, "Missing required parameter"},
		{"responses", `{"model":"m","input":"a","messages":[]}`, "Unknown parameter: 'messages'."},
		{"responses", `{"model":"m","input":[{"type":"function_call_output","call_id":"c","output":""}]}`, "No tool call found"},
		{"responses", `{"model":"m","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}`, "No tool output found"},
		{"responses", `{"model":"m","input":[{"role":"user","content":[{"type":"text","text":"a"}]}]}`, "Invalid value: 'text'"},
		{"responses", `{"model":"m","input":"a","max_output_tokens":1}`, "Expected a value >= 16"},
		{"anthropic", `{"model":"m","messages":[{"role":"user","content":"a"}]}`, "max_tokens: Field required"},
		{"anthropic", `{"model":"m","max_tokens":9,"messages":[{"role":"system","content":"a"}]}`, "first message must use"},
		{"anthropic", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":""}]}`, "non-empty content"},
		{"anthropic", `{"model":"m","max_tokens":9,"n":1,"messages":[{"role":"user","content":"a"}]}`, "n: Extra inputs are not permitted"},
		{"anthropic", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x"}]}]}`, "unexpected `tool_use_id`"},
		{"anthropic", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"f","input":{}}]}]}`,
			"without `tool_result` blocks"},
		{"gemini", `{"contents":[]}`, "contents is not specified"},
		{"gemini", `{"contents":[{"role":"user","parts":[{"text":"a"}]}],"n":1}`, `Unknown name \"n\"`},
		{"gemini", `{"contents":[{"role":"user","parts":[{"text":"a"}]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":{"additionalProperties":false}}]}]}`,
			`Unknown name \"additionalProperties\"`},
		{"gemini", `{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]}`, "number of function response parts"},
		{"bedrock", `{"messages":[{"role":"user","content":[{"text":" "}]}]}`, "is blank"},
		{"bedrock", `{"messages":[{"role":"user","content":[{"text":"a"}]},{"role":"user","content":[{"text":"a"}]}]}`, "must alternate"},
		{"bedrock", `{"messages":[{"role":"assistant","content":[{"text":"a"}]}]}`, "must start with a user message"},
		{"cohere", `{"model":"m","messages":[{"role":"user","content":"a"}],"top_p":1}`, "unknown field: parameter 'top_p'"},
	} {
		f := all[c.family]
		status, body := post(t, s, f, c.body)
		want := 400
		if c.family == "mistral" {
			want = 422
		}
		if plain := body + strings.ReplaceAll(body, `\"`, `"`); status != want || !strings.Contains(plain, c.want) || !gjson.Valid(body) {
			t.Errorf("%s, %s: %d %s", c.family, c.body, status, body)
		}
	}
}

func TestUnknownPath(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	for _, path := range []string{"/v1/nothing", "/v1/models/m:", "/model/m", "/v1/models/m:other"} {
		if resp := do(t, s, path, `{}`, nil); resp.StatusCode != 404 {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

// TestSignature compares the signature of a request with the one that the npm package @smithy/signature-v4 computes.
func TestSignature(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	s.AWSSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	const good = "1bd152f8aab8a486a7ad9cd9d33e86d9f4da530c3a5a992b61bfd7c455458c89"
	for signature, want := range map[string]int{good: 200, strings.Repeat("0", 64): 403} {
		r, _ := http.NewRequest("POST", s.URL+"/model/anthropic.claude-3-5-sonnet-20241022-v2%3A0/converse",
			strings.NewReader(`{"messages":[{"role":"user","content":[{"text":"Hi"}]}]}`))
		r.Host = "bedrock-runtime.us-east-1.amazonaws.com"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Amz-Date", "20261121T040000Z")
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261121/us-east-1/bedrock/aws4_request, "+
			"SignedHeaders=content-type;host;x-amz-date, Signature="+signature)
		resp, err := http.DefaultClient.Do(r)
		if err != nil || resp.StatusCode != want {
			t.Errorf("%s: %v, %v", signature, resp, err)
		}
		_ = resp.Body.Close()
	}
}
