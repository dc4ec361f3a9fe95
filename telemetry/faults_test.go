package telemetry

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/fault"
)

// TestProviderCodes checks the error codes of streams that fail because of a provider. They must have the prefix by
// which telemetry recognizes them.
func TestProviderCodes(t *testing.T) {
	for _, f := range fault.All() {
		if f == fault.RejectedRequest {
			continue // never in a stream
		}
		if got, want := strings.HasPrefix(f.Code(), providerCodes), f.Origin() == fault.ByProvider; got != want {
			t.Errorf("%s counts as the provider's: %t, want %t", f.Code(), got, want)
		}
	}
}

// TestCodesFitTheLabel checks that there are not too many codes. Codes beyond the limit would all be counted as
// "other".
func TestCodesFitTheLabel(t *testing.T) {
	var w words
	for _, f := range fault.All() {
		if got := w.of([]byte(f.Code())); got != f.Code() {
			t.Errorf("%s is counted as %s; raise maxWords", f.Code(), got)
		}
	}
}
