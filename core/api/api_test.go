package api_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/api"
)

func TestQuoteHidesKeys(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  `""`,
		"best":                              `"best"`,
		"sk-short":                          `"sk-short"`,
		"claude-sonnet-4-5-20250929":        `"claude-sonnet-4-5-20250929"`,
		"meta-llama/Llama-3.3-70B-Instruct": `"meta-llama/Llama-3.3-70B-Instruct"`,
		"sk-upstream-SWORD-7f3a9c2e51":      "a string of 28 bytes",
		"token AIzaSyA1b2C3d4E5f6G7":        "a string of 26 bytes",
		strings.Repeat("a-", 25):            "a string of 50 bytes",
	} {
		if got := api.Quote(text); got != want {
			t.Errorf("Quote(%q) is %s, want %s", text, got, want)
		}
	}
}
