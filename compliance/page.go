package compliance

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/postern-ai/postern/core/chain"
)

// pageVersion is the first field of the text that a page's signature covers.
const pageVersion = "postern-page-1"

// PageSignature is a page's signature. It covers the header, which contains the hash of the other lines.
type PageSignature struct {
	KeyID string `json:"keyId"`
	Value string `json:"value"` // Ed25519, base64
}

// Page returns a page: the header, and then the given lines. The lines must not end in a newline. Page sets the
// header's LinesHash. If key is not nil, it also sets the Signature.
func Page(h *Header, lines [][]byte, key *SigningKey) ([]byte, error) {
	var rest []byte
	for _, line := range lines {
		rest = append(append(rest, line...), '\n')
	}
	sum := sha256.Sum256(rest)
	h.LinesHash, h.Signature = hex.EncodeToString(sum[:]), nil
	if key != nil {
		id := key.Public().ID()
		text, err := h.text(id)
		if err != nil {
			return nil, err
		}
		h.Signature = &PageSignature{id, base64.StdEncoding.EncodeToString(ed25519.Sign(key.private, text))}
	}
	first, err := h.encode()
	return append(append(first, '\n'), rest...), err
}

// encode returns the header's line, in the only form that Verify accepts.
func (h *Header) encode() ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(h)
	return bytes.TrimSuffix(line.Bytes(), []byte("\n")), err
}

// text returns the text that is signed: the version, the key's ID, and the header's line, in which the signature is
// null.
func (h *Header) text(keyID string) ([]byte, error) {
	unsigned := *h
	unsigned.Signature = nil
	line, err := unsigned.encode()
	return chain.Text(pageVersion, keyID, string(line)), err
}

// Errors of Header.verify, besides those of Checkpoint.Verify.
var (
	errForeignKeys = errors.New("does not list a key of -key in publicKeys")
	errUnsigned    = errors.New("is not signed")
)

// verify checks the page's signature.
func (h *Header) verify(keys []PublicKey) error {
	known := false
	for _, k := range keys {
		for _, listed := range h.PublicKeys {
			known = known || listed == k.String()
		}
	}
	switch {
	case h.Signature == nil:
		return errUnsigned
	case !known:
		return errForeignKeys
	}
	text, err := h.text(h.Signature.KeyID)
	if err != nil {
		return err
	}
	return verifySignature(keys, h.Signature.KeyID, h.Signature.Value, text)
}

// verifySignature checks a signature with the key that has the given ID. Base64 allows several texts for the same
// bytes. Only the standard one is valid.
func verifySignature(keys []PublicKey, keyID, value string, text []byte) error {
	signature, err := base64.StdEncoding.DecodeString(value)
	for _, k := range keys {
		if k.ID() != keyID {
			continue
		}
		if err != nil || base64.StdEncoding.EncodeToString(signature) != value || !ed25519.Verify(ed25519.PublicKey(k), text, signature) {
			return ErrBadSignature
		}
		return nil
	}
	return ErrUnknownKey
}
