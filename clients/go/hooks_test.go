package postern

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestHookErrorsAreUnchanged uses errors that would cause a retry or end a stream if the client itself had made them.
func TestHookErrorsAreUnchanged(t *testing.T) {
	for name, cause := range map[string]error{
		"end of file": io.EOF,
		"connection":  &APIConnectionError{Cause: io.EOF},
		"status":      statusError(http.StatusServiceUnavailable),
		"context":     context.DeadlineExceeded,
	} {
		var log strings.Builder
		quiet := WithLogging(Logging{Level: LogInfo, Handler: slog.NewTextHandler(&log, nil)})
		for hook, option := range map[string]Option{
			"request":  WithRequestHook(func(context.Context, *OutgoingRequest) error { return cause }),
			"response": WithResponseHook(func(context.Context, *IncomingResponse) error { return cause }),
		} {
			var sent atomic.Int64
			client := newFake(t, func(w http.ResponseWriter, r *http.Request) {
				sent.Add(1)
				answer(w, http.StatusOK, okStream)
			}, option, quiet)
			for call, err := range calls(context.Background(), client) {
				if err != cause {
					t.Errorf("%s, %s, %s: %T %v", name, hook, call, err, err)
				}
			}
			if n := sent.Load(); hook == "request" && n != 0 {
				t.Errorf("%s: %d requests", name, n)
			}
		}
		if log.String() != "" {
			t.Errorf("%s: %s", name, log.String())
		}
	}
}

func TestResponseHookIsInterrupted(t *testing.T) {
	end := make(chan bool)
	var sent atomic.Int64
	client := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		sent.Add(1)
		answer(w, http.StatusOK, okStream)
	}, WithResponseHook(func(context.Context, *IncomingResponse) error { <-end; return nil }))
	t.Cleanup(func() { close(end) })
	_, err := client.AI.Chat(context.Background(), hello, WithTimeout(20*time.Millisecond)).Text()
	var timeout *APITimeoutError
	want := "postern: POST /api/ai/chat: the response hook did not return within 20ms"
	if !errors.As(err, &timeout) || err.Error() != want || sent.Load() != 1 {
		t.Errorf("%T %v, %d requests", err, err, sent.Load())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := client.Health.Get(ctx); !errors.Is(err, context.DeadlineExceeded) || sent.Load() != 2 {
		t.Errorf("%T %v", err, err)
	}
}

// TestHooksChangeOneAttempt checks that a request hook does not affect the next attempt, and that a response hook
// cannot change anything.
func TestHooksChangeOneAttempt(t *testing.T) {
	var got []http.Header
	var kept *OutgoingRequest
	client := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header)
		w.Header().Set("x-should-retry", "true")
		answer(w, http.StatusBadRequest, `{}`)
	}, WithRequestHook(func(_ context.Context, r *OutgoingRequest) error {
		if kept != nil {
			kept.Header.Set("x-late", "1") // of the attempt before
		}
		if kept = r; r.Attempt == 1 {
			r.Header.Set("x-early", "1")
			r.Header = http.Header{"X-First": {"1"}}
		}
		return nil
	}), WithResponseHook(func(_ context.Context, r *IncomingResponse) error {
		r.Header.Set("x-should-retry", "false")
		return nil
	}))
	_, err := client.Health.Get(context.Background(), WithRetries(1))
	var bad *BadRequestError
	if !errors.As(err, &bad) || bad.Header.Get("x-should-retry") != "true" || len(got) != 2 {
		t.Fatalf("%v, %d requests", err, len(got))
	}
	if got[0].Get("x-first") != "1" || got[0].Get("accept") != "" || got[0].Get("x-api-key") != tableKey {
		t.Errorf("first: %v", got[0])
	}
	if got[1].Get("x-first") != "" || got[1].Get("x-late") != "" || got[1].Get("x-early") != "" || got[1].Get("accept") == "" {
		t.Errorf("second: %v", got[1])
	}
}

func TestRequestHookCannotFrame(t *testing.T) {
	for _, header := range []http.Header{{"x-api-key": {"x"}}, {"content-length": {"3"}}, {"Host": {"x"}}, {"X-A": {"a\r\nb: c"}}, {"a b": {"c"}}} {
		client := newFake(t, neverSent(t), WithRequestHook(func(_ context.Context, r *OutgoingRequest) error {
			r.Header = header
			return nil
		}))
		_, err := client.Health.Get(context.Background())
		var wrong *ConfigurationError
		if !errors.As(err, &wrong) || wrong.Setting != "WithRequestHook: Header" {
			t.Errorf("%v: %v", header, err)
		}
	}
}

// TestHooksAreConcurrent relies on the race detector.
func TestHooksAreConcurrent(t *testing.T) {
	var seen atomic.Int64
	client := newFake(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, okStream) },
		WithRequestHook(func(ctx context.Context, r *OutgoingRequest) error {
			seen.Add(1)
			r.Header.Set("x-trace", ctx.Value(traceKey{}).(string))
			return nil
		}),
		WithResponseHook(func(_ context.Context, r *IncomingResponse) error {
			seen.Add(1)
			r.Header.Set("x-trace", "1")
			return nil
		}),
		WithHeader("x-team", "core"))
	ctx := context.WithValue(context.Background(), traceKey{}, "00-trace")
	var group sync.WaitGroup
	for range 100 {
		group.Add(1)
		go func() {
			defer group.Done()
			if text, err := client.AI.Chat(ctx, hello).Text(); text != "Hi" || err != nil {
				t.Error(text, err)
			}
		}()
	}
	group.Wait()
	if seen.Load() != 200 {
		t.Errorf("the hooks were called %d times", seen.Load())
	}
}

type traceKey struct{}
