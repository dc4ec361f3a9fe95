package exchange_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
)

// translated is a chat completion for claude, whose dialect has no place for some members.
func translated(t *testing.T, members string, headers ...abi.Header) *host {
	return request{
		path: "/v1/chat/completions", headers: headers, provider: [][]abi.Event{whole(200, goodMessage)},
		body: `{"model":"claude","messages":[{"role":"user","content":"Hello"}],"max_tokens":100` + members + `}`,
	}.run(t)
}

func TestMembersOfAnotherDialectAreNamed(t *testing.T) {
	names := func(members string) string { return translated(t, members).header("x-postern-dropped-params") }
	equal(t, "one", names(`,"azZA09_.-":1`), "azZA09_.-")
	equal(t, "two, after a parameter", names(`,"seed":1,"b1":1,"b2":1`), "seed,b1,b2")
	equal(t, "none", names(""), "")
	for _, odd := range []string{"a b", "a/b", "a:b", "a@b", "a[b", "a{b", "a`b", "é", "a,b", ""} {
		equal(t, fmt.Sprintf("names beside %q", odd), names(fmt.Sprintf(`,%q:1,"z":1`, odd)), "z")
	}
	many, first := "", []string{}
	for i := range 20 {
		many += fmt.Sprintf(`,"x%d":1`, i)
		first = append(first, fmt.Sprintf("x%d", i))
	}
	equal(t, "many", names(many), strings.Join(first[:16], ","))
	long := strings.Repeat("l", 300)
	equal(t, "long ones", names(`,"`+long+`":1,"`+long+`2":1`), long)
}

func TestMembersOfTheSameDialectGoOn(t *testing.T) {
	// A target that lacks a parameter gets the body written anew, and still what only its dialect has.
	h := request{
		path: "/v1/chat/completions", provider: [][]abi.Event{whole(200, goodAnswer)},
		body: `{"model":"plain","messages":[{"role":"user","content":"Hello"}],"max_tokens":100,"temperature":1,"special":7}`,
	}.run(t)
	equal(t, "x-postern-dropped-params", h.header("x-postern-dropped-params"), "temperature")
	want(t, "the provider's body", h.text(h.one(abi.ActionFetch).Body), `"special":7`)
}

func TestStrictRequestIsNotCutDown(t *testing.T) {
	strict := abi.Header{Name: "x-postern-strict", Value: "true"}
	equal(t, "the status without further members", translated(t, "", strict).status(), 200)
	h := translated(t, `,"special":7`, strict)
	equal(t, "the status", h.status(), 400)
	want(t, "the answer", h.answered(), "special")
	equal(t, "fetches", len(h.all(abi.ActionFetch)), 0)
	equal(t, "x-should-retry", h.header("x-should-retry"), "false")
	seed := translated(t, `,"seed":7`, strict)
	equal(t, "the status with a parameter that is not carried", seed.status(), 400)
	want(t, "the answer", seed.answered(), "seed")
}

func TestStrictRequestMayLoseWhatItDidNotName(t *testing.T) {
	status := func(members string) uint64 {
		return request{
			path: "/api/ai/complete", headers: []abi.Header{{Name: "x-postern-strict", Value: "true"}}, provider: [][]abi.Event{whole(200, goodAnswer)},
			body: `{"quality":"frontier","messages":[{"role":"user","content":"Hello"}],"maxTokens":5` + members + `}`,
		}.run(t).status()
	}
	equal(t, "the status with our default temperature", status(""), 200)
	equal(t, "the status with the caller's", status(`,"temperature":1`), 400)
}

func TestBodyHashStandsBesideAnIdempotencyKeyOnly(t *testing.T) {
	for _, body := range []string{hello, "{"} {
		admit := func(headers ...abi.Header) *keymeter.Admit {
			h := request{path: "/v1/chat/completions", body: body, headers: headers, provider: [][]abi.Event{whole(200, goodAnswer)}}.run(t)
			return told[*keymeter.Admit](h)[0]
		}
		plain, named := admit(), admit(abi.Header{Name: "idempotency-key", Value: "order-1"})
		equal(t, "the hash without a key", plain.BodyHash, "")
		equal(t, "the length of a hash with one", len(named.BodyHash), 64)
		equal(t, "the length of the key's hash", len(named.Idempotency), 64)
	}
}

func TestIdempotencyKeyOfAStreamIsNotThatOfAWholeAnswer(t *testing.T) {
	hash := func(body string, answer []abi.Event) string {
		h := request{path: "/v1/chat/completions", body: body, headers: []abi.Header{{Name: "idempotency-key", Value: "order-1"}}, provider: [][]abi.Event{answer}}.run(t)
		return told[*keymeter.Admit](h)[0].BodyHash
	}
	whole := hash(hello, whole(200, goodAnswer))
	equal(t, "the stream's", hash(strings.Replace(hello, "{", `{"stream":true,`, 1), flowing(greeting, finish+"data: [DONE]\n\n")), whole+"/stream")
}

