package fakeprovider_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/test/fakeprovider"
)

func last(s *fakeprovider.Server) fakeprovider.Seen {
	seen := s.Seen()
	return seen[len(seen)-1]
}

func TestStreamKinds(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	for _, f := range families() {
		good, _ := stream(t, s, f, "hi")
		half := len(good) / 2
		for _, c := range []struct {
			kind   string
			events int
			err    error
			prefix string // of the text
		}{
			{"answer", len(good), nil, "Hello from upstream"},
			{"cut", half, nil, "Hello"},
			{"truncated", half, nil, "Hello"},
			{"broken", half, syscall.ECONNRESET, "Hello"},
			{"bytewise", len(good), nil, "Hello from upstream"},
			{"slow", len(good), nil, "Hello from upstream"},
			{"late-head", len(good), nil, "Hello from upstream"},
			{"malformed", len(good), nil, "Hello"},
			{"corrupt", len(good), nil, "Hello"},
		} {
			s.Next(fakeprovider.Behavior{Kind: c.kind, DelayMs: 1})
			events, err := stream(t, s, f, "hi")
			if len(events) != c.events || !errors.Is(err, c.err) || !strings.HasPrefix(textIn(f, events), c.prefix) {
				t.Errorf("%s, %s: %d of %d events, %v, %q", f.name, c.kind, len(events), len(good), err, textIn(f, events))
			}
		}
	}
}

func TestInvalidEvents(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	for _, f := range families() {
		s.Next(fakeprovider.Behavior{Kind: "malformed"})
		events, _ := stream(t, s, f, "hi")
		for i, e := range events {
			if good := gjson.Valid(e.data) || e.data == "[DONE]"; good == (i == len(events)/2) {
				t.Errorf("%s: event %d: %s", f.name, i, e.data)
			}
		}
	}
	s.Next(fakeprovider.Behavior{Kind: "corrupt"})
	events, _ := stream(t, s, bedrockFamily(), "hi")
	if events[len(events)/2].name != "wrong checksum" {
		t.Error(events)
	}
}

func TestErrorEvents(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	markers := map[string]string{
		"openai": `"error":{`, "azure": `"error":{`, "workersai": `"error":{`, "deepseek": `"error":{`, "mistral": `"object":"error"`,
		"responses": `"type":"error"`, "anthropic": `"overloaded_error"`, "gemini": `"UNAVAILABLE"`, "bedrock": `"originalStatusCode"`,
		"cohere": `"finish_reason":"ERROR"`,
	}
	for _, f := range families() {
		for kind, prefix := range map[string]string{"error-event": "Hello", "error-first": "", "error-head": ""} {
			s.Next(fakeprovider.Behavior{Kind: kind})
			events, err := stream(t, s, f, "hi")
			got := textIn(f, events)
			failed := strings.Contains(events[len(events)-1].data+events[max(len(events)-2, 0)].data, markers[f.name])
			if !failed || err != nil || !strings.HasPrefix(got, prefix) || (prefix == "") != (got == "") {
				t.Errorf("%s, %s: %q, %v, %v", f.name, kind, got, err, events)
			}
		}
	}
}

func TestEndMarkers(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	ends := map[string]string{
		"openai": "[DONE]", "azure": "[DONE]", "workersai": "[DONE]", "deepseek": "[DONE]", "mistral": "[DONE]", "cohere": "[DONE]",
		"responses": "response.completed", "anthropic": "message_stop",
	}
	for _, f := range families() {
		end := ends[f.name]
		if end == "" {
			continue // Gemini and Bedrock have no end marker
		}
		for _, kind := range []string{"answer", "no-done"} {
			s.Next(fakeprovider.Behavior{Kind: kind})
			events, _ := stream(t, s, f, "hi")
			e := events[len(events)-1]
			if got := e.data == end || e.name == end; got != (kind == "answer") {
				t.Errorf("%s, %s: %v", f.name, kind, e)
			}
		}
	}
}

