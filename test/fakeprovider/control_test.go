package fakeprovider_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/test/fakeprovider"
)

func TestControl(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	f := families()[0]
	if resp := do(t, s, "/__fake/next", `{"kind":"status","status":429,"headers":{"Retry-After":"3"},"times":2}`, nil); resp.StatusCode != 204 {
		t.Fatal(resp.Status)
	}
	for _, want := range []int{429, 429, 200} {
		if status, body := post(t, s, f, fill(f.wholeBody, "hi")); status != want {
			t.Errorf("%d, want %d: %s", status, want, body)
		}
	}
	seen := get(t, s, "/__fake/seen")
	if seen.Get("#").Int() != 3 || seen.Get("0.path").Str != "/v1/chat/completions" || seen.Get("2.status").Int() != 200 ||
		seen.Get("0.header.Authorization.0").Str != "Bearer k" || seen.Get("1.family").Str != "openai" {
		t.Error(seen)
	}
	if active := get(t, s, "/__fake/active"); active.Get("active").Raw != "0" || active.Get("held").Raw != "0" {
		t.Error(active)
	}
	for path, body := range map[string]string{"/__fake/release": "", "/__fake/reset": ""} {
		if resp := do(t, s, path, body, nil); resp.StatusCode != 204 {
			t.Error(path, resp.Status)
		}
	}
	if seen := get(t, s, "/__fake/seen"); seen.Raw != "[]" {
		t.Error(seen)
	}
	if resp := do(t, s, "/__fake/next", `{"knd":"stall"}`, nil); resp.StatusCode != 400 {
		t.Error(resp.Status)
	}
}

func get(t *testing.T, s *fakeprovider.Server, path string) gjson.Result {
	t.Helper()
	resp, err := http.Get(s.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	return gjson.ParseBytes(data)
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	f := families()[0]
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"enum":["x","y"]},"b":{"type":["null","boolean"]},"c":{"type":"array","items":{"type":"number"}}}}`: `{"a":"x","b":true,"c":[7]}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/p"},"b":{"anyOf":[{"type":"null"},{"const":3}]}},"$defs":{"p":{"type":"string"}}}`:  `{"a":"Paris","b":3}`,
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["b"]}`:                                          `{"b":"Paris"}`,
		`{"$ref":"#"}`: `null`,
		`{}`:           `{}`,
	} {
		body := fill(f.wholeBody, "hi", `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":`+schema+`}}`)
		if _, got := post(t, s, f, body); gjson.Get(got, f.wholeText).Str != want {
			t.Errorf("%s: %s", schema, got)
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	for _, f := range families() {
		s.Next(fakeprovider.Behavior{Kind: "plain"})
		if _, body := post(t, s, f, fill(f.wholeBody, "think", f.tools, f.schema)); gjson.Get(body, f.wholeText).Str != fakeprovider.GoodText {
			t.Errorf("%s: %s", f.name, body)
		}
	}
}

// TestHostile checks that the server responds to any body and never panics.
func TestHostile(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	for _, f := range families() {
		for _, body := range []string{f.afterTool, f.image, fill(f.streamBody, "think", f.tools)} {
			for cut := 1; cut < len(body); cut += 7 {
				for _, hostile := range []string{body[:cut], body[:cut] + "}", strings.Replace(body, body[cut:cut+1], "[]", 1), body[:cut] + "null" + body[cut:]} {
					resp := do(t, s, f.whole, hostile, f.headers)
					_, err := io.Copy(io.Discard, resp.Body)
					if err != nil || resp.StatusCode >= 500 {
						t.Fatalf("%s: %s: %d, %v", f.name, hostile, resp.StatusCode, err)
					}
				}
			}
		}
	}
}
