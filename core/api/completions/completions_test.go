package completions_test

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/completions"
)

// TestSuffixIsPartOfThePrompt: providers charge the suffix as input with each prompt, so it is reserved with each
// prompt.
func TestSuffixIsPartOfThePrompt(t *testing.T) {
	tokens := func(body string) uint64 {
		p := api.Parser{Skim: true}
		parsed := completions.Parse(&p, gjson.Parse(body))
		if len(p.Details) > 0 {
			t.Fatalf("%s: %+v", body, p.Details)
		}
		return parsed.PromptTokens
	}
	text := strings.Repeat("some words ", 1000)
	one := tokens(`{"model":"m","prompt":"a"}`)
	long := tokens(`{"model":"m","prompt":"` + text + `"}`)
	for body, want := range map[string]uint64{
		`{"model":"m","prompt":"a","suffix":null}`:                   one,
		`{"model":"m","prompt":"a","suffix":"` + text + `"}`:         one + long,
		`{"model":"m","suffix":"` + text + `","prompt":["a","a"]}`:   2 * (one + long),
		`{"model":"m","suffix":"` + text + `","prompt":[[1],[2,3]]}`: 3 + 2*long,
	} {
		if got := tokens(body); got != want {
			t.Errorf("%.40s…: got %d tokens, want %d", body, got, want)
		}
	}
}
