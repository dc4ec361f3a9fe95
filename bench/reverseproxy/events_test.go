package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// TestEvents checks what the proxy that reads each event passes on, and that a stream that is broken does not look
// complete.
func TestEvents(t *testing.T) {
	const event = `data: {"choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}],"usage":null}` + "\n\n"
	long := strings.Replace(event, "word", strings.Repeat("w", maxLine), 1)
	for name, c := range map[string]struct {
		stream string
		broken bool
	}{
		"complete":               {event + event + "data: [DONE]\n\n", false},
		"without an end mark":    {event, true},
		"with an invalid event":  {event + "data: {\n\ndata: [DONE]\n\n", true},
		"with an event too long": {long + "data: [DONE]\n\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); string(body) != "prompt" || r.Header.Get("Authorization") != "Bearer sk-bench" {
					t.Errorf("the request has the body %q and the header %v", body, r.Header)
				}
				_, _ = io.WriteString(w, ": a comment\n\n"+c.stream)
			}))
			defer provider.Close()
			upstream, err := url.Parse(provider.URL)
			if err != nil {
				t.Fatal(err)
			}
			proxy := httptest.NewServer(newEventProxy(upstream))
			defer proxy.Close()
			response, err := http.Post(proxy.URL, "application/json", strings.NewReader("prompt"))
			if err != nil {
				if !c.broken {
					t.Error(err)
				}
				return
			}
			defer response.Body.Close()
			got, err := io.ReadAll(response.Body)
			if (err != nil) != c.broken || !c.broken && string(got) != c.stream {
				t.Errorf("%v: %q", err, got)
			}
		})
	}
}
