package reply_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/exchange/reply"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/policy"
)

func text(headers []abi.Header) string {
	var b strings.Builder
	for _, h := range headers {
		b.WriteString(h.Name + ": " + h.Value + "\n")
	}
	return b.String()
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestLimits(t *testing.T) {
	second := keymeter.Window{WindowMs: calendar.SecondMs, Limit: 10, Remaining: 9, ResetMs: 1}
	day := keymeter.Window{WindowMs: calendar.DayMs, Limit: 100, Remaining: 3, ResetMs: 1001}
	tokens := keymeter.Window{WindowMs: 60_000, Limit: 1000, Remaining: 1, ResetMs: 60_000, Tokens: true}
	day9 := day
	day9.Remaining = 9
	const requests = "x-ratelimit-limit-requests: 100\nx-ratelimit-remaining-requests: 3\nx-ratelimit-reset-requests: 2\n"
	for name, c := range map[string]struct {
		windows []keymeter.Window
		want    string
	}{
		"no limits":  {},
		"one window": {[]keymeter.Window{day}, requests + "ratelimit: \"day\";r=3;t=2\nratelimit-policy: \"day\";q=100;w=86400\n"},
		"two windows": {
			[]keymeter.Window{second, day},
			requests + "ratelimit: \"second\";r=9;t=1, \"day\";r=3;t=2\nratelimit-policy: \"second\";q=10;w=1, \"day\";q=100;w=86400\n",
		},
		"the first of two with as much left": {
			[]keymeter.Window{second, day9},
			"x-ratelimit-limit-requests: 10\nx-ratelimit-remaining-requests: 9\nx-ratelimit-reset-requests: 1\n" +
				"ratelimit: \"second\";r=9;t=1, \"day\";r=9;t=2\nratelimit-policy: \"second\";q=10;w=1, \"day\";q=100;w=86400\n",
		},
		"tokens only": {
			[]keymeter.Window{tokens},
			"x-ratelimit-limit-tokens: 1000\nx-ratelimit-remaining-tokens: 1\nx-ratelimit-reset-tokens: 60\n" +
				"ratelimit: \"tokens\";r=1;t=60\nratelimit-policy: \"tokens\";q=1000;w=60\n",
		},
	} {
		equal(t, name, text(reply.Limits(c.windows)), c.want)
	}
}

func TestTiming(t *testing.T) {
	timing := reply.Timing{Total: 12, Admit: 3, Upstream: 4}
	equal(t, "refused at once", timing.String(), "total;dur=12")
	timing.Called = true
	equal(t, "admitted", timing.String(), "total;dur=12, admit;dur=3")
	timing.Fetched = true
	equal(t, "sent", timing.String(), "total;dur=12, admit;dur=3, upstream;dur=4")
}

func TestNames(t *testing.T) {
	equal(t, "no names", reply.Names("", ""), "")
	equal(t, "lists with an empty one", reply.Names("a,b", "", "c"), "a,b,c")
}

func TestRegistry(t *testing.T) {
	next := &config.Model{Name: "next"}
	const day = calendar.DayMs
	for name, c := range map[string]struct {
		r    policy.Registration
		want string
	}{
		"approved":                         {policy.Registration{State: doc.RegistryApproved, Successor: next}, ""},
		"deprecated":                       {policy.Registration{State: doc.RegistryDeprecated, DeprecatedMs: day}, "deprecation: @86400\n"},
		"deprecated with an end":           {policy.Registration{State: doc.RegistryDeprecated, DeprecatedMs: day, SunsetMs: 2 * day}, "deprecation: @86400\nsunset: Sat, 03 Jan 1970 00:00:00 GMT\n"},
		"deprecated with a successor":      {policy.Registration{State: doc.RegistryDeprecated, DeprecatedMs: day, Successor: next}, "deprecation: @86400\nx-postern-successor: next\n"},
		"pending in a registry that warns": {policy.Registration{State: doc.RegistryPending, Ruling: policy.Warns, Successor: next}, "x-postern-registry: pending\nx-postern-successor: next\n"},
	} {
		equal(t, name, text(reply.Registry(nil, &c.r)), c.want)
	}
}

func TestKept(t *testing.T) {
	k := reply.Kept{Status: 200, Headers: []abi.Header{{Name: "content-type", Value: "application/json"}}, Body: []byte("{}")}
	data := k.Encode()
	if got, ok := reply.Decode(data); !ok || !reflect.DeepEqual(got, k) {
		t.Errorf("got %+v (%t), want %+v", got, ok, k)
	}
	for size := range data {
		if _, ok := reply.Decode(data[:size]); ok {
			t.Errorf("decoded the first %d bytes of a response", size)
		}
	}
}
