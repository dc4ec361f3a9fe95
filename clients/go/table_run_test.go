package postern

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// run is one case while it runs.
type run struct {
	*testing.T
	server *scriptedServer
	id     string
	tableCase

	pauses  []time.Duration
	onPause context.CancelFunc // nil: none
	mu      sync.Mutex
	logs    []map[string]any
	keys    []string // keys that the key function has returned
	hooked  []any    // what the hooks recorded
	texts   []string // texts that must not contain anything from Expect.Absent
	urls    []string // of requests
}

func newRun(t *testing.T, server *scriptedServer, id string, c tableCase) *run {
	return &run{T: t, server: server, id: id, tableCase: c}
}

// client creates the case's client. The client reads the case's variables. Its pauses are recorded.
func (r *run) client(url string) (*Client, error) {
	// No connection is reused. If a reused connection broke, the transport would repeat some requests itself.
	transport := &http.Transport{DisableKeepAlives: true}
	r.Cleanup(transport.CloseIdleConnections)
	opts := []Option{
		clientOption(func(s *settings) { s.variable = func(name string) string { return r.Env[name] } }),
		WithHTTPClient(&http.Client{Transport: transport}),
	}
	given := map[string]any{"apiKey": tableKey, "baseURL": url, "logging": map[string]any{}}
	for name, value := range r.Client {
		given[name] = value
	}
	for name, value := range given {
		if value != nil {
			opts = append(opts, r.options(name, value)...)
		}
	}
	c, err := New(opts...)
	if err == nil {
		c.sleep = r.pause
	}
	return c, err
}

// options returns the client options for one field of the case.
func (r *run) options(name string, value any) (opts []Option) {
	switch name {
	case "hooks":
		return r.hooks(value.(map[string]any))
	case "headers", "query":
		for _, o := range pairs(name, value) {
			opts = append(opts, o)
		}
		return opts
	}
	return []Option{r.option(name, value)}
}

// pairs returns the options for a map of headers or query parameters.
func pairs(name string, value any) (opts []SharedOption) {
	with := WithHeader
	if name == "query" {
		with = WithQuery
	}
	for name, text := range value.(map[string]any) {
		opts = append(opts, with(name, text.(string)))
	}
	return opts
}

func (r *run) option(name string, value any) Option {
	switch name {
	case "apiKey":
		if function, ok := value.(map[string]any); ok {
			return WithAPIKeyFunc(r.keyFunc(function))
		}
		return WithAPIKey(value.(string))
	case "baseURL":
		return WithBaseURL(value.(string))
	case "environment":
		return WithEnvironment(Environment(value.(string)))
	case "logging":
		logging := value.(map[string]any)
		level, _ := logging["level"].(string)
		content, _ := logging["content"].(bool)
		return WithLogging(Logging{Level: LogLevel(level), Pretty: pointer[bool](logging["pretty"]), Content: content, Handler: logCollector{r}})
	}
	return r.shared(name, value)
}

func (r *run) shared(name string, value any) SharedOption {
	switch name {
	case "timeout":
		return WithTimeout(time.Duration(value.(float64)) * time.Millisecond)
	case "retries":
		return WithRetries(int(value.(float64)))
	case "idempotency":
		return WithIdempotency(value.(bool))
	case "governor":
		g := value.(map[string]any)
		result := Governor{Enabled: pointer[bool](g["enabled"]), StrictMode: pointer[bool](g["strictMode"])}
		if n, ok := g["autoApproveThreshold"].(float64); ok {
			result.AutoApproveThreshold = Ptr(int(n))
		}
		return WithGovernor(result)
	}
	r.Fatalf("unknown option %s", name)
	return nil
}

func (r *run) callOptions(options map[string]any) []CallOption {
	var opts []CallOption
	for name, value := range options {
		key, isKey := value.(string)
		switch {
		case name == "idempotency" && isKey:
			opts = append(opts, WithIdempotencyKey(key))
		case name == "headers", name == "query":
			for _, o := range pairs(name, value) {
				opts = append(opts, o)
			}
		default:
			opts = append(opts, r.shared(name, value))
		}
	}
	return opts
}

func pointer[T any](value any) *T {
	if v, ok := value.(T); ok {
		return &v
	}
	return nil
}

func (r *run) pause(_ context.Context, d time.Duration) {
	r.pauses = append(r.pauses, d)
	if r.onPause != nil {
		r.onPause()
	}
}

// logCollector is a slog.Handler that keeps records as the other clients write them.
type logCollector struct{ r *run }

func (l logCollector) Enabled(context.Context, slog.Level) bool { return true }
func (l logCollector) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l logCollector) WithGroup(string) slog.Handler            { return l }

