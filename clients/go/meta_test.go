package postern

import (
	"net/http"
	"reflect"
	"testing"
	"time"
)

func TestMeta(t *testing.T) {
	h := http.Header{}
	for name, value := range map[string]string{
		"x-postern-attempts":             "3; azure/a=b=503, gemini/g=timeout",
		"x-postern-governor":             "review; risk=40; policy=7; unchecked=image+audio",
		"x-postern-cost-cents":           "0.00034",
		"x-postern-max-tokens":           "4096",
		"deprecation":                    "@1795262400",
		"sunset":                         "Mon, 21 Dec 2026 12:00:00 GMT",
		"x-postern-successor":            "gpt-5.4",
		"x-ratelimit-limit-requests":     "10",
		"x-ratelimit-remaining-requests": "0",
		"x-ratelimit-reset-requests":     "2",
		"idempotent-replayed":            "true",
	} {
		h.Set(name, value)
	}
	want := Meta{
		Attempts:  &Attempts{3, []Target{{"azure/a=b", "503"}, {"gemini/g", "timeout"}}},
		Governor:  &GovernorMeta{"review", 40, 7, []string{"image", "audio"}},
		CostCents: Ptr(0.00034),
		MaxTokens: 4096,
		Deprecation: &Deprecation{
			time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), time.Date(2026, 12, 21, 12, 0, 0, 0, time.UTC), "gpt-5.4",
		},
		RateLimit: &RateLimit{LimitRequests: Ptr(10), RemainingRequests: Ptr(0), ResetRequests: Ptr(2 * time.Second)},
		Replayed:  true,
	}
	if got := newMeta(h); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if got := newMeta(http.Header{}); !reflect.DeepEqual(got, Meta{}) {
		t.Errorf("without headers: %+v", got)
	}
}

func TestMalformedHeadersAreMissing(t *testing.T) {
	h := http.Header{}
	for _, name := range []string{
		"x-postern-attempts", "x-postern-cost-cents", "x-postern-max-tokens", "x-ratelimit-limit-requests", "x-ratelimit-reset-tokens",
	} {
		h.Set(name, "1e3")
	}
	if got := newMeta(h); !reflect.DeepEqual(got, Meta{}) {
		t.Errorf("got %+v", got)
	}
}