func hasUsage(body string) bool {
	return strings.Contains(strings.ReplaceAll(body, "max_output_tokens", ""), "okens")
}

func TestNoUsage(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	for _, f := range families() {
		s.Next(fakeprovider.Behavior{Kind: "no-usage"})
		if _, body := post(t, s, f, fill(f.wholeBody, "hi")); hasUsage(body) || !gjson.Valid(body) {
			t.Errorf("%s: %s", f.name, body)
		}
		s.Next(fakeprovider.Behavior{Kind: "no-usage"})
		events, _ := stream(t, s, f, "hi")
		for _, e := range events {
			if hasUsage(e.data) {
				t.Errorf("%s: %s", f.name, e.data)
			}
		}
	}
}

func TestComment(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	for _, f := range families() {
		s.Next(fakeprovider.Behavior{Kind: "comment"})
		resp := do(t, s, f.stream, fill(f.streamBody, "hi"), f.headers)
		data, _ := io.ReadAll(resp.Body)
		unusual := strings.HasPrefix(string(data), "\uFEFF: ping\r\n")
		if f.name == "bedrock" {
			unusual = strings.Contains(string(data), "somethingNew") && strings.Contains(string(data), "x-uuid")
		}
		if got := textIn(f, parse(t, f, data)); got != "Hello from upstream" || !unusual {
			t.Errorf("%s: %q of %q", f.name, got, data)
		}
	}
}

func TestHugeEventAndChunks(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	for _, f := range families() {
		s.Next(fakeprovider.Behavior{Kind: "huge-event"})
		resp := do(t, s, f.stream, fill(f.streamBody, "hi"), f.headers)
		if data, err := io.ReadAll(resp.Body); len(data) < 3_000_000 || err != nil {
			t.Errorf("%s: %d bytes, %v", f.name, len(data), err)
		}
		s.Next(fakeprovider.Behavior{Kind: "answer", Chunks: 500, DelayMs: -1})
		events, _ := stream(t, s, f, "hi")
		if got := textIn(f, events); len(events) < 500 || !strings.HasSuffix(got, " 499 500") {
			t.Errorf("%s: %d events, %q", f.name, len(events), got)
		}
	}
}

// TestDisconnect checks that these kinds last until the client disconnects, and that the server notices.
func TestDisconnect(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	for _, f := range []family{families()[0], anthropicFamily(), geminiFamily(), bedrockFamily()} {
		for kind, minEvents := range map[string]int{"hang": 0, "silent": 0, "stall": 1, "endless": 20, "slow": 1} {
			s.Next(fakeprovider.Behavior{Kind: kind})
			ctx, cancel := context.WithCancel(context.Background())
			r, _ := http.NewRequestWithContext(ctx, "POST", s.URL+f.stream, strings.NewReader(fill(f.streamBody, "count to 500")))
			for i := 0; i < len(f.headers); i += 2 {
				r.Header.Set(f.headers[i], f.headers[i+1])
			}
			left := make(chan struct{})
			go func() {
				defer close(left)
				if resp, err := http.DefaultClient.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			}()
			await(t, func() bool { return s.Active() == 1 && last(s).EventsSent >= minEvents })
			if seen := last(s); seen.Done {
				t.Errorf("%s, %s: it ended before the client left", f.name, kind)
			}
			cancel()
			<-left
			await(t, func() bool { return s.Active() == 0 })
			if seen := last(s); !seen.Disconnected || !seen.Done {
				t.Errorf("%s, %s: disconnected %v, done %v", f.name, kind, seen.Disconnected, seen.Done)
			}
		}
	}
}

// await waits until a condition holds, for as long as the slowest machine needs.
func await(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen within 20 s")
		}
	}
}

