package controltest

import (
	"bytes"
	"testing"
)

func TestSealRoundTrip(t *testing.T) {
	key, secret := bytes.Repeat([]byte{7}, 32), []byte("sk-test")
	sealed, err := sealNatively(t.Context(), key, "proj_1/openai", secret)
	if err != nil || len(sealed) != 12+len(secret)+16 {
		t.Fatalf("%x, %v", sealed, err)
	}
	if got, err := UnsealNatively(key, "proj_1/openai", sealed); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := UnsealNatively(key, "proj_2/openai", sealed); err == nil {
		t.Error("unsealed for another project")
	}
}
