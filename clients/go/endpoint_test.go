package postern

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestGetParsesIntoOut(t *testing.T) {
	ctx := context.Background()
	client := newScripted(t, http.StatusOK, `{"a":[1,2.5],"b":"x"}`)
	var all struct {
		A []float64
		B *string
	}
	if err := client.Get(ctx, "/api/other", &all); err != nil || all.A[1] != 2.5 || *all.B != "x" {
		t.Errorf("%+v %v", all, err)
	}
	var raw json.RawMessage
	var response Response
	err := client.Get(ctx, "/api/other", &raw, WithResponse(&response))
	if err != nil || string(raw) != `{"a":[1,2.5],"b":"x"}` || string(response.Body) != string(raw) {
		t.Errorf("%s %s %v", raw, response.Body, err)
	}
	if err := client.Get(ctx, "/api/other", nil); err != nil {
		t.Error(err)
	}
}

func TestGetOfAnotherType(t *testing.T) {
	ctx := context.Background()
	client := newScripted(t, http.StatusOK, `{"a":[1,2.5],"b":"x"}`)
	var number int
	err := client.Get(ctx, "/api/other", &number)
	var wrong *InvalidResponseError
	if !errors.As(err, &wrong) || wrong.Problem != "the JSON does not fit *int" {
		t.Error(err)
	}
	for _, out := range []any{number, (*int)(nil), struct{}{}} {
		err := client.Get(ctx, "/api/other", out)
		wantConfigurationError(t, map[string]error{"out": err}, "postern: out must be a pointer that is not nil")
	}
}

func TestGetOfNoContent(t *testing.T) {
	client := newFake(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	out := Ptr(1)
	if err := client.Get(context.Background(), "/api/other", &out); err != nil || out != nil {
		t.Error(out, err)
	}
	empty := newScripted(t, http.StatusOK, "")
	var wrong *InvalidResponseError
	if err := empty.Get(context.Background(), "/api/other", &out); !errors.As(err, &wrong) {
		t.Errorf("an empty body: %v", err)
	}
}

func TestPostBodies(t *testing.T) {
	var got []string
	client := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		got = append(got, string(text))
		answer(w, http.StatusOK, "{}")
	})
	for _, body := range []any{map[string]any{"a": "<b>"}, json.RawMessage(`{"a": 1}`), json.RawMessage("null"), nil, []int{}} {
		if err := client.Post(context.Background(), "/api/other", body, nil); err != nil {
			t.Error(err)
		}
	}
	if want := `{"a":"<b>"}|{"a":1}|null||[]`; strings.Join(got, "|") != want {
		t.Errorf("%q, want %s", got, want)
	}
	err := client.Post(context.Background(), "/api/other", func() {}, nil)
	var wrong *ConfigurationError
	if !errors.As(err, &wrong) || wrong.Setting != "body" {
		t.Error(err)
	}
}

// TestIdempotencyOfPost checks that only an idempotency key of the call itself makes the call repeatable.
func TestIdempotencyOfPost(t *testing.T) {
	for name, c := range map[string]struct {
		option CallOption
		sent   int
		key    string
	}{
		"none":       {nil, 1, ""},
		"automatic":  {WithIdempotency(true), 1, ""},
		"of a call":  {WithIdempotencyKey("order-42"), 3, "order-42"},
		"of headers": {WithHeader("idempotency-key", "order-43"), 1, "order-43"},
	} {
		sent := 0
		client := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			sent++
			if got := r.Header.Get("idempotency-key"); got != c.key {
				t.Errorf("%s: key %q", name, got)
			}
			answer(w, http.StatusInternalServerError, "{}")
		}, WithIdempotency(true))
		var failed *InternalServerError
		if err := client.Post(context.Background(), "/api/other", nil, nil, c.option); !errors.As(err, &failed) || sent != c.sent {
			t.Errorf("%s: %d requests, %v", name, sent, err)
		}
	}
}

func TestInvalidIdempotencyKeyOfPost(t *testing.T) {
	client := newFake(t, neverSent(t))
	var wrong *ConfigurationError
	if err := client.Post(context.Background(), "/api/other", nil, nil, WithIdempotencyKey("")); !errors.As(err, &wrong) {
		t.Error(err)
	}
}

// paths says for each path of an endpoint whether it is accepted and sent.
var paths = map[string]bool{
	"/":                    true,
	"/v1/models":           true,
	"/v1/models/":          true,
	"/v1//models":          true,
	"/v1/.well-known/...":  true,
	"/v1/a%2Fb%3Fc%20d":    true,
	"/v1/a;b=c,d:e@f+g~!*": true,
	"":                     false,
	"v1":                   false,
	"//evil.example":       false,
	"/\\evil.example":      false,
	"/v1/.":                false,
	"/../v1":               false,
	"/v1/%2e%2e":           false,
	"/v1/%2E./x":           false,
	"/v1/..%2fadmin":       false,
	"/v1/..%5cadmin":       false,
	"/v1/a?b":              false,
	"/v1/a#b":              false,
	"/v1/a b":              false,
	"/v1/a\x00":            false,
	"/v1/a\x7f":            false,
	"/v1/ü":                false,
	"/v1/%zz":              false,
	"/v1/%":                false,
}

func TestPaths(t *testing.T) {
	for path, fits := range paths {
		got := ""
		client := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			got = r.RequestURI
			answer(w, http.StatusOK, "{}")
		})
		err := client.Get(context.Background(), path, nil)
		var wrong *ConfigurationError
		if fits && (err != nil || got != path) || !fits && (!errors.As(err, &wrong) || wrong.Setting != "path" || got != "") {
			t.Errorf("%q: sent %q, %v", path, got, err)
		}
	}
}

func TestQueryNeedsAName(t *testing.T) {
	_, err := New(WithAPIKey(tableKey), WithQuery("", "a"))
	client := newFake(t, neverSent(t))
	wantConfigurationError(t, map[string]error{
		"client": err, "call": client.Get(context.Background(), "/v1/models", nil, WithQuery("", "a")),
	}, "postern: WithQuery must have a name")
}

// TestDefaultsAreNotShared checks that the options of a call do not change the client's options.
func TestDefaultsAreNotShared(t *testing.T) {
	var got []string
	client := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("x-team")+" "+r.URL.RawQuery)
		answer(w, http.StatusOK, okHealth)
	}, WithHeader("x-team", "core"), WithQuery("tenant", "a"))
	call := []CallOption{WithHeader("X-Team", "search"), WithQuery("tenant", "b&c"), WithQuery("n", "1")}
	for _, opts := range [][]CallOption{nil, call, call, nil} {
		if _, err := client.Health.Get(context.Background(), opts...); err != nil {
			t.Error(err)
		}
	}
	want := "core tenant=a|search n=1&tenant=b%26c|search n=1&tenant=b%26c|core tenant=a"
	if strings.Join(got, "|") != want {
		t.Errorf("%q", got)
	}
}
