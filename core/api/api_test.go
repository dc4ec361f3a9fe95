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

func TestParserBody(t *testing.T) {
	for body, want := range map[string]string{
		"":              "body is required",
		"{":             "body must be valid JSON; the error is at byte",
		`{"a":1}}`:      "body must be valid JSON; the error is at byte",
		" ":             "body",
		"[]":            "body must be a JSON object, got an array",
		"7":             "body must be a JSON object, got a number",
		"null":          "body must be a JSON object, got null",
		`"{}"`:          "body must be a JSON object, got a string",
		`{"a":1,"a":2}`: "body must",
	} {
		p := api.Parser{}
		_, ok := p.Body([]byte(body))
		if ok || len(p.Details) != 1 || !strings.HasPrefix(p.Details[0].Field+" "+p.Details[0].Message, want) {
			t.Errorf("%s: got %t, %v, want %s", body, ok, p.Details, want)
		}
	}
	for _, body := range []string{"{}", ` {"a":[1]} `} {
		p := api.Parser{}
		root, ok := p.Body([]byte(body))
		if !ok || len(p.Details) > 0 || !root.IsObject() || strings.TrimSpace(root.Raw) != strings.TrimSpace(body) {
			t.Errorf("%s: got %s, %t, %v", body, root.Raw, ok, p.Details)
		}
	}
}
