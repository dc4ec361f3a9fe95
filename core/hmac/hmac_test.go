package hmac_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"strings"
	"testing"

	ours "github.com/postern-ai/postern/core/hmac"
)

func TestSHA256(t *testing.T) {
	for n := range 140 {
		key, message := []byte(strings.Repeat("k", n)), strings.Repeat("m", 140-n)
		h := hmac.New(sha256.New, key)
		h.Write([]byte(message))
		if got := ours.SHA256(key, message); string(got) != string(h.Sum(nil)) {
			t.Errorf("key of %d bytes: %x, want %x", n, got, h.Sum(nil))
		}
	}
}
