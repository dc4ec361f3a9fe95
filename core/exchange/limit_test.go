package exchange_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
)

// chatCompletion returns a completion request with a prompt of the given number of words and with additional fields.
func chatCompletion(model string, words int, members string) string {
	return `{"model":"` + model + `","messages":[{"role":"user","content":"` + strings.Repeat("word ", words) + `"}]` + members + `}`
}

// runReserved runs a request for which the meter reserves the given amount. If reserved is 0, the meter reserves the
// requested amount.
func runReserved(t *testing.T, body string, reserved int64) *host {
	r := request{path: "/v1/chat/completions", body: body, provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}
	if strings.Contains(body, `"stream":true`) {
		r.provider[0] = streamEvents(greeting, finish+"data: [DONE]\n\n")
	}
	if reserved > 0 {
		r.verdicts = []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, ReservedPico: reserved}}
	}
	return r.run(t)
}

// microDollar is a millionth of a dollar. At a dollar per million tokens, it is the price of one token.
const microDollar = 1_000_000

func TestReservationCoversTheLongestResponse(t *testing.T) {
	for _, c := range []struct {
		what, body string
		tokens     int64 // of the response; the prompt has at most 10 tokens
		price      int64
	}{
		{"max tokens", chatCompletion("gpt", 1, `,"max_tokens":100`), 100, 10},
		{"max tokens for two choices", chatCompletion("gpt", 1, `,"max_tokens":100,"n":2`), 200, 10},
		{"the model's maximum", chatCompletion("gpt", 1, ""), 32_000, 10},
		{"no known model limits", chatCompletion("house", 1, ""), 32_768, 1},
		{"a context larger than the assumed output limit", chatCompletion("roomy", 1, ""), 32_768, 1},
		{"a small context", chatCompletion("small", 1, ""), 8192 - 10, 1},
		{"a stream", chatCompletion("gpt", 1, `,"stream":true`), 1024, 10},
		{"a stream with low max tokens", chatCompletion("gpt", 1, `,"stream":true,"max_tokens":50`), 50, 10},
	} {
		h := runReserved(t, c.body, 0)
		admit := sentCommands[*keymeter.Admit](h)[0]
		equal(t, "reserved amount with "+c.what, admit.AmountPico, (10+c.tokens*c.price)*microDollar)
	}
}

func TestLongPromptInASmallContext(t *testing.T) {
	for words, tokens := range map[int]int64{1: 8192 - 10, 1500: 8192 - 2*1503, 3000: 8192} {
		admit := sentCommands[*keymeter.Admit](runReserved(t, chatCompletion("small", words, ""), 0))[0]
		prompt := admit.AmountPico/microDollar - tokens
		if prompt < int64(words) || prompt > 4*int64(words)+20 {
			t.Errorf("reserved %d microdollars for a prompt of %d words and a response of %d tokens", admit.AmountPico/microDollar, words, tokens)
		}
	}
}

// maxTokensSeen returns "SENT/REPORTED": the max_tokens that the provider got, and the value of x-postern-max-tokens.
func maxTokensSeen(h *host) string {
	body := h.bodyText(h.last(abi.ActionFetch).Body)
	sent := "none"
	if _, after, ok := strings.Cut(body, `"max_tokens":`); ok {
		sent, _, _ = strings.Cut(after, "}")
		sent, _, _ = strings.Cut(sent, ",")
	}
	return fmt.Sprintf("%s/%s", sent, h.header("x-postern-max-tokens"))
}

func TestReservationBecomesMaxTokens(t *testing.T) {
	for _, c := range []struct {
		what, body string
		reserved   int64
		limits     string
	}{
		{"a reservation for the model's maximum", chatCompletion("gpt", 1, ""), 0, "none/"},
		{"a smaller reservation", chatCompletion("gpt", 1, ""), (10 + 5000*10) * microDollar, "5000/5000"},
		{"a reservation between two token counts", chatCompletion("gpt", 1, ""), (10+5000*10)*microDollar + 9*microDollar, "5000/5000"},
		{"a reservation below the minimum", chatCompletion("gpt", 1, ""), (10 + 100*10) * microDollar, "4096/4096"},
		{"the caller's limit", chatCompletion("gpt", 1, `,"max_tokens":100`), (10 + 50*10) * microDollar, "100/"},
		{"no known model limits", chatCompletion("house", 1, ""), 0, "32768/32768"},
		{"the rest of a small context", chatCompletion("small", 1, ""), 0, "8182/8182"},
		{"a smaller reservation in a small context", chatCompletion("small", 1, ""), (10 + 5000) * microDollar, "5000/5000"},
		{"a prompt that nearly fills the context", chatCompletion("small", 3000, ""), 0, "none/"},
		{"a smaller reservation with such a prompt", chatCompletion("small", 3000, ""), (7000 + 10) * microDollar, "4096/4096"},
	} {
		h := runReserved(t, c.body, c.reserved)
		equal(t, "max tokens with "+c.what, maxTokensSeen(h), c.limits)
	}
	free := `{"models":[{"name":"gratis","provider":"openai","input":"1","output":"0","source":"made up","date":"2026-11"}]}`
	h := request{path: "/v1/chat/completions", overlay: free, body: chatCompletion("gratis", 1, ""), provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}.run(t)
	equal(t, "max tokens of a model with free output", maxTokensSeen(h), "none/")
	h = request{path: "/v1/chat/completions", body: chatCompletion("house", 1, ""), provider: [][]abi.Event{wholeResponse(200, openaiResponse)},
		record: func(r *doc.Record) { r.Unbounded = true }}.run(t)
	equal(t, "max tokens in an unbounded project", maxTokensSeen(h), "none/")
	equal(t, "reserved amount without a limit", sentCommands[*keymeter.Admit](h)[0].AmountPico, (10+4096)*microDollar)
}

func TestMaxTokensOfALaterTarget(t *testing.T) {
	// The first attempt times out, and its estimated prompt is charged.
	h := request{
		path: "/v1/chat/completions", body: chatCompletion("balanced", 1, ""), verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, ReservedPico: 13000 * microDollar}},
		provider: [][]abi.Event{{{Kind: abi.EventFault, Code: abi.FaultTotal}}, wholeResponse(200, openaiResponse)},
	}.run(t)
	equal(t, "max tokens", maxTokensSeen(h), "6492/6492") // (13000 - 5 - 10) / 2
}

func TestCheapestTargetDependsOnTheExpectedResponse(t *testing.T) {
	// gpt's output costs more than mini's, and its input slightly less.
	prices := `{"models":[{"name":"gpt","provider":"openai","input":"0.99","output":"10","source":"made up","date":"2026-11"},
		{"name":"mini","provider":"openai","input":"1","output":"2","source":"made up","date":"2026-11"}]}`
	first := func(limit string) string {
		h := request{path: "/v1/chat/completions", overlay: prices, body: chatCompletion("thrifty", 3000, limit), provider: [][]abi.Event{wholeResponse(200, openaiResponse)}}.run(t)
		return h.header("x-postern-model")
	}
	equal(t, "model without max_tokens", first(""), "mini")
	equal(t, "model with a short response", first(`,"max_tokens":1`), "gpt")
	equal(t, "model with a long response", first(`,"max_tokens":1000`), "mini")
}
