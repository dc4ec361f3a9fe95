package doc

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keys"
)

// Status of a key.
type Status uint8

const (
	Active   Status = 1
	Inactive Status = 2
	Removed  Status = 3 // a tombstone in the key's meter; the Directory forgets the key
)

// Permission is one thing that a key may do, a bit each.
type Permission uint8

const (
	MayComplete Permission = 1 << iota // chat, responses, messages and their token counts
	MayEmbed
	MayListModels
	MaySeeUsage

	// MayAll is what a gateway key may do, and MayLook what a project key may, unless its owner says less.
	MayAll  = MayComplete | MayEmbed | MayListModels | MaySeeUsage
	MayLook = MayListModels | MaySeeUsage
)

// PermissionsOf is all that a kind of key can be permitted.
func PermissionsOf(kind keys.Kind) Permission {
	if kind == keys.Gateway {
		return MayAll
	}
	return MayLook
}

// May says whether permissions, of a key of that kind, hold one.
func (p Permission) May(kind keys.Kind, wanted Permission) bool {
	if p == 0 {
		p = PermissionsOf(kind)
	}
	return p&wanted == wanted
}

// Limits are a key's own, within its plan's. 0 is the plan's.
type Limits struct{ PerSecond, PerDay, TokensPerMinute uint64 }

// Key is the Directory's document of a key, under KeyKey. The key's value is not in it.
type Key struct {
	ID          string
	ProjectID   string
	Name        string
	Kind        keys.Kind
	Environment keys.Environment
	Hash        string // SHA-256 of the value, hexadecimal
	Last4       string // the value's last characters
	Status      Status
	CreatedMs   uint64
	Models      []string // names of models and tiers that the key may use; none: all
	Limits      Limits
	Permissions Permission // 0: all of its kind
	ExpiresMs   uint64     // from then on it is refused; 0: never
	ReplacedBy  string     // the id of the key that it was rotated into
}

// Encode is the stored form.
func (k *Key) Encode() []byte {
	var w abi.Writer
	w.Uint(keyFormat)
	w.String(k.ID)
	w.String(k.ProjectID)
	w.String(k.Name)
	w.Uint(uint64(k.Kind))
	w.Uint(uint64(k.Environment))
	w.String(k.Hash)
	w.String(k.Last4)
	w.Uint(uint64(k.Status))
	w.Uint(k.CreatedMs)
	encodeTexts(&w, k.Models)
	k.Limits.encode(&w)
	w.Uint(uint64(k.Permissions))
	w.Uint(k.ExpiresMs)
	w.String(k.ReplacedBy)
	return w.Buf
}

func (l *Limits) encode(w *abi.Writer) {
	w.Uint(l.PerSecond)
	w.Uint(l.PerDay)
	w.Uint(l.TokensPerMinute)
}

// DecodeKey reads the stored form.
func DecodeKey(data []byte) (Key, error) {
	r := abi.Reader{Buf: data}
	format := r.Uint()
	if format == 0 || format > keyFormat {
		return Key{}, abi.ErrMalformed
	}
	k := Key{
		ID: r.String(), ProjectID: r.String(), Name: r.String(), Kind: keys.Kind(r.Uint()), Environment: keys.Environment(r.Uint()),
		Hash: r.String(), Last4: r.String(), Status: Status(r.Uint()), CreatedMs: r.Uint(),
	}
	if format >= 2 {
		k.Models = decodeTexts(&r)
	}
	if format >= 3 {
		k.Limits = Limits{r.Uint(), r.Uint(), r.Uint()}
		k.Permissions, k.ExpiresMs, k.ReplacedBy = Permission(r.Byte()), r.Uint(), r.String()
	}
	return k, r.End()
}
