package host

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/store/memory"
)

// TestOddRequests sends unusual and malformed requests as raw bytes to a host with the native core.
func TestOddRequests(t *testing.T) {
	e := newNative(t)
	w := newWorld(e)
	h := newStubHost(t, e, func(o *Options) { o.Objects, o.Clock, o.KV = w.objects, &w.clock, memory.New(&w.clock) })
	server := httptest.NewServer(h)
	defer server.Close()
	key := "X-Api-Key: " + testKey(keys.Development) + "\r\n"
	post := func(headers, body string) string {
		return "POST /api/ai/complete HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n" + body
	}
	get := func(path, headers string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n"
	}
	const json = "Content-Type: application/json\r\n"
	length := func(n int) string { return fmt.Sprintf("Content-Length: %d\r\n", n) }
	chunked := "Transfer-Encoding: chunked\r\n"
	chunks := func(text string) (out string) {
		for ; text != ""; text = text[min(7, len(text)):] {
			out += fmt.Sprintf("%x\r\n%s\r\n", min(7, len(text)), text[:min(7, len(text))])
		}
		return out + "0\r\n\r\n"
	}
	for _, c := range []struct {
		name, request string
		want          int
	}{
		{"ordinary request", post(key+json+length(len(helloBody)), helloBody), 200},
		{"no body", post(key+json, ""), 400},
		{"empty body", post(key+json+length(0), ""), 400},
		{"empty chunked body", post(key+json+chunked, chunks("")), 400},
		{"chunked body", post(key+json+chunked, chunks(helloBody)), 200},
		{"malformed JSON in a chunked body", post(key+json+chunked, chunks(helloBody[1:])), 400},
		{"GET with a body", "GET /api/health HTTP/1.1\r\nHost: x\r\n" + key + length(5) + "\r\nhello", 200},
		{"two API keys", get("/api/health", key+key), 401},
		{"two bearer tokens", get("/api/health", strings.Repeat("Authorization: Bearer "+testKey(keys.Development)+"\r\n", 2)), 401},
		{"two content types", post(key+json+json+length(len(helloBody)), helloBody), 415},
		{"two Cache-Control headers", post(key+json+"Cache-Control: no-cache\r\nCache-Control: no-store\r\n"+length(len(helloBody)), helloBody), 200},
		{"API key not in UTF-8", get("/api/health", "X-Api-Key: sk_live_\xe9\xff\r\n"), 401},
		{"API key not in ASCII", get("/api/health", "X-Api-Key: sk_live_é\r\n"), 401},
		{"idempotency key not in UTF-8", post(key+json+"Idempotency-Key: \xe9\r\n"+length(len(helloBody)), helloBody), 400},
		{"content type not in UTF-8", post(key+"Content-Type: application/json\xe9\r\n"+length(len(helloBody)), helloBody), 415},
		{"unknown header not in UTF-8", get("/api/health", key+"X-Unknown: \xe9\xff\r\n"), 200},
		{"leading double slash", get("//api/health", key), 404},
		{"inner double slash", get("/api//health", key), 404},
		{"trailing slash", get("/api/health/", key), 404},
		{"escaped letter", get("/api/healt%68", key), 404},
		{"escaped slash", get("/api%2fhealth", key), 404},
		{"dot segment", get("/api/./health", key), 404},
		{"dot-dot segment", get("/x/../api/health", key), 404},
		{"escaped dot-dot segment", get("/x/%2e%2e/api/health", key), 404},
		{"dot-dot segment in a control plane path", get("/api/admin/../health", key), 503},
		{"backslash", get(`/api\health`, key), 404},
		{"quotes", get(`/api/"health"`, key), 404},
		{"path not in UTF-8", get("/api/\xe9", key), 404},
		{"query", get("/api/health?a=b", key), 200},
		{"empty query", get("/api/health?", key), 200},
		{"query with malformed escapes", get("/api/health?a=%zz&%", key), 200},
		{"query of 20,000 bytes", get("/api/health?"+strings.Repeat("q", 20_000), key), 200},
		{"path of 20,000 bytes", get("/"+strings.Repeat("p", 20_000), key), 404},
		{"absolute URL", get("http://x/api/health", key), 200},
		{"unknown method", "BREW /api/health HTTP/1.1\r\nHost: x\r\n" + key + "\r\n", 405},
	} {
		wire := dial(t, server)
		wire.send(c.request)
		if response, body := wire.receive("GET"); response.StatusCode != c.want {
			t.Errorf("%s: status %d, body %s; want status %d", c.name, response.StatusCode, body, c.want)
		}
		_ = wire.Close()
		h.Wait()
		w.clock += 60_000 // so no rate limit applies
	}
}

// TestRequestFields: the core gets the path and the query as they were sent, and the peer's address. Repeated header
// fields are joined. Bytes that are not UTF-8 are replaced. workerd.test.mjs tests the Worker.
func TestRequestFields(t *testing.T) {
	native := newNative(t)
	var fields []abi.Header
	h := newStubHost(t, &requestInspector{native, func(in *abi.StepInput) { fields = in.Event.Headers }}, nil)
	server := httptest.NewServer(h)
	defer server.Close()
	for _, c := range []struct{ target, header, name, want string }{
		{`/a//b/../%2e%2E/"c"`, "", ":path", `/a//b/../%2e%2E/"c"`},
		{"/a?b?c=%zz", "", ":query", "b?c=%zz"},
		{"/a?b?c=%zz", "", ":path", "/a"},
		{"http://other/a", "", ":path", "/a"},
		{"/", "", ":address", "127.0.0.1"},
		{"/", "X-Forwarded-For: 192.0.2.1\r\nCf-Connecting-Ip: 192.0.2.2\r\n", ":address", "127.0.0.1"},
		{"/", ":address: 192.0.2.1\r\n", ":address", ""}, // net/http rejects the name
		{"/", "Content-Encoding: gzip\r\n", "content-encoding", "gzip"},
		{"/", "Authorization: a\r\nauthorization: b\r\n", "authorization", "a, b"},
		{"/", "X-Api-Key: \xe9\r\n", "x-api-key", "\ufffd"},
		{"/\xe9?\xff", "", ":path", "/\ufffd"},
		{"/\xe9?\xff", "", ":query", "\ufffd"},
	} {
		fields = nil
		wire := dial(t, server)
		wire.send("GET " + c.target + " HTTP/1.1\r\nHost: x\r\n" + c.header + "\r\n")
		response, _ := wire.receive("GET")
		h.Wait()
		var got string
		for _, header := range fields {
			if header.Name == c.name {
				got += header.Value
			}
		}
		if got != c.want || (response.StatusCode == http.StatusBadRequest) != (c.want == "") {
			t.Errorf("%s with %q: %s is %q, want %q; status %d", c.target, c.header, c.name, got, c.want, response.StatusCode)
		}
	}
}

type requestInspector struct {
	Engine
	inspect func(*abi.StepInput)
}

func (a *requestInspector) Step(message []byte) ([]byte, error) {
	if in, err := abi.DecodeStepInput(message); err == nil && in.Event.Kind == abi.EventRequest {
		a.inspect(&in)
	}
	return a.Engine.Step(message)
}
