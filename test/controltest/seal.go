package controltest

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
)

// sealNatively implements Config.Seal without WebCrypto.
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

// UnsealNatively opens a sealed text, as a gateway does.
func UnsealNatively(key []byte, additionalData string, sealed []byte) ([]byte, error) {
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
