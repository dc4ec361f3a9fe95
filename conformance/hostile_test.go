package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/conformance/suite"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/host"
)

const panicModule = "../build/core-panic.wasm"

// site is a host with an echoing provider and an unlimited key.
type site struct {
	t        *testing.T
	local    *Local
	provider *httptest.Server
	lastBody string // the last body sent to the provider
	project  string
	key      string // a production key
}

// echo responds with the last message, with its JSON spelling unchanged.
func (s *site) echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.lastBody = string(body)
	messages := gjson.GetBytes(body, "messages").Array()
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
		messages[len(messages)-1].Get("content").Raw)
}

func newSite(t *testing.T, makeEngine func(abi.Config) (host.Engine, error)) *site {
	s := &site{t: t}
	s.provider = httptest.NewServer(http.HandlerFunc(s.echo))
	t.Cleanup(s.provider.Close)
	var err error
	s.local, err = NewLocal(map[string]string{
		"OPENAI_BASE_URL": s.provider.URL, "OPENAI_API_KEY": "sk-upstream", "POSTERN_ADMIN_TOKEN": AdminToken, "POSTERN_CATALOG": Overlay(),
	}, makeEngine)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.local.Close)
	s.project = s.create("/api/admin/projects", `{"name":"hostile","plan":"unlimited"}`, "id")
	s.key = s.create("/api/admin/projects/"+s.project+"/keys", `{"name":"hostile"}`, "value")
	return s
}

// onEngines runs a test with the native core and with the wasm core.
func onEngines(t *testing.T, f func(*testing.T, *site)) {
	t.Run("native", func(t *testing.T) { f(t, newSite(t, host.NewNative)) })
	t.Run("wasm", func(t *testing.T) {
		if _, err := os.Stat(panicModule); errors.Is(err, os.ErrNotExist) {
			t.Fatal("the module is not built: run ./build.sh panic")
		}
		f(t, newSite(t, WasmEngine(panicModule)))
	})
}

// create creates an object through the admin API and returns one of its fields.
func (s *site) create(path, body, field string) string {
	s.t.Helper()
	status, _, answer := s.admin("POST", path, body)
	if status != 201 {
		s.t.Fatalf("%s: %d %s", path, status, answer)
	}
	return gjson.Get(answer, field).String()
}

func (s *site) admin(method, path, body string) (int, http.Header, string) {
	return s.send(method, path, body, "Authorization", "Bearer "+AdminToken, "Content-Type", "application/json")
}

// send sends a request with headers given as pairs of name and value. It checks that the response is not a 5xx and
// that errors are well formed.
func (s *site) send(method, path, body string, headers ...string) (int, http.Header, string) {
	s.t.Helper()
	request, err := http.NewRequest(method, s.local.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return s.do(request)
}

func (s *site) do(request *http.Request) (int, http.Header, string) {
	s.t.Helper()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if response.StatusCode >= 500 {
		s.t.Errorf("%s %s: %d %s", request.Method, request.URL, response.StatusCode, answer)
	}
	if response.StatusCode >= 400 {
		s.checkError(response, answer)
	}
	return response.StatusCode, response.Header, string(answer)
}

func (s *site) checkError(response *http.Response, answer []byte) {
	s.t.Helper()
	var shape struct{ Error, Code, RequestID string }
	if !utf8.Valid(answer) || json.Unmarshal(answer, &shape) != nil || shape.Error == "" || shape.Code == "" || shape.RequestID == "" {
		s.t.Errorf("%d has the body %.300q", response.StatusCode, answer)
	}
	if id := response.Header.Get("X-Request-Id"); id != shape.RequestID {
		s.t.Errorf("%d: x-request-id is %q, the body has %q", response.StatusCode, id, shape.RequestID)
	}
}

func (s *site) complete(body string) (int, string) {
	s.t.Helper()
	status, _, answer := s.send("POST", "/api/ai/complete", body, "X-Api-Key", s.key, "Content-Type", "application/json")
	return status, answer
}

// withExtra returns a valid request with an additional field.
func withExtra(value string) string {
	return `{"messages":[{"role":"user","content":"x"}],"quality":"cheap","extra":` + value + `}`
}

func TestJSONTestSuite(t *testing.T) {
	t.Parallel()
	documents, err := suite.JSON()
	if err != nil {
		t.Fatal(err)
	}
	onEngines(t, func(t *testing.T, s *site) {
		s.t = t
		for _, d := range documents {
			status, answer := s.complete(withExtra(d.Input))
			want := 400
			if d.Valid() {
				want = 200
			}
			if status != want && !d.Either() {
				t.Errorf("%s: %d, want %d: %.100q: %s", d.Name, status, want, d.Input, answer)
			}
			if d.Either() && status != 200 && status != 400 {
				t.Errorf("%s: %d: %s", d.Name, status, answer)
			}
		}
	})
}

// asJSON returns a text as JSON in two ways: without escapes, and with all characters escaped.
func asJSON(text string) [2]string {
	plain, escaped := &bytes.Buffer{}, &strings.Builder{}
	encoder := json.NewEncoder(plain)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)
	escaped.WriteByte('"')
	for _, r := range text {
		if r >= 0x10000 {
			r -= 0x10000
			fmt.Fprintf(escaped, `\u%04X`, 0xD800+r>>10)
			r = 0xDC00 + r&0x3FF
		}
		fmt.Fprintf(escaped, `\u%04X`, r)
	}
	escaped.WriteByte('"')
	return [2]string{strings.TrimSpace(plain.String()), escaped.String()}
}

