// Package compliance defines the evidence that Postern exports and how to check it: chained events, signed
// checkpoints, and the files of GET /api/compliance/export. It needs neither a running Postern nor its storage.
// docs/guides/compliance.md describes the formats, so that others can implement them.
package compliance

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/chain"
)

// checkpointVersion is the first field of the signed text.
const checkpointVersion = "postern-checkpoint-1"

// Reasons for a checkpoint.
const (
	Daily  = "daily"  // the chain has grown; at most one per chain and day
	Export = "export" // an export reached entries that no checkpoint covers; at most one per chain and minute
	Prune  = "prune"  // the entries up to Seq are about to be deleted
)

// Checkpoint is a signed statement that entry Seq of a chain has the hash Hash. It covers all entries up to Seq.
type Checkpoint struct {
	Project   string `json:"project"`
	Object    string `json:"object"` // chain.Directory or chain.Ledger
	Seq       uint64 `json:"seq"`
	Hash      string `json:"hash"`   // 64 hexadecimal digits
	Time      string `json:"time"`   // time of the signature: RFC 3339, UTC, milliseconds
	Reason    string `json:"reason"` // Daily, Export or Prune
	KeyID     string `json:"keyId"`
	Signature string `json:"signature"` // Ed25519, base64
}

func (c *Checkpoint) text() []byte {
	return chain.Text(checkpointVersion, c.Project, c.Object, strconv.FormatUint(c.Seq, 10), c.Hash, c.Time, c.Reason, c.KeyID)
}

// PublicKey is an Ed25519 public key of 32 bytes.
type PublicKey ed25519.PublicKey

// ParsePublicKey reads a public key as String writes it.
func ParsePublicKey(text string) (PublicKey, error) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("a public key must be 32 bytes in base64, got %d characters", len(text))
	}
	return raw, nil
}

// String returns the key in base64.
func (k PublicKey) String() string { return base64.StdEncoding.EncodeToString(k) }

// ID returns the first 16 hexadecimal digits of the key's SHA-256 hash.
func (k PublicKey) ID() string {
	sum := sha256.Sum256(k)
	return hex.EncodeToString(sum[:8])
}

// Errors of Verify.
var (
	ErrUnknownKey   = errors.New("is signed with another key")
	ErrBadSignature = errors.New("has an invalid signature: changed after signing")
)

// Verify checks the signature. If none of the keys has the checkpoint's key ID, it returns ErrUnknownKey. If the
// signature is invalid, it returns ErrBadSignature.
func (c *Checkpoint) Verify(keys []PublicKey) error {
	return verifySignature(keys, c.KeyID, c.Signature, c.text())
}

// SigningKey signs checkpoints.
type SigningKey struct{ private ed25519.PrivateKey }

// EnvSigningKey is the control plane's variable with its signing keys.
const EnvSigningKey = "POSTERN_SIGNING_KEY"

// ParseSigningKeys reads EnvSigningKey: seeds of 32 bytes in base64, separated by commas. The first key signs. The
// others are former keys. Their public halves verify older checkpoints. The error never contains a key.
func ParseSigningKeys(text string) (keys []SigningKey, err error) {
	if text == "" {
		return nil, nil
	}
	for i, part := range strings.Split(text, ",") {
		seed, err := base64.StdEncoding.DecodeString(strings.TrimSpace(part))
		if err != nil || len(seed) != ed25519.SeedSize {
			return nil, fmt.Errorf("%s: key %d must be 32 bytes in base64; create one with: openssl rand -base64 32", EnvSigningKey, i+1)
		}
		keys = append(keys, SigningKey{ed25519.NewKeyFromSeed(seed)})
	}
	return keys, nil
}

// Public returns the key's public half.
func (k SigningKey) Public() PublicKey { return PublicKey(k.private.Public().(ed25519.PublicKey)) }

// Sign sets the checkpoint's key ID and signature.
func (k SigningKey) Sign(c *Checkpoint) {
	c.KeyID = k.Public().ID()
	c.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(k.private, c.text()))
}
