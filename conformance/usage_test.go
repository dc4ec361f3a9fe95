package conformance

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// tamperingProxy forwards requests to the provider and changes its responses.
type tamperingProxy struct {
	*httptest.Server
	upstream *Upstream
	change   func([]byte) []byte
}

func newTamperingProxy(t *testing.T) *tamperingProxy {
	l := &tamperingProxy{upstream: NewUpstream(), change: func(b []byte) []byte { return b }}
	t.Cleanup(l.upstream.Close)
	l.Server = httptest.NewServer(http.HandlerFunc(l.serve))
	t.Cleanup(l.Close)
	return l
}

func (l *tamperingProxy) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	l.pass(w, r, body, l.change)
}

// pass forwards a request to the provider and changes its response.
func (l *tamperingProxy) pass(w http.ResponseWriter, r *http.Request, body []byte, change func([]byte) []byte) {
	forward, err := http.NewRequestWithContext(r.Context(), r.Method, l.upstream.URL+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	forward.Header = r.Header.Clone()
	response, err := http.DefaultClient.Do(forward)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
	w.WriteHeader(response.StatusCode)
	_, _ = w.Write(change(answer))
}

// deploymentBehind returns the deployment with another URL for the provider.
func deploymentBehind(upstream *Upstream, url string) map[string]string {
	env := deployment(upstream)
	for name, value := range env {
		env[name] = strings.Replace(value, upstream.URL, url, 1)
	}
	env["MISTRAL_BASE_URL"], env["MISTRAL_API_KEY"] = url+"/mistral/v1", "mistral-upstream"
	return env
}

// wireFormat describes a provider format: a request that reaches it, and the format's usage fields. %s makes each
// prompt unique, so that no response is cached.
type wireFormat struct {
	name, path, body   string
	prompt, completion string // usage members
	cached             string // within the prompt
	streams            bool
}

var wireFormats = []wireFormat{
	{"openai", "/v1/chat/completions", `{"model":"only","messages":[{"role":"user","content":"%s"}]`, "prompt_tokens", "completion_tokens", "cached_tokens", true},
	{"anthropic", "/v1/messages", `{"model":"poet","max_tokens":1000,"messages":[{"role":"user","content":"%s"}]`, "input_tokens", "output_tokens", "", true},
	{"gemini", "/v1/chat/completions", `{"model":"twin","messages":[{"role":"user","content":"%s"}]`, "promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount", true},
	{"cohere", "/v1/chat/completions", `{"model":"herald","messages":[{"role":"user","content":"%s"}]`, "input_tokens", "output_tokens", "", true},
	{"responses", "/v1/responses", `{"model":"sage","input":"%s"`, "input_tokens", "output_tokens", "cached_tokens", true},
	{"mistral", "/v1/chat/completions", `{"model":"ministral-for-tests","messages":[{"role":"user","content":"%s"}]`, "prompt_tokens", "completion_tokens", "cached_tokens", true},
	{"embeddings", "/v1/embeddings", `{"model":"vectors","input":"%s"`, "prompt_tokens", "", "", false},
}

// invalidCounts are invalid token counts. "" means that the field is missing.
var invalidCounts = []string{"-1", "-9223372036854775808", "1000000001", "18446744073709551615", "1e300", "0.5", "99.5", `"50"`, `""`, "null", "true", "[]", "[100]", `{"n":1}`, "0", ""}

// replacing replaces the number in a field with a value.
func replacing(member, value string) func([]byte) []byte {
	if member == "" {
		return func(b []byte) []byte { return b }
	}
	pattern := regexp.MustCompile(`"` + member + `":\d+`)
	replacement := fmt.Sprintf("%q:%s", member, value)
	if value == "" {
		replacement = `"not_` + member + `":1`
	}
	return func(b []byte) []byte { return pattern.ReplaceAllLiteral(b, []byte(replacement)) }
}

const testModels = `{"name": "ministral-for-tests", "provider": "mistral", "input": "1.00", "output": "2.00", "source": "made up for tests", "date": "2026-11-21"},`

// newProxyFixture starts a host behind a tampering proxy, with a project that has a large budget.
func newProxyFixture(t *testing.T) (*fixture, *tamperingProxy) {
	l := newTamperingProxy(t)
	env := deploymentBehind(l.upstream, l.URL)
	env["POSTERN_CATALOG"] = strings.Replace(env["POSTERN_CATALOG"], `"models": [`, `"models": [`+testModels, 1)
	c := newFixture(t, l.upstream, env)
	c.do("project rich plan=unlimited budget=9000000", "key live rich", "log")
	return c, l
}

// logLine sends a request and returns its log line.
func (c *fixture) logLine(s *wireFormat, number int, stream bool) gjson.Result {
	c.Helper()
	body := fmt.Sprintf(s.body, fmt.Sprint("question ", number))
	if stream {
		body += `,"stream":true`
	}
	got, err := c.run.do(request{method: "POST", path: s.path, body: body + "}", headers: map[string]string{"x-api-key": c.names["live"], "content-type": "application/json"}})
	c.must(err)
	if got.status != 200 || bytes.Contains(got.body, []byte(`"error":{`)) {
		c.Fatalf("%d %s", got.status, got.body)
	}
	c.must(c.settled())
	line, err := c.controlBody(http.MethodPost, "log", nil)
	c.must(err)
	return gjson.ParseBytes(line)
}

// TestInvalidUsageIsEstimated checks that invalid usage is replaced by a flagged estimate, for every provider format
// and usage field, at a plausible cost.
func TestInvalidUsageIsEstimated(t *testing.T) {
	t.Parallel()
	for i := range wireFormats {
		s := &wireFormats[i]
		t.Run(s.name, func(t *testing.T) {
			c, l := newProxyFixture(t)
			sent := 0
			for _, value := range invalidCounts {
				for part, members := range map[string][2]string{"prompt": {s.prompt}, "completion": {s.completion}, "both": {s.prompt, s.completion}} {
					for _, stream := range []bool{false, true} {
						if stream && !s.streams || s.completion == "" && part != "prompt" {
							continue
						}
						l.change = func(b []byte) []byte { return replacing(members[0], value)(replacing(members[1], value)(b)) }
						c.Run(fmt.Sprintf("%s %q stream %v", part, value, stream), func(t *testing.T) {
							sent++
							line := (&fixture{run: c.run, T: t}).logLine(s, sent, stream)
							prompt, completion, cents := line.Get("promptTokens").Num, line.Get("completionTokens").Num, line.Get("costCents").Num
							if !line.Get("estimated").Bool() || prompt < 1 || prompt > 1000 || s.completion != "" && completion < 1 || completion > 1000 || cents <= 0 || cents > 0.5 {
								t.Errorf("booked %s", line.Raw)
							}
						})
					}
				}
			}
			c.wantEstimated(sent)
		})
	}
}

// wantEstimated checks that the operator's usage report counts all responses as estimated.
func (c *fixture) wantEstimated(answers int) {
	c.Helper()
	c.do("advance 1s")
	got, err := c.adminCall("GET", "/api/admin/projects/"+c.names["rich"]+"/usage?from=2026-11-21&to=2026-11-21&by=model", "")
	c.must(err)
	row := gjson.GetBytes(got.body, "rows.0")
	if row.Get("requests").Int() != int64(answers) || row.Get("estimated").Int() != int64(answers) {
		c.Errorf("of %d estimated responses the report has %s", answers, row.Raw)
	}
}

// TestLargeUsageIsAccepted checks that a billion tokens are accepted. If there are more cached tokens than prompt
// tokens, they count as the entire prompt.
func TestLargeUsageIsAccepted(t *testing.T) {
	t.Parallel()
	for i := range wireFormats {
		s := &wireFormats[i]
		t.Run(s.name, func(t *testing.T) {
			c, l := newProxyFixture(t)
			for n, stream := range []bool{false, true} {
				if stream && !s.streams {
					continue
				}
				l.change = func(b []byte) []byte {
					return replacing(s.prompt, "1000000000")(replacing(s.completion, "1000000000")(b))
				}
				want := 300_000.0 // a billion tokens of each kind cost 1,000 and 2,000 dollars
				if s.completion == "" {
					want = 100_000
				}
				if line := c.logLine(s, n, stream); line.Get("estimated").Exists() || line.Get("costCents").Num != want {
					t.Errorf("stream %v: %s", stream, line.Raw)
				}
				if s.cached == "" {
					continue
				}
				l.change = replacing(s.cached, "999999999")
				if line := c.logLine(s, n+100, stream); line.Get("costCents").Num <= 0 || line.Get("costCents").Num > 0.02 || line.Get("promptTokens").Num > 1000 {
					t.Errorf("more cached than prompt tokens, stream %v: %s", stream, line.Raw)
				}
			}
		})
	}
}