func naughty(t *testing.T) []string {
	texts, err := suite.Naughty()
	if err != nil {
		t.Fatal(err)
	}
	return append(texts, "\x00", "a\x00b", "\u2028\u2029", "\ufeff", "\U0010ffff", "\r\nX-Injected: 1", strings.Repeat("é", 500))
}

// TestNaughtyContent checks that any message content reaches the provider and the caller unchanged.
func TestNaughtyContent(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, s *site) {
		s.t = t
		for i, text := range naughty(t) {
			for j, spelled := range asJSON(text) {
				body := fmt.Sprintf(`{"messages":[{"role":"system","content":"%d.%d"},{"role":"user","content":%s}],"quality":"cheap"}`, i, j, spelled)
				status, answer := s.complete(body)
				if status != 200 {
					t.Errorf("%q: %d %s", text, status, answer)
					continue
				}
				var sent struct {
					Messages []struct{ Role, Content string }
				}
				if err := json.Unmarshal([]byte(s.lastBody), &sent); err != nil || len(sent.Messages) != 2 || sent.Messages[1].Content != text || sent.Messages[1].Role != "user" {
					t.Errorf("%q reached the provider as %s (%v)", text, s.lastBody, err)
				}
				var got struct{ Text string }
				if err := json.Unmarshal([]byte(answer), &got); err != nil || got.Text != text {
					t.Errorf("%q was returned as %s (%v)", text, answer, err)
				}
			}
		}
	})
}

// TestNaughtyNames checks that names of projects and keys are stored unchanged or rejected.
func TestNaughtyNames(t *testing.T) {
	t.Parallel()
	s := newSite(t, host.NewNative)
	accepted := 0
	for _, text := range naughty(t) {
		for _, spelled := range asJSON(text) {
			for _, path := range []string{"/api/admin/projects", "/api/admin/projects/" + s.project + "/keys"} {
				status, _, answer := s.admin("POST", path, `{"name":`+spelled+`}`)
				if status != 201 && status != 400 {
					t.Errorf("%s with %q: %d %s", path, text, status, answer)
				}
				if status == 201 {
					accepted++
				}
				if name := gjson.Get(answer, "name"); status == 201 && name.String() != text {
					t.Errorf("%s with %q: the name is %s", path, text, name.Raw)
				}
			}
		}
	}
	if status, _, answer := s.admin("GET", "/api/admin/projects/"+s.project+"/keys?limit=100", ""); status != 200 || !json.Valid([]byte(answer)) {
		t.Errorf("the list of keys: %d %.300s", status, answer)
	}
	if accepted < 1000 {
		t.Errorf("only %d names were accepted", accepted)
	}
}

// sendable reports whether Go's client, which rejects control characters, can send a text in a header or URL.
func sendable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7F })
}

