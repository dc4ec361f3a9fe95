package head_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/api/head"
)

func check(t *testing.T, name string, f func(string) bool, yes, no []string) {
	t.Helper()
	for _, text := range yes {
		if !f(text) {
			t.Errorf("%s(%q) is false", name, text)
		}
	}
	for _, text := range no {
		if f(text) {
			t.Errorf("%s(%q) is true", name, text)
		}
	}
}

func TestIsJSON(t *testing.T) {
	check(t, "IsJSON", head.IsJSON,
		[]string{"application/json", "Application/JSON", " application/json ; charset=utf-8"},
		[]string{"", "text/plain", "application/jsonl", "application/problem+json", "text/plain; application/json"})
}

func TestIsPrintable(t *testing.T) {
	check(t, "IsPrintable", head.IsPrintable, []string{"", " ", "~", "order 1"}, []string{"\x1f", "a\tb", "a\x7f", "é", "a\n"})
}

func TestIsWord(t *testing.T) {
	check(t, "IsWord", head.IsWord,
		[]string{"a", "Z", "0", "9", "top_k", "a.b-c", "azAZ09"},
		[]string{"", "a b", "a,b", "a/", "a:", "@", "[", "`", "{", "é", "a\n"})
}

func TestUint(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "007": 7, "999999999999999": 999_999_999_999_999, "19": 19} {
		if got, ok := head.Uint(text); got != want || !ok {
			t.Errorf("Uint(%q) is %d, %t", text, got, ok)
		}
	}
	for _, text := range []string{"", "1000000000000000", "-1", "+1", "1 ", "1.0", "0x1", "/9", "9/", ":0", "0:"} {
		if got, ok := head.Uint(text); ok {
			t.Errorf("Uint(%q) is %d", text, got)
		}
	}
}

func TestCacheControl(t *testing.T) {
	type directives struct {
		noStore, noCache bool
		maxAge           uint64
	}
	for text, want := range map[string]directives{
		"":                             {},
		"no-store":                     {noStore: true},
		" No-Cache ":                   {noCache: true},
		"no-cache, no-store":           {noStore: true, noCache: true},
		"max-age=0":                    {maxAge: 1},
		`public,max-age="60" , x=y,,`:  {maxAge: 61},
		"max-age= 5 ":                  {maxAge: 6},
		"max-age=5, max-age=6":         {maxAge: 7},
		"max-age":                      {},
		"max-age=-1":                   {},
		"max-age=1.5":                  {},
		"max-age=1, max-age=none":      {maxAge: 2},
		"no-store-x, xno-cache":        {},
		"private, no-store=\"cookie\"": {noStore: true},
	} {
		var got directives
		if got.noStore, got.noCache, got.maxAge = head.CacheControl(text); got != want {
			t.Errorf("CacheControl(%q) is %+v, want %+v", text, got, want)
		}
	}
}

func TestIsWellEscaped(t *testing.T) {
	check(t, "IsWellEscaped", head.IsWellEscaped,
		[]string{"", "/", "/a%2Fb", "/%05%9a%Af%F0", "/%00a%ff", "/%25%25"},
		[]string{"%", "/%", "/%4", "/%g0", "/%0g", "/%/0", "/%0/", "/%:0", "/%0:", "/%`0", "/%@0", "/%G0", "/%00%zz", "/%%00"})
}

func TestQueryParam(t *testing.T) {
	for query, want := range map[string]string{
		"":                "",
		"id=a":            "a",
		"id=a&id=b":       "a",
		"x=1&id=a&y":      "a",
		"id":              "",
		"id&id=a":         "",
		"xid=a&id2=b&i=c": "",
		"&&id=a%20b=c":    "a%20b=c",
		"x=id=a":          "",
		"ID=a":            "",
		"id=a;y=2&z":      "a;y=2",
		"x=" + strings.Repeat("&", 1000) + "id=last": "last",
	} {
		if got := head.QueryParam(query, "id"); got != want {
			t.Errorf("QueryParam(%.40q) is %q, want %q", query, got, want)
		}
	}
}

func TestPrograms(t *testing.T) {
	for agent, want := range map[string]string{
		"":                                      "",
		"curl/8.5":                              "curl/8.5",
		"codex_exec/0.169.0 (Debian 12; x)":     "codex_exec/0.169.0",
		"OpenAI/JS 5.1.0":                       "OpenAI/JS",
		"a/1 b/2":                               "a/1 b/2",
		"sk_live_2kPQ x/1":                      "x/1",
		"x/sk_live_0123456789012345678901":      "",
		"<script>/1 x/<b>":                      "",
		"a/1 " + strings.Repeat("b", 33) + "/1": "a/1",
		"/1 a/ /":                               "",
	} {
		if got := head.Programs(agent, 100); got != want {
			t.Errorf("%q: got %q, want %q", agent, got, want)
		}
	}
	if got := head.Programs("abc/1 def/2", 10); got != "abc/1" {
		t.Errorf("got %q", got)
	}
}
