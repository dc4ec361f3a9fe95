// Package chain is an append-only log whose entries are chained by SHA-256 hashes. The hash of an entry proves
// that neither it nor any entry before it was changed, removed or reordered.
//
// There is one chain for each project and object. Only that object appends to it, in the same transaction as the
// change that the entry describes. All hashed data is text, in the form in which exports show it. The chain can
// therefore be checked with any language's standard library. See docs/guides/compliance.md.
package chain

import (
	"crypto/sha256"
	"strconv"

	"github.com/postern-ai/postern/core/calendar"
)

// Version is the first field in every hashed text.
const Version = "postern-chain-1"

// The objects that append to a project's chains.
const (
	Directory = "directory" // changes by operators and project keys
	Ledger    = "ledger"    // violations, and the usage of closed days
)

// ID names a chain.
type ID struct {
	Project string // the project's ID
	Object  string // Directory or Ledger
}

// Hash is a SHA-256 hash. The zero hash precedes the first entry.
type Hash [sha256.Size]byte

// String returns the hash as 64 lowercase hexadecimal digits.
func (h Hash) String() string {
	text := make([]byte, 0, 2*len(h))
	for _, b := range h {
		text = append(text, "0123456789abcdef"[b>>4], "0123456789abcdef"[b&15])
	}
	return string(text)
}

// Entry is an event in a chain.
type Entry struct {
	Seq         uint64 // 1 for the first entry; later entries have consecutive numbers
	TimeMs      uint64 // the object's clock in Unix milliseconds; never earlier than the previous entry's
	Kind        string // such as "key.create"
	Payload     []byte // JSON; nil if only its hash is known
	PayloadHash Hash
	Previous    Hash // the previous entry's
	Hash        Hash
}

// Append returns the entry that follows head, or the first entry if head is nil.
func Append(id ID, head *Entry, nowMs uint64, kind string, payload []byte) Entry {
	e := Entry{Seq: 1, TimeMs: nowMs, Kind: kind, Payload: payload, PayloadHash: sha256.Sum256(payload)}
	if head != nil {
		e.Seq, e.TimeMs, e.Previous = head.Seq+1, max(nowMs, head.TimeMs), head.Hash
	}
	e.Hash = id.Sum(&e)
	return e
}

// Sum computes the hash of an entry from its other fields. It includes the hash of the payload, but not the payload
// itself.
func (id ID) Sum(e *Entry) Hash {
	var seq [20]byte
	var at [32]byte
	return sha256.Sum256(Text(
		Version, id.Project, id.Object, string(strconv.AppendUint(seq[:0], e.Seq, 10)),
		string(calendar.AppendTimestamp(at[:0], e.TimeMs)), e.Kind, e.PayloadHash.String(), e.Previous.String(),
	))
}

// Text joins fields into a text that is hashed or signed. Each field is preceded by its length in bytes as a
// four-byte big-endian number.
func Text(fields ...string) []byte {
	var text []byte
	for _, field := range fields {
		n := len(field)
		text = append(text, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
		text = append(text, field...)
	}
	return text
}
