package inventory

import (
	"testing"

	"github.com/postern-ai/postern/core/directory"
)

// A malformed document causes an error instead of an empty entry.
func TestMalformedEntry(t *testing.T) {
	for _, text := range []string{`{`, `{"state":"gone"}`, `{"state":7}`, `{"createdAt":"x"}`} {
		if e, err := decodeEntry(directory.Document{Value: []byte(text)}); err == nil {
			t.Errorf("%s is read as %+v", text, e)
		}
	}
}
