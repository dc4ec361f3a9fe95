package kernel

import (
	"crypto/sha256"
	"encoding/hex"
)

// Asset is a file that the control plane serves. Requests share Data, so nobody changes it.
type Asset struct {
	Data []byte
	Tag  string // the entity tag, with its quotation marks: a hash of Data
}

// NewAsset returns a file with its tag.
func NewAsset(data []byte) Asset {
	sum := sha256.Sum256(data)
	return Asset{Data: data, Tag: `"` + hex.EncodeToString(sum[:16]) + `"`}
}
