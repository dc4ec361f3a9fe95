package exchange_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
)

// claudeCompletion runs a chat completion for claude, whose dialect does not support some OpenAI fields.
func claudeCompletion(t *testing.T, members string, headers ...abi.Header) *host {
	return request{
		path: "/v1/chat/completions", headers: headers, provider: [][]abi.Event{wholeResponse(200, anthropicResponse)},
		body: `{"model":"claude","messages":[{"role":"user","content":"Hello"}],"max_tokens":100` + members + `}`,
	}.run(t)
}

func TestDroppedMembersAreListed(t *testing.T) {
	names := func(members string) string { return claudeCompletion(t, members).header("x-postern-dropped-params") }
	equal(t, "one member", names(`,"azZA09_.-":1`), "azZA09_.-")
	equal(t, "two members after a parameter", names(`,"seed":1,"b1":1,"b2":1`), "b1,b2,seed")
	equal(t, "no member", names(""), "")
	equal(t, "a member with an index", names(`,"a[0].b":1,"z":1`), "a[0].b,z")
	for _, invalid := range []string{"a b", "a/b", "a:b", "a@b", "a[\nb", "[]", "a{b", "a`b", "é", "a,b", ""} {
		equal(t, fmt.Sprintf("dropped names with %q", invalid), names(fmt.Sprintf(`,%q:1,"z":1`, invalid)), "z")
	}
	many, first := "", []string{}
	for i := range 20 {
		many += fmt.Sprintf(`,"x%d":1`, i)
		first = append(first, fmt.Sprintf("x%d", i))
	}
	equal(t, "many members", names(many), strings.Join(first[:16], ","))
	long := strings.Repeat("l", 300)
	equal(t, "long names", names(`,"`+long+`":1,"`+long+`2":1`), long)
}

func TestListedMembersPassThroughInTheSameDialect(t *testing.T) {
	// If a target does not support a parameter, it gets a re-encoded body, which still has the fields of its own
	// dialect.
	h := request{
		path: "/v1/chat/completions", provider: [][]abi.Event{wholeResponse(200, openaiResponse)},
		body: `{"model":"plain","messages":[{"role":"user","content":"Hello"}],"max_tokens":100,"temperature":1,"logit_bias":{},"special":7}`,
	}.run(t)
	equal(t, "x-postern-dropped-params", h.header("x-postern-dropped-params"), "special,temperature")
	body := h.bodyText(h.one(abi.ActionFetch).Body)
	contains(t, "provider's body", body, `"logit_bias":{}`)
	equal(t, "a member that no list knows is in the provider's body", strings.Contains(body, "special"), false)
}

// TestIgnoredMembersOfOtherEndpoints: responses with embeddings or token counts also name the fields that the
// provider did not get.
func TestIgnoredMembersOfOtherEndpoints(t *testing.T) {
	embeddings := `{"object":"list","data":[{"embedding":[1]}],"usage":{"prompt_tokens":3}}`
	for path, body := range map[string]string{
		"/v1/embeddings": `{"model":"vectors","input":"Hello","special":7}`, "/v1/messages/count_tokens": `{"model":"claude","messages":[{"role":"user","content":"Hello"}],"special":7}`,
	} {
		for strict, status := range map[string]uint64{"false": 200, "true": 400} {
			h := request{
				path: path, body: body, headers: []abi.Header{{Name: "x-postern-strict", Value: strict}},
				provider: [][]abi.Event{wholeResponse(200, map[bool]string{true: embeddings, false: `{"input_tokens":3}`}[path == "/v1/embeddings"])},
			}.run(t)
			equal(t, path+", strict "+strict, h.status(), status)
			if status == 200 {
				equal(t, path+": x-postern-dropped-params", h.header("x-postern-dropped-params"), "special")
				equal(t, path+": the provider gets it", strings.Contains(h.bodyText(h.one(abi.ActionFetch).Body)+string(h.Buffers.Content(2)), "special"), false)
			}
		}
	}
}

func TestStrictRequestIsRejectedInsteadOfReduced(t *testing.T) {
	strict := abi.Header{Name: "x-postern-strict", Value: "true"}
	equal(t, "status without extra members", claudeCompletion(t, "", strict).status(), 200)
	unknown := claudeCompletion(t, `,"special":7`, strict)
	equal(t, "status with a member that no list knows", unknown.status(), 400)
	contains(t, "response", unknown.responseBody(), "special is not a parameter that the catalog forwards")
	h := claudeCompletion(t, `,"logit_bias":{}`, strict)
	equal(t, "status", h.status(), 400)
	contains(t, "response", h.responseBody(), "logit_bias")
	equal(t, "fetches", len(h.all(abi.ActionFetch)), 0)
	equal(t, "x-should-retry", h.header("x-should-retry"), "false")
	seed := claudeCompletion(t, `,"seed":7`, strict)
	equal(t, "status with an unsupported parameter", seed.status(), 400)
	contains(t, "response", seed.responseBody(), "seed")
}

func TestStrictAllowsDroppingDefaults(t *testing.T) {
	status := func(members string) uint64 {
		return request{
			path: "/api/ai/complete", headers: []abi.Header{{Name: "x-postern-strict", Value: "true"}}, provider: [][]abi.Event{wholeResponse(200, openaiResponse)},
			body: `{"quality":"frontier","messages":[{"role":"user","content":"Hello"}],"maxTokens":5` + members + `}`,
		}.run(t).status()
	}
	equal(t, "status with the default temperature", status(""), 200)
	equal(t, "status with the caller's temperature", status(`,"temperature":1`), 400)
}