func TestWholeKinds(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	f := families()[0]
	_, good := post(t, s, f, fill(f.wholeBody, "hi"))
	for _, c := range []struct {
		b      fakeprovider.Behavior
		status int
		length int
		kind   string
		err    error
	}{
		{fakeprovider.Behavior{Kind: "answer"}, 200, len(good), "application/json", nil},
		{fakeprovider.Behavior{Kind: "answer", Status: 503, Body: "x"}, 503, 1, "application/json", nil},
		{fakeprovider.Behavior{Kind: "broken"}, 200, len(good) / 2, "application/json", syscall.ECONNRESET},
		{fakeprovider.Behavior{Kind: "truncated"}, 200, len(good) / 2, "application/json", nil},
		{fakeprovider.Behavior{Kind: "huge"}, 200, 12 << 20, "application/json", nil},
		{fakeprovider.Behavior{Kind: "bytewise"}, 200, len(good), "application/json", nil},
		{fakeprovider.Behavior{Kind: "status-html"}, 502, 154, "text/html", nil},
		{fakeprovider.Behavior{Kind: "wrong-type"}, 200, 154, "text/html", nil},
	} {
		s.Next(c.b)
		resp := do(t, s, f.whole, fill(f.wholeBody, "hi"), f.headers)
		data, err := io.ReadAll(resp.Body)
		if resp.StatusCode != c.status || len(data) != c.length || resp.Header.Get("Content-Type") != c.kind || !errors.Is(err, c.err) {
			t.Errorf("%s: %d, %d bytes of %s, %v", c.b.Kind, resp.StatusCode, len(data), resp.Header.Get("Content-Type"), err)
		}
	}
	s.Next(fakeprovider.Behavior{Kind: "drop"})
	if resp, err := http.Post(s.URL+f.whole, "", strings.NewReader("{}")); err == nil {
		t.Error(resp.Status)
	}
	s.Next(fakeprovider.Behavior{Kind: "json"})
	resp := do(t, s, f.stream, fill(f.streamBody, "hi"), f.headers)
	if data, _ := io.ReadAll(resp.Body); string(data) != good {
		t.Errorf("%s", data)
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	f := families()[0]
	s.Next(fakeprovider.Behavior{Kind: "hold"})
	done := make(chan string)
	go func() {
		events, _ := stream(t, s, f, "hi")
		done <- textIn(f, events)
	}()
	for s.Held() != 1 {
		time.Sleep(time.Millisecond)
	}
	if s.Active() != 1 {
		t.Error(s.Active())
	}
	s.Release()
	if got := <-done; got != "Hello from upstream" || s.Held() != 0 {
		t.Error(got)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	messages := map[string]string{"gemini": "error.message", "anthropic": "error.message", "responses": "error.message", "openai": "error.message",
		"azure": "error.message", "deepseek": "error.message", "workersai": "errors.0.message"}
	for _, f := range families() {
		for _, status := range []int{400, 403, 404, 408, 413, 422, 429, 500, 502, 503, 529} {
			s.Next(fakeprovider.Behavior{Kind: "status", Status: status, Headers: map[string]string{"Retry-After": "7"}})
			resp := do(t, s, f.stream, fill(f.streamBody, "hi"), f.headers)
			data, _ := io.ReadAll(resp.Body)
			path := messages[f.name]
			if path == "" {
				path = "message"
			}
			if resp.StatusCode != status || gjson.GetBytes(data, path).Str == "" || resp.Header.Get("Retry-After") != "7" {
				t.Errorf("%s: %d %s", f.name, resp.StatusCode, data)
			}
		}
	}
}

func TestFamilyQueue(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	s.Next(fakeprovider.Behavior{Kind: "status", Status: 500, Family: "gemini"})
	s.Next(fakeprovider.Behavior{Kind: "status", Status: 429, Family: "anthropic"})
	for _, c := range []struct {
		f    family
		want int
	}{{anthropicFamily(), 429}, {anthropicFamily(), 200}, {geminiFamily(), 500}, {geminiFamily(), 200}} {
		if status, _ := post(t, s, c.f, fill(c.f.wholeBody, "hi")); status != c.want {
			t.Errorf("%s: %d", c.f.name, status)
		}
	}
}
