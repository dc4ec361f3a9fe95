package host

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"

	"github.com/postern-ai/postern/core/abi"
)

// errSealed hides the cause, because the core gets the same outcome after every failure.
var errSealed = errors.New("host: cannot decrypt")

// unsealed carries out an ActionUnseal and returns its event.
func unsealed(a *abi.Action, sealed []byte) abi.Event {
	event := abi.Event{Kind: abi.EventSupplied, ID: a.ID}
	plain, err := unseal(a.Key, a.Name, sealed)
	if err != nil {
		event.Code = abi.OutcomeFailed
	}
	event.Data = plain
	return event
}

// unseal decrypts nonce‖ciphertext‖tag.
func unseal(key, additional string, sealed []byte) ([]byte, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(key)
	if err != nil || len(raw) != abi.UnsealKeyBytes || len(sealed) < abi.UnsealNonceBytes+abi.UnsealTagBytes {
		return nil, errSealed
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, errSealed
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, errSealed
	}
	return gcm.Open(nil, sealed[:abi.UnsealNonceBytes], sealed[abi.UnsealNonceBytes:], []byte(additional))
}
