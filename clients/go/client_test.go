package postern

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestConcurrentUse(t *testing.T) {
	client := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/chat"):
			answer(w, 200, okStream)
		case strings.HasSuffix(r.URL.Path, "/complete"):
			w.Header().Set("x-postern-dropped-params", "temperature")
			answer(w, 200, okCompletion)
		case strings.HasSuffix(r.URL.Path, "/health"):
			answer(w, 200, `{"project_id":"proj_1"}`)
		default:
			answer(w, 200, `{"budget":{"limit":1}}`)
		}
	}, WithIdempotency(true))
	var group sync.WaitGroup
	for range 100 {
		group.Add(1)
		go func() {
			defer group.Done()
			ctx := context.Background()
			if c, err := client.AI.Complete(ctx, hello, WithRetries(0)); err != nil || c.Text != "Hi" {
				t.Error(c, err)
			}
			if text, err := client.AI.Chat(ctx, hello).Text(); err != nil || text != "Hi" {
				t.Error(text, err)
			}
			if u, err := client.Usage.Get(ctx, UsageParams{}); err != nil || u.Budget.Limit != 1 {
				t.Error(u, err)
			}
		}()
	}
	group.Wait()
}

// TestBodiesAreClosed has no checks of its own, because newFake counts open bodies.
func TestBodiesAreClosed(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"completion":       {200, okCompletion},
		"stream":           {200, okStream},
		"without done":     {200, "data: {\"type\":\"delta\",\"text\":\"Hi\"}\n\n"},
		"error event":      {200, "data: {\"type\":\"error\",\"error\":\"x\",\"code\":\"y\"}\n\n"},
		"invalid event":    {200, "data: {\n\n"},
		"not JSON":         {200, "Hi"},
		"error status":     {503, `{"error":"x","code":"y"}`},
		"redirect":         {302, ""},
		"empty":            {200, ""},
		"no object":        {200, "null"},
		"without the text": {200, "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			client := newScripted(t, c.status, c.body)
			_, _ = client.AI.Complete(ctx, hello)
			_, _ = client.AI.Chat(ctx, hello).Text()
			for range client.AI.Chat(ctx, hello).Events() {
				break
			}
			if err := client.AI.Chat(ctx, hello).Close(); err != nil {
				t.Error(err)
			}
			for range client.Violations.List(ctx, ViolationFilter{}) {
				break
			}
			for range client.Compliance.Export(ctx, ExportParams{}) {
				break
			}
		})
	}
}

func TestStreamKeepsConnection(t *testing.T) {
	done := make(chan bool)
	client := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, okStream)
		_ = http.NewResponseController(w).Flush()
		<-done // the response ends after the stream
	})
	client.drain = time.Minute
	reused := false
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused },
	})
	for range 2 {
		for event, err := range client.AI.Chat(ctx, hello).Events() {
			if err != nil {
				t.Fatal(err)
			}
			if _, last := event.(DoneEvent); last {
				done <- true
			}
		}
	}
	if !reused {
		t.Error("the second stream has a new connection")
	}
}

func TestStreamThatDoesNotEnd(t *testing.T) {
	client := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		answer(w, 200, okStream)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	if text, err := client.AI.Chat(context.Background(), hello).Text(); err != nil || text != "Hi" {
		t.Error(text, err)
	}
}

// hang does not respond until the client disconnects.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // so that the server notices the disconnect
	<-r.Context().Done()
}

func TestDeadlineIsNotTimeout(t *testing.T) {
	client := newFake(t, hang)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := client.AI.Complete(ctx, hello)
	var aborted *APIAbortedError
	var timeout *APITimeoutError
	if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &aborted) || errors.As(err, &timeout) {
		t.Errorf("the context's deadline: %T %v", err, err)
	}
	_, err = client.AI.Complete(context.Background(), hello, WithTimeout(20*time.Millisecond), WithRetries(1))
	var connection *APIConnectionError
	if errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &timeout) || !errors.As(err, &connection) {
		t.Errorf("the timeout of an attempt: %T %v", err, err)
	}
	if timeout.Duration != 20*time.Millisecond || !timeout.Timeout() {
		t.Errorf("the timeout is %v", timeout.Duration)
	}
}

func TestCancelHasCause(t *testing.T) {
	client := newFake(t, hang)
	cause := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	_, err := client.Health.Get(ctx)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("%T %v", err, err)
	}
}

