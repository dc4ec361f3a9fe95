package nearest_test

import (
	"testing"

	"github.com/postern-ai/postern/internal/nearest"
)

func TestName(t *testing.T) {
	known := []string{"POSTERN_LISTEN", "POSTERN_LOG_LEVEL", "POSTERN_DATA"}
	for name, want := range map[string]string{
		"POSTERN_LISTEN": "POSTERN_LISTEN", "POSTERN_LISTENS": "POSTERN_LISTEN", "postern-listen": "POSTERN_LISTEN",
		"POSTERN_LOGLEVEL": "POSTERN_LOG_LEVEL", "POSTERN_DTAA": "POSTERN_DATA", "COMPLETELY_OTHER": "", "": "",
	} {
		if got := nearest.Name(name, known); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := nearest.Hint("POSTERN_DTAA", known); got != `; did you mean "POSTERN_DATA"?` {
		t.Error(got)
	}
	if got := nearest.Hint("x", known); got != "" {
		t.Error(got)
	}
}
