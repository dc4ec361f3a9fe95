package doc

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keys"
)

// Status is the status of a key.
type Status uint8

const (
	Active   Status = 1
	Inactive Status = 2
	Removed  Status = 3 // a tombstone in the key's meter; the Directory has deleted the key
)

// Permission is a set of things that a key may do, one bit each.
type Permission uint16

const (
	MayComplete Permission = 1 << iota // chat, responses, messages and their token counts
	MayEmbed
	MayListModels
	MaySeeUsage
	MayValidate      // POST /api/governor/validate
	MaySeeViolations // read violations
	MayTriage        // change a violation's state and note
	MaySeeRegistry   // read the model registry
	MayEditRegistry  // register models and change their states
	MaySeeCompliance // read, export and verify compliance data

	// MayAll is the default of gateway keys and MayManage that of project keys.
	MayAll    = MayComplete | MayEmbed | MayListModels | MaySeeUsage | MayValidate
	MayManage = MayListModels | MaySeeUsage | MaySeeViolations | MayTriage | MaySeeRegistry | MayEditRegistry | MaySeeCompliance
)

// PermissionNames are the API's names of the permissions, in the order of their bits.
var PermissionNames = []string{
	"completions", "embeddings", "models", "usage", "validate", "violations", "triage", "registry", "registry.edit", "compliance",
}

// PermissionName returns the name of one permission, or "" if there is no such permission.
func PermissionName(p Permission) string {
	for i, name := range PermissionNames {
		if p == 1<<i {
			return name
		}
	}
	return ""
}

// PermissionOf returns the permission with the given name, or 0 if there is none.
func PermissionOf(name string) Permission {
	for i, n := range PermissionNames {
		if n == name {
			return 1 << i
		}
	}
	return 0
}

// PermissionsOf returns all permissions that a kind of key can have.
func PermissionsOf(kind keys.Kind) Permission {
	if kind == keys.Gateway {
		return MayAll
	}
	return MayManage
}

// May reports whether the permissions of a key of the given kind include the wanted ones.
func (p Permission) May(kind keys.Kind, wanted Permission) bool {
	if p == 0 {
		p = PermissionsOf(kind)
	}
	return p&wanted == wanted
}

// Limits are a key's limits, within those of its plan. 0 means the plan's limit.
type Limits struct{ PerSecond, PerDay, TokensPerMinute uint64 }

// Key is the Directory's document of a key, under KeyKey. It does not contain the key's value.
type Key struct {
	ID          string
	ProjectID   string
	Name        string
	Kind        keys.Kind
	Environment keys.Environment
	Hash        string // SHA-256 of the value, hexadecimal
	Last4       string // the last characters of the value
	Status      Status
	CreatedMs   uint64
	Models      []string // models and tiers that the key may use; empty: all
	Limits      Limits
	Permissions Permission // 0: all permissions of its kind
	ExpiresMs   uint64     // the key is rejected from this time on; 0: never
	ReplacedBy  string     // ID of the key that it was rotated into
	Budget      KeyBudget  // a key without one is stored in an older format
}

// Encode returns the stored form.
func (k *Key) Encode() []byte {
	var w abi.Writer
	budgeted := k.Budget != KeyBudget{}
	if budgeted {
		w.Uint(keyFormat)
	} else {
		w.Uint(keyFormat - 1)
	}
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
	if budgeted {
		k.Budget.fields(abi.WriteTo(&w))
	}
	return w.Buf
}

func (l *Limits) encode(w *abi.Writer) {
	w.Uint(l.PerSecond)
	w.Uint(l.PerDay)
	w.Uint(l.TokensPerMinute)
}

// DecodeKey decodes the stored form.
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
		k.Permissions, k.ExpiresMs, k.ReplacedBy = Permission(r.Uint()), r.Uint(), r.String()
	}
	if format >= 4 {
		k.Budget.fields(abi.ReadFrom(&r))
	}
	return k, r.End()
}

func permissionField(f *abi.Fields, p *Permission) {
	bits := uint64(*p)
	f.Uint(&bits)
	*p = Permission(bits)
}