func (l logCollector) Handle(ctx context.Context, record slog.Record) error {
	var text strings.Builder
	if err := newJSONHandler(&text).Handle(ctx, record); err != nil {
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(text.String()), &fields); err != nil {
		return err
	}
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	l.r.logs = append(l.r.logs, fields)
	l.r.texts = append(l.r.texts, text.String())
	return nil
}

func (r *run) seen(err error) {
	if err == nil || err == io.EOF {
		return
	}
	text, jsonErr := json.Marshal(err)
	if jsonErr != nil {
		r.Errorf("%T cannot be written as JSON: %v", err, jsonErr)
	}
	var known Error
	var ofHook *errHook
	if !errors.As(err, &known) && !errors.As(err, &ofHook) {
		r.Errorf("%T is not an Error", err)
	}
	r.texts = append(r.texts, err.Error(), fmt.Sprintf("%+v", err), string(text))
}

func (r *run) comparePauses() {
	if len(r.pauses) != len(r.Expect.Pauses) {
		r.Errorf("pauses %v, want %v", r.pauses, r.Expect.Pauses)
		return
	}
	for i, limits := range r.Expect.Pauses {
		if ms := float64(r.pauses[i]) / 1e6; ms < limits[0] || ms > limits[1] {
			r.Errorf("pause %d is %v ms, want %v", i, ms, limits)
		}
	}
}

func (r *run) compareLogs() {
	if r.Expect.Logs == nil {
		return
	}
	logs := make([]any, len(r.logs))
	for i, fields := range r.logs {
		logs[i] = fields
	}
	r.compare("logs", r.Expect.Logs, logs)
}

func (r *run) compareRequests() {
	requests := r.server.await(r.T, r.id, func(requests []map[string]any) bool {
		for i, want := range r.Expect.Requests {
			if want["closed"] == true && (i >= len(requests) || requests[i]["closed"] != true) {
				return false
			}
		}
		return true
	})
	if len(requests) != len(r.Expect.Requests) {
		r.Errorf("%d requests, want %d: %v", len(requests), len(r.Expect.Requests), requests)
		return
	}
	for i, want := range r.Expect.Requests {
		r.compareRequest(i, want, requests[i])
	}
	for _, name := range r.Expect.SameHeader {
		for _, request := range requests {
			r.compare("header "+name, header(requests[0])[name], header(request)[name])
		}
	}
	for _, name := range r.Expect.DifferentHeader {
		values := map[any]bool{}
		for _, request := range requests {
			values[header(request)[name]] = true
		}
		if len(values) != len(requests) {
			r.Errorf("header %s has equal values: %v", name, values)
		}
	}
}

func header(request map[string]any) map[string]any {
	h, _ := request["headers"].(map[string]any)
	return h
}

func (r *run) compareRequest(i int, want, got map[string]any) {
	place := fmt.Sprintf("request %d", i)
	r.compare(place, want, got)
	if body, given := want["body"]; given && !equalJSON(body, got["body"]) { // whole, not a part
		r.Errorf("%s: the body is %v, want %v", place, got["body"], body)
	}
	if query, given := want["query"]; given && len(query.(map[string]any)) != len(got["query"].(map[string]any)) {
		r.Errorf("%s: the query is %v, want %v", place, got["query"], query)
	}
	r.compare(place, map[string]any{"headers": map[string]any{
		"authorization": nil,
		"user-agent":    map[string]any{"match": `^postern-go/\d+\.\d+\.\d+ \(.+\)$`},
	}}, got)
	if key, _ := header(got)["x-api-key"].(string); !r.isKey(key) {
		r.Errorf("%s has another key", place)
	}
	r.urls = append(r.urls, fmt.Sprint(got["path"], got["query"]))
}

func (r *run) isKey(text string) bool {
	given, ok := r.Client["apiKey"].(string)
	switch _, isNull := r.Client["apiKey"]; {
	case len(r.keys) > 0:
		return slices.Contains(r.keys, text)
	case ok:
		return text == strings.TrimSpace(given)
	case isNull:
		return text == strings.TrimSpace(r.Env["POSTERN_API_KEY"])
	}
	return text == tableKey
}

func (r *run) checkSecrets() {
	key := []string{strings.TrimPrefix(tableKey, "sk_test_")}
	for _, k := range r.keys {
		if k = strings.TrimPrefix(k, "sk_test_"); k != "" {
			key = append(key, k)
		}
	}
	r.checkAbsent(r.urls, key)
	r.checkAbsent(r.texts, append(key, r.Expect.Absent...))
}

func (r *run) checkAbsent(texts, secrets []string) {
	for _, text := range texts {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				r.Errorf("%q contains %q", text, secret)
			}
		}
	}
}

func equalJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
