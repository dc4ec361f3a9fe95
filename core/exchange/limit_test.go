package exchange_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
)

// open is a completion without a limit, whose prompt is about so many words.
func open(model string, words int, members string) string {
	return `{"model":"` + model + `","messages":[{"role":"user","content":"` + strings.Repeat("word ", words) + `"}]` + members + `}`
}

// reserving sends a body; reserved is what the meter reserves, 0 for all that was asked.
func reserving(t *testing.T, body string, reserved int64) *host {
	r := request{path: "/v1/chat/completions", body: body, provider: [][]abi.Event{whole(200, goodAnswer)}}
	if strings.Contains(body, `"stream":true`) {
		r.provider[0] = flowing(greeting, finish+"data: [DONE]\n\n")
	}
	if reserved > 0 {
		r.verdicts = []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, ReservedPico: reserved}}
	}
	return r.run(t)
}

// micro is a millionth of a dollar: one token of a model of a dollar a million.
const micro = 1_000_000

func TestReservationIsForTheLongestAnswer(t *testing.T) {
	for _, c := range []struct {
		what, body string
		tokens     int64 // of the answer; the prompt is bounded by 10
		price      int64
	}{
		{"a limit", open("gpt", 1, `,"max_tokens":100`), 100, 10},
		{"a limit, twice", open("gpt", 1, `,"max_tokens":100,"n":2`), 200, 10},
		{"the model's maximum", open("gpt", 1, ""), 32_000, 10},
		{"nothing known of the model", open("house", 1, ""), 32_768, 1},
		{"a context that is larger than what is assumed", open("roomy", 1, ""), 32_768, 1},
		{"a small context", open("small", 1, ""), 8192 - 10, 1},
		{"a stream", open("gpt", 1, `,"stream":true`), 1024, 10},
		{"a stream with a low limit", open("gpt", 1, `,"stream":true,"max_tokens":50`), 50, 10},
	} {
		h := reserving(t, c.body, 0)
		admit := told[*keymeter.Admit](h)[0]
		equal(t, "what is reserved with "+c.what, admit.AmountPico, (10+c.tokens*c.price)*micro)
	}
}

func TestLongPromptLeavesTheRestOfASmallContext(t *testing.T) {
	for words, tokens := range map[int]int64{1: 8192 - 10, 1500: 8192 - 2*1503, 3000: 8192} {
		admit := told[*keymeter.Admit](reserving(t, open("small", words, ""), 0))[0]
		prompt := admit.AmountPico/micro - tokens
		if prompt < int64(words) || prompt > 4*int64(words)+20 {
			t.Errorf("%d micros are reserved for a prompt of %d words and an answer of %d tokens", admit.AmountPico/micro, words, tokens)
		}
	}
}

// limits are the limit that the provider got and the one that the caller was told, as far as there is one.
func limits(h *host) string {
	body := h.text(h.last(abi.ActionFetch).Body)
	sent := "none"
	if _, after, ok := strings.Cut(body, `"max_tokens":`); ok {
		sent, _, _ = strings.Cut(after, "}")
		sent, _, _ = strings.Cut(sent, ",")
	}
	return fmt.Sprintf("%s/%s", sent, h.header("x-postern-max-tokens"))
}

func TestWhatWasReservedIsTheProvidersLimit(t *testing.T) {
	for _, c := range []struct {
		what, body string
		reserved   int64
		limits     string
	}{
		{"all that the model gives", open("gpt", 1, ""), 0, "none/"},
		{"less", open("gpt", 1, ""), (10 + 5000*10) * micro, "5000/5000"},
		{"a little more than that", open("gpt", 1, ""), (10+5000*10)*micro + 9*micro, "5000/5000"},
		{"less than the least", open("gpt", 1, ""), (10 + 100*10) * micro, "4096/4096"},
		{"the caller's limit", open("gpt", 1, `,"max_tokens":100`), (10 + 50*10) * micro, "100/"},
		{"what is assumed of a model that nothing is known of", open("house", 1, ""), 0, "32768/32768"},
		{"what a small context leaves", open("small", 1, ""), 0, "8182/8182"},
		{"less of a small context", open("small", 1, ""), (10 + 5000) * micro, "5000/5000"},
		{"all of a context that the prompt nearly fills", open("small", 3000, ""), 0, "none/"},
		{"less of a context that the prompt nearly fills", open("small", 3000, ""), (7000 + 10) * micro, "4096/4096"},
	} {
		h := reserving(t, c.body, c.reserved)
		equal(t, "the limits with "+c.what, limits(h), c.limits)
	}
	free := `{"models":[{"name":"gratis","provider":"openai","input":"1","output":"0","source":"made up","date":"2026-11"}]}`
	h := request{path: "/v1/chat/completions", overlay: free, body: open("gratis", 1, ""), provider: [][]abi.Event{whole(200, goodAnswer)}}.run(t)
	equal(t, "the limits of a model whose answers are free", limits(h), "none/")
	h = request{path: "/v1/chat/completions", body: open("house", 1, ""), provider: [][]abi.Event{whole(200, goodAnswer)},
		record: func(r *doc.Record) { r.Unbounded = true }}.run(t)
	equal(t, "the limits in a project that wants none", limits(h), "none/")
	equal(t, "what that reserves", told[*keymeter.Admit](h)[0].AmountPico, (10+4096)*micro)
}

func TestLimitOfALaterTargetIsWhatIsLeft(t *testing.T) {
	// The first answer broke off on its way: its prompt is paid.
	h := request{
		path: "/v1/chat/completions", body: open("balanced", 1, ""), verdicts: []*keymeter.AdmitReply{{Verdict: keymeter.Admitted, ReservedPico: 13000 * micro}},
		provider: [][]abi.Event{{{Kind: abi.EventFault, Code: abi.FaultTotal}}, whole(200, goodAnswer)},
	}.run(t)
	equal(t, "the limits", limits(h), "6492/6492") // (13000 - 5 - 10) / 2
}

func TestCheapestTargetIsThatOfTheExpectedAnswer(t *testing.T) {
	// gpt's answers cost more than mini's, its prompts a little less.
	prices := `{"models":[{"name":"gpt","provider":"openai","input":"0.99","output":"10","source":"made up","date":"2026-11"},
		{"name":"mini","provider":"openai","input":"1","output":"2","source":"made up","date":"2026-11"}]}`
	first := func(limit string) string {
		h := request{path: "/v1/chat/completions", overlay: prices, body: open("thrifty", 3000, limit), provider: [][]abi.Event{whole(200, goodAnswer)}}.run(t)
		return h.header("x-postern-model")
	}
	equal(t, "the model of an answer without a limit", first(""), "mini")
	equal(t, "that of a short one", first(`,"max_tokens":1`), "gpt")
	equal(t, "that of a long one", first(`,"max_tokens":1000`), "mini")
}