// TestNaughtyHeaders sends each text in every header that affects a decision, and in some others.
func TestNaughtyHeaders(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, s *site) {
		s.t = t
		for _, text := range naughty(t) {
			if !sendable(text) {
				continue
			}
			body := withExtra("1")
			if status, _, answer := s.send("POST", "/api/ai/complete", body, "X-Api-Key", text, "Content-Type", "application/json"); status != 401 {
				t.Errorf("%q as a key: %d %s", text, status, answer)
			}
			if status, _, answer := s.send("GET", "/api/health", "", "Authorization", "Bearer "+text); status != 401 {
				t.Errorf("%q as a bearer token: %d %s", text, status, answer)
			}
			if status, _, answer := s.send("GET", "/api/admin/projects", "", "Authorization", text); status != 401 {
				t.Errorf("%q as an admin token: %d %s", text, status, answer)
			}
			if status, _, answer := s.send("GET", "/", "", "Accept", text); status != 200 {
				t.Errorf("%q as Accept: %d %s", text, status, answer)
			}
			s.send("POST", "/api/ai/complete", body, "X-Api-Key", s.key, "Content-Type", text)
			s.send("POST", "/api/ai/complete", body, "X-Api-Key", s.key, "Content-Type", "application/json; charset="+text, "Cache-Control", text, "Accept", text)
			s.send("POST", "/api/ai/complete", body, "X-Api-Key", s.key, "Content-Type", "application/json", "Idempotency-Key", text, "X-Request-Id", text, "X-Forwarded-For", text)
		}
	})
}

// TestNaughtyURLs sends each text as a path and in a query.
func TestNaughtyURLs(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, s *site) {
		s.t = t
		base, _ := url.Parse(s.local.URL)
		for _, text := range naughty(t) {
			for _, path := range []string{"/" + text, "/api/ai/complete/" + text, "/api/admin/projects/" + text, "/api/admin/projects/" + s.project + "/keys/" + text + "/deactivate", "/dashboard/" + text} {
				address := url.URL{Scheme: "http", Host: base.Host, Path: path}
				s.ask("GET", address)
			}
			for _, query := range []string{text, "projectId=" + text, "projectId=" + s.project + "&period=" + text, "limit=" + text + "&after=" + text} {
				address := url.URL{Scheme: "http", Host: base.Host, Path: "/api/usage", RawQuery: url.QueryEscape(query)}
				s.ask("GET", address)
				if address.RawQuery = query; sendable(query) && !strings.ContainsAny(query, " #\t") {
					s.ask("GET", address)
				}
			}
			address := url.URL{Scheme: "http", Host: base.Host, Path: "/api/admin/projects", RawQuery: "after=" + url.QueryEscape(text) + "&limit=" + url.QueryEscape(text)}
			s.ask("GET", address)
		}
	})
}

func (s *site) ask(method string, address url.URL) {
	s.t.Helper()
	header := http.Header{"X-Api-Key": {s.key}, "Authorization": {"Bearer " + AdminToken}}
	s.do(&http.Request{Method: method, URL: &address, Header: header, Host: address.Host})
}

// keysText returns an object with about size bytes of unsorted keys.
func keysText(size int, form string) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, form, i*2654435761&0xffffff)
	}
	return `{` + b.String() + `"z":0}`
}

