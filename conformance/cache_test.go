package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/postern-ai/postern/conformance/suite"
	"github.com/postern-ai/postern/host"
)

func init() { suite.FixSeed(nil) }

// faultyProvider numbers its responses and damages them according to fault.
type faultyProvider struct {
	*httptest.Server
	fault string
	count int
	clean bool // whether the last response may be cached
}

// responseFaults are the faults that a response can have. Only a "good" response may be cached.
var responseFaults = []string{"good", "good", "good", "length", "no usage", "truncated", "not JSON", "status 500", "status 400", "status 204", "wrong type", "no content"}

func (m *faultyProvider) serve(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	m.count++
	m.clean = m.fault == "good"
	finish, usage, contentType := "stop", `,"usage":{"prompt_tokens":3,"completion_tokens":4}`, "application/json"
	switch m.fault {
	case "length":
		finish = "length"
	case "no usage":
		usage = ""
	case "wrong type":
		contentType = "text/html"
	}
	body := fmt.Sprintf(`{"choices":[{"message":{"content":"answer %d"},"finish_reason":"%s"}]%s}`, m.count, finish, usage)
	switch m.fault {
	case "truncated":
		body = body[:len(body)-10]
	case "not JSON":
		body = "answer"
	case "no content":
		body = strings.Replace(body, `"content"`, `"contents"`, 1)
	}
	w.Header().Set("Content-Type", contentType)
	var status int
	if _, err := fmt.Sscanf(m.fault, "status %d", &status); err == nil {
		w.WriteHeader(status)
		if status == http.StatusNoContent {
			return
		}
	}
	_, _ = io.WriteString(w, body)
}

type cached map[string]string

// TestCacheIsIsolated checks I5. In any order of requests, a response comes from the provider, or is the clean
// response that the same project got for the same request in the same environment.
func TestCacheIsIsolated(t *testing.T) {
	t.Parallel()
	provider := &faultyProvider{}
	provider.Server = httptest.NewServer(http.HandlerFunc(provider.serve))
	defer provider.Close()
	local, err := NewLocal(map[string]string{
		"OPENAI_BASE_URL": provider.URL, "OPENAI_API_KEY": "sk-upstream", "POSTERN_ADMIN_TOKEN": AdminToken, "POSTERN_CATALOG": Overlay(),
	}, host.NewNative)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	rapid.Check(t, func(rt *rapid.T) {
		s := &site{t: t, local: local}
		var callers [][2]string // project and key
		for range 2 {
			project := s.create("/api/admin/projects", `{"name":"p","plan":"unlimited"}`, "id")
			for range 2 {
				callers = append(callers, [2]string{project, s.create("/api/admin/projects/"+project+"/keys", `{"name":"k"}`, "value")})
			}
		}
		stored := cached{}
		rt.Repeat(map[string]func(*rapid.T){
			"request": func(rt *rapid.T) { requestOnce(rt, local, provider, callers, stored) },
			"evict": func(*rapid.T) {
				local.host.Wait()
				local.host.Evict()
				clear(stored) // with the scope colo, the cache is in the process's memory
			},
		})
	})
}

func requestOnce(t *rapid.T, local *Local, provider *faultyProvider, callers [][2]string, stored cached) {
	caller := rapid.SampledFrom(callers).Draw(t, "caller")
	request := rapid.SampledFrom([]string{
		`"content":"a"}]`, `"content":"b"}]`, `"content":"a"}],"maxTokens":7`, `"content":"a"}],"temperature":0`, `"content":"a"}],"quality":"frontier"`,
	}).Draw(t, "request")
	control := rapid.SampledFrom([]string{"", "", "", "no-cache", "no-store"}).Draw(t, "cache-control")
	provider.fault = rapid.SampledFrom(responseFaults).Draw(t, "fault")
	before := provider.count
	r, _ := http.NewRequest("POST", local.URL+"/api/ai/complete", strings.NewReader(`{"messages":[{"role":"user",`+request+`}`))
	r.Header = http.Header{"X-Api-Key": {caller[1]}, "Content-Type": {"application/json"}, "Cache-Control": {control}}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	local.host.Wait()
	if !json.Valid(body) {
		t.Fatalf("%d %s", response.StatusCode, body)
	}
	text, hit := gjson.GetBytes(body, "text").String(), gjson.GetBytes(body, "cacheHit").Bool()
	name := caller[0] + request
	switch want, known := stored[name]; {
	case hit && (control != "" || !known || text != want || provider.count != before):
		t.Fatalf("a hit with %q and cache-control %q; stored: %q", text, control, want)
	case !hit && known && control == "" && response.StatusCode == 200:
		t.Fatalf("%q was stored, but %q was fetched", want, text)
	case hit || response.StatusCode != 200:
	case text != fmt.Sprint("answer ", provider.count):
		t.Fatalf("fetched %q, the provider's last response is number %d", text, provider.count)
	case provider.clean && control != "no-store":
		stored[name] = text
	}
}
