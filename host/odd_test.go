package host

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keys"
)

// TestOddRequests: what callers send by mistake or on purpose, as bytes on the wire to a host with the native core.
func TestOddRequests(t *testing.T) {
	e := newNative(t)
	w := newWorld(e)
	h := newStubHost(t, e, func(o *Options) { o.Objects, o.Clock, o.KV = w.objects, &w.clock, NewMemoryKV(&w.clock) })
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
		{"an ordinary request", post(key+json+length(len(say)), say), 200},
		{"no body", post(key+json, ""), 400},
		{"an empty body", post(key+json+length(0), ""), 400},
		{"an empty body in chunks", post(key+json+chunked, chunks("")), 400},
		{"a body in chunks", post(key+json+chunked, chunks(say)), 200},
		{"a body in chunks that is no JSON", post(key+json+chunked, chunks(say[1:])), 400},
		{"a body where none belongs", "GET /api/health HTTP/1.1\r\nHost: x\r\n" + key + length(5) + "\r\nhello", 200},
		{"two keys", get("/api/health", key+key), 401},
		{"two bearer tokens", get("/api/health", strings.Repeat("Authorization: Bearer "+testKey(keys.Development)+"\r\n", 2)), 401},
		{"two content types", post(key+json+json+length(len(say)), say), 415},
		{"two cache controls", post(key+json+"Cache-Control: no-cache\r\nCache-Control: no-store\r\n"+length(len(say)), say), 200},
		{"a key that is not ASCII", get("/api/health", "X-Api-Key: sk_live_\xe9\xff\r\n"), 401},
		{"a key that is not ASCII, in UTF-8", get("/api/health", "X-Api-Key: sk_live_é\r\n"), 401},
		{"an idempotency key that is not ASCII", post(key+json+"Idempotency-Key: \xe9\r\n"+length(len(say)), say), 400},
		{"a content type that is not ASCII", post(key+"Content-Type: application/json\xe9\r\n"+length(len(say)), say), 415},
		{"an unknown header that is not ASCII", get("/api/health", key+"X-Strange: \xe9\xff\r\n"), 200},
		{"two slashes in front", get("//api/health", key), 404},
		{"two slashes within", get("/api//health", key), 404},
		{"a slash behind", get("/api/health/", key), 404},
		{"an escaped letter", get("/api/healt%68", key), 404},
		{"an escaped slash", get("/api%2fhealth", key), 404},
		{"dots", get("/api/./health", key), 404},
		{"dots that lead back", get("/x/../api/health", key), 404},
		{"escaped dots", get("/x/%2e%2e/api/health", key), 404},
		{"dots out of the control plane", get("/api/admin/../health", key), 503},
		{"a backslash", get(`/api\health`, key), 404},
		{"quotes", get(`/api/"health"`, key), 404},
		{"a path that is not ASCII", get("/api/\xe9", key), 404},
		{"a query", get("/api/health?a=b", key), 200},
		{"a query of nothing", get("/api/health?", key), 200},
		{"a query of escapes that are none", get("/api/health?a=%zz&%", key), 200},
		{"a query of 20,000 bytes", get("/api/health?"+strings.Repeat("q", 20_000), key), 200},
		{"a path of 20,000 bytes", get("/"+strings.Repeat("p", 20_000), key), 404},
		{"a whole URL", get("http://x/api/health", key), 200},
		{"an unknown method", "BREW /api/health HTTP/1.1\r\nHost: x\r\n" + key + "\r\n", 405},
	} {
		wire := dial(t, server)
		wire.send(c.request)
		if response, body := wire.answer("GET"); response.StatusCode != c.want {
			t.Errorf("%s: %d %s, want %d", c.name, response.StatusCode, body, c.want)
		}
		_ = wire.Close()
		h.Wait()
		w.clock += 60_000 // the key's limits are not the subject
	}
}

// TestWhatTheCoreIsTold: the path and the query as they were sent, fields of one name joined, and how the body is
// encoded.
func TestWhatTheCoreIsTold(t *testing.T) {
	native := newNative(t)
	var told []abi.Header
	h := newStubHost(t, &asking{native, func(in *abi.StepInput) { told = in.Event.Headers }}, nil)
	server := httptest.NewServer(h)
	defer server.Close()
	for _, c := range []struct{ target, header, name, want string }{
		{`/a//b/../%2e%2E/"c"`, "", ":path", `/a//b/../%2e%2E/"c"`},
		{"/a?b?c=%zz", "", ":query", "b?c=%zz"},
		{"/a?b?c=%zz", "", ":path", "/a"},
		{"http://other/a", "", ":path", "/a"},
		{"/", "", ":address", "127.0.0.1"},
		{"/", "X-Forwarded-For: 192.0.2.1\r\nCf-Connecting-Ip: 192.0.2.2\r\n", ":address", "127.0.0.1"},
		{"/", ":address: 192.0.2.1\r\n", ":address", ""}, // net/http refuses it
		{"/", "Content-Encoding: gzip\r\n", "content-encoding", "gzip"},
		{"/", "Authorization: a\r\nauthorization: b\r\n", "authorization", "a, b"},
		{"/", "X-Api-Key: \xe9\r\n", "x-api-key", "\ufffd"},
		{"/\xe9?\xff", "", ":path", "/\ufffd"},
		{"/\xe9?\xff", "", ":query", "\ufffd"},
	} {
		told = nil
		wire := dial(t, server)
		wire.send("GET " + c.target + " HTTP/1.1\r\nHost: x\r\n" + c.header + "\r\n")
		response, _ := wire.answer("GET")
		h.Wait()
		var got string
		for _, header := range told {
			if header.Name == c.name {
				got += header.Value
			}
		}
		if got != c.want || (response.StatusCode == http.StatusBadRequest) != (c.want == "") {
			t.Errorf("%s with %q: %s is %q, want %q; answered %d", c.target, c.header, c.name, got, c.want, response.StatusCode)
		}
	}
}

// asking looks at requests on their way to the core.
type asking struct {
	Engine
	look func(*abi.StepInput)
}

func (a *asking) Step(message []byte) ([]byte, error) {
	if in, err := abi.DecodeStepInput(message); err == nil && in.Event.Kind == abi.EventRequest {
		a.look(&in)
	}
	return a.Engine.Step(message)
}
