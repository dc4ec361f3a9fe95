package base64_test

import (
	"encoding/base64"
	"testing"

	ours "github.com/postern-ai/postern/core/base64"
)

func TestAppend(t *testing.T) {
	data := []byte{0, 1, 0xfb, 0xff, 0x7f, 0x80, 62, 63, 64}
	for n := range len(data) + 1 {
		if got, want := string(ours.Append([]byte("x"), data[:n])), "x"+base64.StdEncoding.EncodeToString(data[:n]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
