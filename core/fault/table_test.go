package fault

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestRowsAreComplete: a number without a row would result in status 0.
func TestRowsAreComplete(t *testing.T) {
	code := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	for f := None; f < count; f++ {
		row := reflect.ValueOf(table[f])
		for i := range row.NumField() {
			if row.Field(i).IsZero() {
				t.Errorf("row %d %q of table lacks its %s; see core/fault/table.go", f, table[f].code, row.Type().Field(i).Name)
			}
		}
		if !code.MatchString(f.Code()) {
			t.Errorf("row %d has the code %q; a code is lower-case words with underscores", f, f.Code())
		}
		for _, text := range []string{f.Meaning(), f.Cause(), f.Remedy()} {
			if !strings.HasSuffix(text, ".") || strings.ContainsAny(text, "|\n") {
				t.Errorf("%s has the text %q in core/fault/advice.go, want sentences in one line", f.Code(), text)
			}
		}
		if f.Wait() == 0 {
			t.Errorf("%s does not say in core/fault/advice.go whether its response has Retry-After", f.Code())
		}
	}
}

// retriedStatus reports whether clients repeat a request after a status if no header advises them. Examples of
// clients are the SDKs of OpenAI, Anthropic and Postern.
func retriedStatus(status uint64) bool {
	return status == 408 || status == 409 || status == 429 || status >= 500
}

func TestColumnsAgree(t *testing.T) {
	for _, f := range All() {
		wrong := func(what string) { t.Errorf("%s: %s; see core/fault/columns.go", f.Code(), what) }
		status := f.Status()
		provider := status == 502 || status == 504
		if origin := f.Origin(); (origin == ByCaller) != (status < 500) || (origin == ByProvider) != provider {
			wrong("its origin is not that of its status")
		}
		hasClients := f.Place() != OnAdmin && f.Place() != InLog
		if final := status >= 401 && status <= 404 || status == 422; final && f.Place() != InLog && !f.Permanent() {
			wrong("agents repeat this status, unless it is Permanent")
		}
		switch retry := f.Retry(); {
		case retry == Retried && !retriedStatus(status):
			wrong("clients do not retry its status")
		case retry == NotRetried && hasClients && retriedStatus(status):
			wrong("clients retry its status, unless it is Permanent")
		}
		if f.Stored() && table[f].stage == AtOnce {
			wrong("only errors that are returned after admission are stored")
		}
		if f.Breaks() && f.Origin() != ByProvider {
			wrong("only a provider's failure counts against its circuit")
		}
		if provider && !strings.HasPrefix(f.Code(), "provider_") {
			wrong("codes of a provider's failures start with provider_; telemetry and the dashboard go by that")
		}
		if f.Shared() && (f.Place() == OnAdmin || f.Place() == InLog) {
			wrong("only errors of the gateway's endpoints are shared")
		}
	}
}

// TestCodesIdentify: together with its status, place and text, a code identifies one fault. Flights share faults by
// code.
func TestCodesIdentify(t *testing.T) {
	for _, f := range All() {
		for _, g := range All() {
			if f >= g || f.Code() != g.Code() {
				continue
			}
			if f.Place() == g.Place() {
				t.Errorf("%s is the code of two faults of one place", f.Code())
			}
			if f.Shared() && g.Shared() {
				t.Errorf("%s is the code of two shared faults; a follower would not know which", f.Code())
			}
		}
	}
	for _, f := range All() {
		got, ok := SharedByCode([]byte(f.Code()))
		if ok && got.Code() != f.Code() || f.Shared() && !ok {
			t.Errorf("SharedByCode(%s) = %s, %t", f.Code(), got.Code(), ok)
		}
	}
	if f, ok := SharedByCode([]byte(BudgetExceeded.Code())); ok || f != None {
		t.Errorf("followers get %s of a leader without budget", f.Code())
	}
}

// TestDeferred: an error that is returned immediately cannot be recorded for later.
func TestDeferred(t *testing.T) {
	panics := func(f Fault) (yes bool) {
		defer func() { yes = recover() != nil }()
		return f.Deferred() != f
	}
	for _, f := range All() {
		if atOnce := table[f].stage == AtOnce; panics(f) != atOnce {
			t.Errorf("%s: Deferred panics: %t, want %t", f.Code(), !atOnce, atOnce)
		}
	}
}