func TestErrorsByStatus(t *testing.T) {
	ctx := context.Background()
	body := `{"error":"No","code":"blocked_by_policy","requestId":"req_1","findings":[{"rule":"r"}]}`
	for status, target := range map[int]any{
		400: new(*BadRequestError), 401: new(*AuthenticationError), 402: new(*BudgetExceededError), 403: new(*PermissionDeniedError),
		404: new(*NotFoundError), 409: new(*ConflictError), 413: new(*RequestTooLargeError), 422: new(*BlockedByPolicyError),
		429: new(*RateLimitError), 500: new(*InternalServerError), 504: new(*InternalServerError), 418: new(*APIError),
	} {
		_, err := newScripted(t, status, body).Health.Get(ctx)
		var api *APIError
		var any Error
		if !errors.As(err, target) || !errors.As(err, &api) || !errors.As(err, &any) {
			t.Errorf("%d: %T", status, err)
			continue
		}
		if api.StatusCode != status || api.Message != "No" || api.RequestID != "req_1" || len(api.Findings) != 1 {
			t.Errorf("%d: %+v", status, api)
		}
	}
	_, err := newScripted(t, 422, body).Health.Get(ctx, WithGovernor(Governor{Enabled: Ptr(false)}))
	var blocked *BlockedByPolicyError
	var plain *UnprocessableEntityError
	if errors.As(err, &blocked) || !errors.As(err, &plain) {
		t.Errorf("without the Governor: %T", err)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the key traveled") }))
	defer other.Close()
	given := &http.Client{}
	client := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	_, err := client.AI.Complete(context.Background(), hello)
	var api *APIError
	if !errors.As(err, &api) || api.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("%T %v", err, err)
	}
	if _, err := New(WithAPIKey(tableKey), WithHTTPClient(given)); err != nil || given.CheckRedirect != nil {
		t.Error("the given HTTP client was changed", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestGivenTransport(t *testing.T) {
	count := 0
	client, err := New(WithAPIKey(tableKey), WithHTTPClient(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		count++
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"project_id":"proj_1"}`))}, nil
	})}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if health, err := client.Health.Get(ctx); err != nil || health.ProjectID != "proj_1" || count != 1 {
		t.Error(health, err, count)
	}
	cancel()
	if _, err := client.Health.Get(ctx); !errors.Is(err, context.Canceled) || count != 1 {
		t.Error("a canceled call was sent", err)
	}
}

func TestCanceledPause(t *testing.T) {
	client := newScripted(t, 503, "")
	ctx, cancel := context.WithCancel(context.Background())
	client.sleep = func(ctx context.Context, _ time.Duration) {
		cancel()
		sleep(ctx, time.Hour)
	}
	if _, err := client.Health.Get(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestStreamIsReadOnce(t *testing.T) {
	client := newScripted(t, 200, "data: {\"type\":\"delta\",\"text\":\"a\"}\n\n"+okStream)
	stream := client.AI.Chat(context.Background(), hello)
	count := 0
	for event, err := range stream.Events() {
		if _, ok := event.(DeltaEvent); ok {
			count++
		} else if _, ok := event.(DoneEvent); !ok || err != nil {
			t.Error(event, err)
		}
	}
	text, err := stream.Text()
	usage, usageErr := stream.Usage()
	if count != 2 || text != "aHi" || usage.CostCents != 0.5 || err != nil || usageErr != nil {
		t.Error(count, text, usage, err, usageErr)
	}
}

func TestStreamAfterBreak(t *testing.T) {
	client := newScripted(t, 200, "data: {\"type\":\"delta\",\"text\":\"a\"}\n\n"+okStream)
	stream := client.AI.Chat(context.Background(), hello)
	for range stream.Events() {
		break
	}
	if _, err := stream.Final(); !errors.Is(err, context.Canceled) || !errors.Is(err, errStreamClosed) {
		t.Errorf("%T %v", err, err)
	}
	stream = client.AI.Chat(context.Background(), hello)
	for event := range stream.Events() {
		if _, done := event.(DoneEvent); done {
			break
		}
	}
	if c, err := stream.Final(); err != nil || c.Text != "aHi" {
		t.Error(c, err)
	}
}

func TestLogHandlers(t *testing.T) {
	for name, c := range map[string]struct {
		pretty bool
		want   string
	}{
		"json":   {false, `"level":"warn","msg":"dropped_params","params":["temperature","seed"]}` + "\n"},
		"pretty": {true, " WARN dropped_params params=temperature,seed\n"},
	} {
		var text bytes.Buffer
		handler := newJSONHandler(&text)
		if c.pretty {
			handler = newPrettyHandler(&text)
		}
		client := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("x-postern-dropped-params", "temperature, seed")
			answer(w, 200, okCompletion)
		}, WithLogging(Logging{Handler: handler}))
		for range 2 { // the second warning equals the first, so it is not logged
			if _, err := client.AI.Complete(context.Background(), hello); err != nil {
				t.Fatal(err)
			}
		}
		if got := text.String(); !strings.HasSuffix(got, c.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestPrettyValuesStayOnOneLine(t *testing.T) {
	var text bytes.Buffer
	log := logger{Logger: newLogger(&text), level: slogLevels[LogDebug], warned: &memory{texts: map[string]bool{}}}
	log.write(context.Background(), slogLevels[LogWarn], "x", textOrNull("a", "b c\nd"), textOrNull("e", ""), textOrNull("f", "g"))
	if got := text.String(); !strings.HasSuffix(got, " WARN x a=\"b c\\nd\" f=g\n") {
		t.Errorf("%q", got)
	}
}

type priced struct {
	Price float64 `json:"price"`
}

func (p priced) Validate() error {
	if p.Price < 0 {
		return errors.New("price must not be negative")
	}
	return nil
}

func TestCompleteJSON(t *testing.T) {
	for _, c := range []struct{ output, want string }{
		{`{\"price\": 2.5, \"more\": 1}`, ""},
		{`{\"price\": -1}`, "price must not be negative"},
		{`{\"price\": \"2\"}`, "price: must be a float64, got a string"},
		{`{\"price\": 2} and more`, "text after the JSON value"},
		{`Sorry!`, "is not JSON"},
		{``, "is not JSON"},
	} {
		client := newScripted(t, 200, fmt.Sprintf(`{"text":"%s","usage":{"costCents":0.5}}`, c.output))
		got, err := CompleteJSON[priced](context.Background(), client, hello)
		if c.want == "" {
			if err != nil || got.Data.Price != 2.5 || got.Usage.CostCents != 0.5 {
				t.Error(got, err)
			}
			continue
		}
		var invalid *OutputValidationError
		if !errors.As(err, &invalid) || !strings.HasSuffix(err.Error(), c.want) || invalid.Completion.Usage.CostCents != 0.5 {
			t.Errorf("%s: %v", c.output, err)
		}
	}
}
