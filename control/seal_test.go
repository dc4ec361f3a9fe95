package control

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"testing"
)

// sealNatively is Config.Seal without WebCrypto.
func sealNatively(_ context.Context, key []byte, additionalData string, plaintext []byte) ([]byte, error) {
	gcm, err := newGCM(key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, gcm.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return gcm.Seal(nonce, nonce, plaintext, []byte(additionalData)), nil
}

// unsealNatively opens a sealed text, as a gateway does.
func unsealNatively(key []byte, additionalData string, sealed []byte) ([]byte, error) {
	gcm, err := newGCM(key)
	if err != nil {
		return nil, err
	}
	return gcm.Open(nil, sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():], []byte(additionalData))
}

func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func TestSealRoundTrip(t *testing.T) {
	key, secret := bytes.Repeat([]byte{7}, 32), []byte("sk-test")
	sealed, err := sealNatively(t.Context(), key, "proj_1/openai", secret)
	if err != nil || len(sealed) != 12+len(secret)+16 {
		t.Fatalf("%x, %v", sealed, err)
	}
	if got, err := unsealNatively(key, "proj_1/openai", sealed); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := unsealNatively(key, "proj_2/openai", sealed); err == nil {
		t.Error("unsealed for another project")
	}
}