func embed(t *testing.T, members string) *host {
	answer := `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5,-2]}],"model":"m","usage":{"prompt_tokens":3,"total_tokens":3}}`
	return request{path: "/v1/embeddings", body: "{" + members + "}", provider: [][]abi.Event{whole(200, answer)}}.run(t)
}

func TestEmbeddingsAreChecked(t *testing.T) {
	for members, complaint := range map[string]string{
		`"model":"vectors"`:                                                   "input is required",
		`"input":"a"`:                                                         "model is required",
		`"model":"vectors","input":7`:                                         "must be a string or an array",
		`"model":"vectors","input":[]`:                                        "must have 1 to 2048 elements",
		`"model":"vectors","input":["a",[1]]`:                                 "must be all strings or all arrays of token IDs",
		`"model":"vectors","input":[[1,"a"]]`:                                 "must be all strings or all arrays of token IDs",
		`"model":"vectors","input":[1,"a"]`:                                   "must be all strings or all arrays of token IDs",
		`"model":"vectors","input":["a",7]`:                                   "input",
		`"model":"vectors","input":"a","dimensions":0`:                        "dimensions",
		`"model":"vectors","input":"a","encoding_format":"hex"`:               "must be float or base64",
		`"model":"vectors","input":"a","encoding_format":7`:                   "must be float or base64",
		`"model":"vectors","input":["` + strings.Repeat(`a","`, 2048) + `a"]`: "must have 1 to 2048 elements",
		`"model":"vectors","input":[[1]` + strings.Repeat(",[1]", 2048) + `]`: "must have 1 to 2048 elements",
		`"input":"a","encoding_format":"hex"`:                                 "must be float or base64",
		`"model":"vectors","input":["a",7],"user":3`:                          "input",
	} {
		h := embed(t, members)
		equal(t, fmt.Sprintf("the status of %.60s", members), h.status(), 400)
		want(t, fmt.Sprintf("the answer to %.60s", members), h.answered(), complaint)
	}
	// A model that is missing is not what is said first of a request that is wrong otherwise.
	if text := embed(t, `"input":"a","encoding_format":"hex"`).answered(); strings.Contains(text, "model") {
		t.Errorf("the answer complains of the model, too: %s", text)
	}
	if text := embed(t, `"model":"vectors","input":[7,"a"]`).answered(); strings.Contains(text, "1 to 2048") {
		t.Errorf("the answer complains of the number of inputs, too: %s", text)
	}
}

func TestEmbeddingsInputs(t *testing.T) {
	for members, sent := range map[string]string{
		`"input":"a"`:         `["a"]`,
		`"input":["a","b"]`:   `["a","b"]`,
		`"input":[1,2]`:       `[[1,2]]`,
		`"input":[[1,2],[3]]`: `[[1,2],[3]]`,
		`"input":["` + strings.Repeat(`a","`, 2047) + `a"]`: `"a"]`,
	} {
		h := embed(t, `"model":"vectors",`+members)
		equal(t, fmt.Sprintf("the status of %.60s", members), h.status(), 200)
		want(t, "the provider's body", h.text(h.one(abi.ActionFetch).Body), sent)
	}
}

func TestEmbeddingsEncoding(t *testing.T) {
	for format, vector := range map[string]string{
		``: `"embedding":[0.5,-2]`, `,"encoding_format":"float"`: `"embedding":[0.5,-2]`, `,"encoding_format":null`: `"embedding":[0.5,-2]`,
		`,"encoding_format":"base64"`: `"embedding":"AAAAPwAAAMA="`,
	} {
		want(t, "the answer", embed(t, `"model":"vectors","input":"a"`+format).answered(), vector)
	}
}

func TestEmbeddingsWithoutBelievableUsageAreEstimated(t *testing.T) {
	for usage, tokens := range map[string]string{`,"usage":{"prompt_tokens":5}`: `"prompt_tokens":5`, ``: `"prompt_tokens":3`, `,"usage":{"prompt_tokens":-3}`: `"prompt_tokens":3`} {
		h := request{path: "/v1/embeddings", body: `{"model":"vectors","input":"Hello there"}`,
			provider: [][]abi.Event{whole(200, `{"data":[{"index":0,"embedding":[1]}]`+usage+`}`)}}.run(t)
		want(t, "the answer", h.answered(), tokens)
	}
}