func TestBodyHashNeedsAnIdempotencyKey(t *testing.T) {
	for _, body := range []string{openaiRequest, "{"} {
		admit := func(headers ...abi.Header) *keymeter.Admit {
			h := request{path: "/v1/chat/completions", body: body, headers: headers, provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}.run(t)
			return sentCommands[*keymeter.Admit](h)[0]
		}
		plain, named := admit(), admit(abi.Header{Name: "idempotency-key", Value: "order-1"})
		equal(t, "body hash without a key", plain.BodyHash, "")
		equal(t, "length of the hash with a key", len(named.BodyHash), 64)
		equal(t, "length of the key's hash", len(named.Idempotency), 64)
	}
}

func TestBodyHashDiffersForStreams(t *testing.T) {
	hash := func(body string, answer []abi.Event) string {
		h := request{path: "/v1/chat/completions", body: body, headers: []abi.Header{{Name: "idempotency-key", Value: "order-1"}}, provider: [][]abi.Event{answer}}.run(t)
		return sentCommands[*keymeter.Admit](h)[0].BodyHash
	}
	whole := hash(openaiRequest, wholeResponse(200, openaiResponse))
	equal(t, "hash of a stream", hash(strings.Replace(openaiRequest, "{", `{"stream":true,`, 1), streamEvents(greeting, finish+"data: [DONE]\n\n")), whole+"/stream")
}

func runEmbeddings(t *testing.T, members string) *host {
	data := `{"object":"embedding","index":0,"embedding":[0.5,-2]}`
	if strings.Contains(members, `"b"`) || strings.Contains(members, "[3]") {
		data = `{"object":"embedding","index":1,"embedding":[7]},` + data
	}
	answer := `{"object":"list","data":[` + data + `],"model":"m","usage":{"prompt_tokens":3,"total_tokens":3}}`
	return request{path: "/v1/embeddings", body: "{" + members + "}", provider: [][]abi.Event{wholeResponse(200, answer)}}.run(t)
}

func TestInvalidEmbeddingsAreRejected(t *testing.T) {
	h := runEmbeddings(t, `"model":"vectors","input":["a",[1]]`)
	equal(t, "status", h.status(), 400)
	contains(t, "response", h.responseBody(), "must contain only strings or only arrays of token IDs")
}

func TestEmbeddingsInputs(t *testing.T) {
	for members, sent := range map[string]string{
		`"input":"a"`:         `["a"]`,
		`"input":["a","b"]`:   `["a","b"]`,
		`"input":[1,2]`:       `[[1,2]]`,
		`"input":[[1,2],[3]]`: `[[1,2],[3]]`,
	} {
		h := runEmbeddings(t, `"model":"vectors",`+members)
		equal(t, fmt.Sprintf("status of %.60s", members), h.status(), 200)
		contains(t, "provider's body", h.bodyText(h.one(abi.ActionFetch).Body), sent)
		contains(t, "first vector", h.responseBody(), `"data":[{"object":"embedding","index":0,"embedding":[0.5,-2]}`)
	}
}

func TestEmbeddingsEncoding(t *testing.T) {
	for format, vector := range map[string]string{
		``: `"embedding":[0.5,-2]`, `,"encoding_format":"float"`: `"embedding":[0.5,-2]`, `,"encoding_format":null`: `"embedding":[0.5,-2]`,
		`,"encoding_format":"base64"`: `"embedding":"AAAAPwAAAMA="`,
	} {
		contains(t, "response", runEmbeddings(t, `"model":"vectors","input":"a"`+format).responseBody(), vector)
	}
}

func TestImplausibleEmbeddingsUsageIsEstimated(t *testing.T) {
	for usage, tokens := range map[string]string{`,"usage":{"prompt_tokens":5}`: `"prompt_tokens":5`, ``: `"prompt_tokens":3`, `,"usage":{"prompt_tokens":-3}`: `"prompt_tokens":3`} {
		h := request{path: "/v1/embeddings", body: `{"model":"vectors","input":"Hello there"}`,
			provider: [][]abi.Event{wholeResponse(200, `{"data":[{"index":0,"embedding":[1]}]`+usage+`}`)}}.run(t)
		contains(t, "response", h.responseBody(), tokens)
	}
}

// TestBodyHashOutlivesTheCatalog checks that a retry is recognized after an update of the catalog.
func TestBodyHashOutlivesTheCatalog(t *testing.T) {
	hash := func(overlay, body string) string {
		h := request{path: "/v1/chat/completions", key: developmentKey, body: body, overlay: overlay, headers: []abi.Header{{Name: "idempotency-key", Value: "once"}}}.run(t)
		return sentCommands[*keymeter.Admit](h)[0].BodyHash
	}
	first := hash("", openaiRequest)
	equal(t, "hash after an update", hash(`{"version":"2026-12"}`, openaiRequest), first)
	if other := hash("", strings.Replace(openaiRequest, "Hello", "Hallo", 1)); other == first || first == "" {
		t.Errorf("the hash of another body is %q, too", other)
	}
}
