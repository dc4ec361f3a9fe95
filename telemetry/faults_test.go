package telemetry

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/fault"
)

// TestProviderCodes: the streams that a provider spoiled are counted by the prefix of their error's code.
func TestProviderCodes(t *testing.T) {
	for _, f := range fault.All() {
		if f == fault.RejectedRequest {
			continue // always a whole response
		}
		if got, want := strings.HasPrefix(f.Code(), providerCodes), f.Origin() == fault.ByProvider; got != want {
			t.Errorf("%s counts as the provider's: %t, want %t", f.Code(), got, want)
		}
	}
}

// TestCodesFitTheLabel: a code above the limit would be counted as another.
func TestCodesFitTheLabel(t *testing.T) {
	var w words
	for _, f := range fault.All() {
		if got := w.of([]byte(f.Code())); got != f.Code() {
			t.Errorf("%s is counted as %s; raise maxWords", f.Code(), got)
		}
	}
}