var hostileBodies = []struct {
	name, body string
	want       int
}{
	{"duplicate key", `{"messages":[{"role":"user","content":"x"}],"maxTokens":1,"maxTokens":2}`, 400},
	{"duplicate messages", `{"messages":[{"role":"user","content":"x"}],"messages":[{"role":"user","content":"y"}]}`, 400},
	{"duplicate key, once escaped", `{"messages":[{"role":"user","content":"x"}],"quality":"cheap","qu\u0061lity":"frontier"}`, 400},
	{"duplicate role", `{"messages":[{"role":"user","content":"x","role":"system"}]}`, 400},
	{"duplicate key in an ignored field", withExtra(`[{"a":1,"a":1}]`), 400},
	{"keys that differ in case", `{"messages":[{"role":"user","content":"x"}],"Messages":[],"MAXTOKENS":-1}`, 200},
	{"100 levels", withExtra(strings.Repeat("[", 99) + strings.Repeat("]", 99)), 200},
	{"101 levels", withExtra(strings.Repeat("[", 100) + strings.Repeat("]", 100)), 400},
	{"a million levels", withExtra(strings.Repeat(`{"a":`, 500_000)), 400},
	{"a million open arrays", strings.Repeat("[", 1_000_000), 400},
	{"a number of a million digits", withExtra(strings.Repeat("9", 1_000_000)), 200},
	{"maxTokens of a thousand digits", `{"messages":[{"role":"user","content":"x"}],"maxTokens":` + strings.Repeat("9", 1000) + `}`, 400},
	{"maxTokens 1e400", `{"messages":[{"role":"user","content":"x"}],"maxTokens":1e400}`, 400},
	{"maxTokens 1e-400", `{"messages":[{"role":"user","content":"x"}],"maxTokens":1e-400}`, 400},
	{"maxTokens -1", `{"messages":[{"role":"user","content":"x"}],"maxTokens":-1}`, 400},
	{"maxTokens 1.5", `{"messages":[{"role":"user","content":"x"}],"maxTokens":1.5}`, 400},
	{"maxTokens 18446744073709551617", `{"messages":[{"role":"user","content":"x"}],"maxTokens":18446744073709551617}`, 400},
	{"maxTokens 1e2", `{"messages":[{"role":"user","content":"x"}],"maxTokens":1e2}`, 200},
	{"temperature 1e-400", `{"messages":[{"role":"user","content":"x"}],"temperature":1e-400}`, 200},
	{"temperature 2.0000000000000000001", `{"messages":[{"role":"user","content":"x"}],"temperature":2.0000000000000000001}`, 200},
	{"temperature -0.0", `{"messages":[{"role":"user","content":"x"}],"temperature":-0.0}`, 200},
	{"temperature 1e999", `{"messages":[{"role":"user","content":"x"}],"temperature":1e999}`, 400},
	{"temperature NaN", `{"messages":[{"role":"user","content":"x"}],"temperature":NaN}`, 400},
	{"temperature as text", `{"messages":[{"role":"user","content":"x"}],"temperature":"1"}`, 400},
	{"a lone surrogate", `{"messages":[{"role":"user","content":"a\ud800b"}]}`, 200},
	{"surrogates in the wrong order", `{"messages":[{"role":"user","content":"\udc00\ud800"}]}`, 200},
	{"a lone surrogate in a key", withExtra(`{"\udfff":1}`), 200},
	{"a surrogate in UTF-8", "{\"messages\":[{\"role\":\"user\",\"content\":\"\xed\xa0\x80\"}]}", 400},
	{"Latin-1", "{\"messages\":[{\"role\":\"user\",\"content\":\"\xe9\"}]}", 400},
	{"a byte order mark", "\ufeff" + withExtra("1"), 400},
	{"UTF-16", "\xff\xfe{\x00}\x00", 400},
	{"a NUL at the end", withExtra("1") + "\x00", 400},
	{"two documents", withExtra("1") + withExtra("1"), 400},
	{"4 MB of keys", withExtra(keysText(3_900_000, `"%06x":0,`)), 200},
	{"4 MB of escaped keys", withExtra(keysText(3_900_000, `"\u0061%06x":0,`)), 200},
	{"4 MB of keys, one duplicate", withExtra(`{"z":1,` + keysText(3_900_000, `"%06x":0,`)[1:]), 400},
	{"4 MB of invalid messages", `{"messages":[` + strings.Repeat("0,", 1_900_000) + `0]}`, 400},
	{"4 MB of messages", `{"messages":[` + strings.Repeat(`{"role":"user","content":"x"},`, 130_000) + `{"role":"user","content":"x"}]}`, 200},
}

// slow is the maximum duration of any request.
const slow = 10 * time.Second

func TestHostileBodies(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, s *site) {
		s.t = t
		for _, c := range hostileBodies {
			start := time.Now()
			status, answer := s.complete(c.body)
			if status != c.want {
				t.Errorf("%s: %d %.300s, want %d", c.name, status, answer, c.want)
			}
			if !utf8.ValidString(answer) || !utf8.ValidString(s.lastBody) || !json.Valid([]byte(s.lastBody)) && s.lastBody != "" {
				t.Errorf("%s: response %.100q, the provider got %.100q", c.name, answer, s.lastBody)
			}
			if took := time.Since(start); took > slow {
				t.Errorf("%s: took %v", c.name, took)
			}
		}
	})
}

// TestHostileProviderResponses sends the documents of JSONTestSuite as provider responses.
func TestHostileProviderResponses(t *testing.T) {
	t.Parallel()
	documents, err := suite.JSON()
	if err != nil {
		t.Fatal(err)
	}
	onEngines(t, func(t *testing.T, s *site) {
		s.t = t
		extra := ""
		s.provider.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1},"extra":`+extra+`}`)
		})
		for i, d := range documents {
			extra = d.Input
			response, err := http.DefaultClient.Do(s.request(fmt.Sprintf(`{"messages":[{"role":"user","content":"%d"}],"quality":"cheap"}`, i)))
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			want := 502
			if d.Valid() {
				want = 200
			}
			if response.StatusCode != want && (!d.Either() || response.StatusCode != 200) {
				t.Errorf("%s: %d, want %d", d.Name, response.StatusCode, want)
			}
			s.local.host.Evict() // also resets the circuits
		}
	})
}

func (s *site) request(body string) *http.Request {
	request, err := http.NewRequest("POST", s.local.URL+"/api/ai/complete", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("X-Api-Key", s.key)
	request.Header.Set("Content-Type", "application/json")
	return request
}
