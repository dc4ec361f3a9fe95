package postern

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const okHealth = `{"project_id":"proj_1"}`

// TestKeyFuncIsConcurrent also relies on the race detector.
func TestKeyFuncIsConcurrent(t *testing.T) {
	var asked, sent atomic.Int64
	all := make(chan bool)
	client := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		sent.Add(1)
		answer(w, http.StatusOK, okHealth)
		if !strings.HasPrefix(r.Header.Get("x-api-key"), "sk_test_parallel") {
			t.Error("another key")
		}
	}, WithAPIKeyFunc(func(context.Context) (string, error) {
		n := asked.Add(1)
		if n == 100 {
			close(all)
		}
		<-all // no call waits for another call's function
		return fmt.Sprintf("sk_test_parallel%d", n), nil
	}))
	var group sync.WaitGroup
	for range 100 {
		group.Add(1)
		go func() {
			defer group.Done()
			if _, err := client.Health.Get(context.Background()); err != nil {
				t.Error(err)
			}
		}()
	}
	group.Wait()
	if asked.Load() != 100 || sent.Load() != 100 {
		t.Errorf("%d keys for %d requests", asked.Load(), sent.Load())
	}
}

// blocked provides a function that ignores its context until the test ends.
type blocked struct{ started, end chan bool }

func (b blocked) run() {
	b.started <- true
	<-b.end
}

// neverSent makes the test fail if a request arrives.
func neverSent(t *testing.T) http.HandlerFunc {
	return func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }
}

func TestAbortEndsFunctionsOfTheCaller(t *testing.T) {
	for name, option := range map[string]func(func()) Option{
		"key": func(f func()) Option {
			return WithAPIKeyFunc(func(context.Context) (string, error) { f(); return tableKey, nil })
		},
		"request hook": func(f func()) Option {
			return WithRequestHook(func(_ context.Context, r *OutgoingRequest) error { f(); r.Header.Set("x-late", "1"); return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			// Cleanup runs in reverse order, so the functions end before newFake counts goroutines.
			b := blocked{make(chan bool), make(chan bool)}
			client := newFake(t, neverSent(t), option(b.run))
			t.Cleanup(func() { close(b.end) })
			ctx, cancel := context.WithCancel(context.Background())
			go func() { <-b.started; cancel() }()
			var aborted *APIAbortedError
			if _, err := client.AI.Chat(ctx, hello).Text(); !errors.As(err, &aborted) || !errors.Is(err, context.Canceled) {
				t.Errorf("%T %v", err, err)
			}
		})
	}
}

func TestTimeoutOfFunctionsOfTheCaller(t *testing.T) {
	ended := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for want, option := range map[string]Option{
		"postern: GET /api/health: WithAPIKeyFunc did not return within 20ms": WithAPIKeyFunc(func(ctx context.Context) (string, error) {
			return "", ended(ctx)
		}),
		"postern: GET /api/health: the request hook did not return within 20ms": WithRequestHook(func(ctx context.Context, _ *OutgoingRequest) error {
			return ended(ctx)
		}),
	} {
		client := newFake(t, neverSent(t), option)
		_, err := client.Health.Get(context.Background(), WithTimeout(20*time.Millisecond), WithRetries(1))
		var timeout *APITimeoutError
		if !errors.As(err, &timeout) || err.Error() != want {
			t.Errorf("%T %v, want %s", err, err, want)
		}
	}
}

// TestPanicOfFunctionsOfTheCaller checks that the caller can recover from a panic in its own functions. newFake
// checks for leaks.
func TestPanicOfFunctionsOfTheCaller(t *testing.T) {
	for name, option := range map[string]Option{
		"key":           WithAPIKeyFunc(func(context.Context) (string, error) { panic("boom") }),
		"request hook":  WithRequestHook(func(context.Context, *OutgoingRequest) error { panic("boom") }),
		"response hook": WithResponseHook(func(context.Context, *IncomingResponse) error { panic("boom") }),
	} {
		client := newFake(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, okHealth) }, option)
		var recovered any
		func() {
			defer func() { recovered = recover() }()
			_, _ = client.Health.Get(context.Background())
		}()
		if recovered != "boom" {
			t.Errorf("%s: recovered %v", name, recovered)
		}
	}
}

// TestKeyFuncOfEnvironment checks which keys a function may return, and that no error reveals a key.
func TestKeyFuncOfEnvironment(t *testing.T) {
	for _, c := range []struct {
		key         string
		environment Environment
		fits        bool
	}{
		{"sk_test_0123456789", "", true},
		{"sk_live_0123456789", "", true},
		{"other_0123456789", Production, true},
		{"sk_live_0123456789", Production, true},
		{"pk_test_0123456789", Production, false},
		{"sk_test_0123456789", Development, true},
		{"sk_live_0123456789", Development, false},
	} {
		options := []Option{WithAPIKeyFunc(func(context.Context) (string, error) { return c.key, nil })}
		if c.environment != "" {
			options = append(options, WithEnvironment(c.environment))
		}
		client := newFake(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, okHealth) }, options...)
		_, err := client.Health.Get(context.Background())
		var wrong *ConfigurationError
		if errors.As(err, &wrong) == c.fits || err != nil && strings.Contains(err.Error(), "0123456789") {
			t.Errorf("%s in %q: %v", c.key, c.environment, err)
		}
	}
}

// TestKeyFuncReplacesKey checks that the last of several key options takes effect.
func TestKeyFuncReplacesKey(t *testing.T) {
	function := WithAPIKeyFunc(func(context.Context) (string, error) { return "sk_test_function", nil })
	for want, options := range map[string][]Option{
		"sk_test_function": {WithAPIKey("sk_test_text"), function},
		"sk_test_text":     {function, WithAPIKey("sk_test_text")},
	} {
		got := ""
		client := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			got = r.Header.Get("x-api-key")
			answer(w, http.StatusOK, okHealth)
		}, options...)
		if _, err := client.Health.Get(context.Background()); err != nil || got != want {
			t.Errorf("%s, want %s: %v", got, want, err)
		}
	}
}
