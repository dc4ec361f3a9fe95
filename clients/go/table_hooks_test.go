package postern

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// keyFunc returns the function of {"function": [KEY, …], "fails": TEXT}.
func (r *run) keyFunc(function map[string]any) func(context.Context) (string, error) {
	keys := function["function"].([]any)
	n := 0
	return func(context.Context) (string, error) {
		if text, fails := function["fails"].(string); fails {
			return "", errors.New(text)
		}
		key := keys[min(n, len(keys)-1)].(string)
		n++
		r.keys = append(r.keys, strings.TrimSpace(key))
		return key, nil
	}
}

// errHook is the error that a hook returns.
type errHook struct{ text string }

func (e *errHook) Error() string { return e.text }

func (r *run) hooks(h map[string]any) []Option {
	record := func(name string, seen any, fails string) error {
		members := wire(seen).(map[string]any)
		members["hook"], members["status"], members["headers"] = name, members["statusCode"], members["header"]
		r.hooked = append(r.hooked, members)
		r.texts = append(r.texts, fmt.Sprint(seen))
		if text, failing := h[fails].(string); failing {
			return &errHook{text}
		}
		return nil
	}
	return []Option{
		WithRequestHook(func(_ context.Context, request *OutgoingRequest) error {
			err := record("request", *request, "failRequest")
			set, _ := h["set"].(map[string]any)
			for name, value := range set {
				request.Header.Set(name, value.(string))
			}
			return err
		}),
		WithResponseHook(func(_ context.Context, response *IncomingResponse) error {
			return record("response", *response, "failResponse")
		}),
	}
}

func (r *run) compareHooks() {
	if r.Expect.Hooks != nil {
		r.compare("hooks", r.Expect.Hooks, r.hooked)
	}
}
