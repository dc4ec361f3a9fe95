// Package doc holds the documents that the control plane writes and the data plane reads. Each starts with
// the version of its format.
package doc

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keys"
)

// Formats: 2 has the allow-list of models in keys and records; 1, which is still read, had none.
const (
	format    = 1 // of projects
	keyFormat = 2
)

// Bounds of a key's allow-list: an exchange carries it from step to step.
const (
	MaxModels     = 32
	MaxModelBytes = 100 // of one name
)

// Status of a key.
type Status uint8

const (
	Active   Status = 1
	Inactive Status = 2
	Removed  Status = 3 // a tombstone in the key's meter; the Directory forgets the key
)

// Project is the Directory's document of a project, under ProjectKey.
type Project struct {
	ID              string
	Name            string
	Plan            string // a plan of the catalog
	Region          string // the platform's location hint for the project's objects; empty: where it is first used
	BudgetPico      int64  // dollars × 10^12 a calendar month
	CacheTTLSeconds uint64
	CreatedMs       uint64
	KeyCount        uint64 // keys ever made: every new key changes the project's version
}

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
}

// Record is all that one exchange needs to know of a key and its project. It stands in KV under RecordKey,
// in host memory, and, as the authority, in the key's meter.
type Record struct {
	Version         uint64 // the key's version + the project's: grows when either changes
	KeyID           string
	ProjectID       string
	Kind            keys.Kind
	Environment     keys.Environment
	Plan            string
	Region          string
	CacheTTLSeconds uint64
	Models          []string // that the key may use; none: all
}

// ProjectKey is where the Directory keeps a project.
func ProjectKey(projectID string) string { return "p/" + projectID }

// KeyKey is where the Directory keeps a key. KeysOf is the prefix of all of a project's.
func KeyKey(projectID, keyID string) string { return KeysOf(projectID) + keyID }

// KeysOf is the prefix of a project's keys.
func KeysOf(projectID string) string { return "k/" + projectID + "/" }

// RecordKey is where KV and host memory have a key's Record.
func RecordKey(hash string) string { return "key/" + hash }

// NewRecord is the record of a key in a project, both at their Directory versions.
func NewRecord(k Key, keyVersion uint64, p Project, projectVersion uint64) Record {
	return Record{
		Version: keyVersion + projectVersion, KeyID: k.ID, ProjectID: k.ProjectID, Kind: k.Kind, Environment: k.Environment,
		Plan: p.Plan, Region: p.Region, CacheTTLSeconds: p.CacheTTLSeconds,
		Models: k.Models,
	}
}

// Encode is the stored form.
func (p *Project) Encode() []byte {
	var w abi.Writer
	w.Uint(format)
	w.String(p.ID)
	w.String(p.Name)
	w.String(p.Plan)
	w.String(p.Region)
	w.Int(p.BudgetPico)
	w.Uint(p.CacheTTLSeconds)
	w.Uint(p.CreatedMs)
	w.Uint(p.KeyCount)
	return w.Buf
}

// DecodeProject reads the stored form.
func DecodeProject(data []byte) (Project, error) {
	r := abi.Reader{Buf: data}
	if r.Uint() != format {
		return Project{}, abi.ErrMalformed
	}
	p := Project{r.String(), r.String(), r.String(), r.String(), r.Int(), r.Uint(), r.Uint(), r.Uint()}
	return p, r.End()
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
	encodeModels(&w, k.Models)
	return w.Buf
}

func encodeModels(w *abi.Writer, models []string) {
	w.Uint(uint64(len(models)))
	for _, m := range models {
		w.String(m)
	}
}

func decodeModels(r *abi.Reader, version uint64) (models []string) {
	if version < 2 {
		return nil
	}
	for n := r.Count(); n > 0; n-- {
		models = append(models, r.String())
	}
	return models
}

// DecodeKey reads the stored form.
func DecodeKey(data []byte) (Key, error) {
	r := abi.Reader{Buf: data}
	version := r.Uint()
	if version == 0 || version > keyFormat {
		return Key{}, abi.ErrMalformed
	}
	k := Key{
		ID: r.String(), ProjectID: r.String(), Name: r.String(), Kind: keys.Kind(r.Uint()), Environment: keys.Environment(r.Uint()),
		Hash: r.String(), Last4: r.String(), Status: Status(r.Uint()), CreatedMs: r.Uint(),
	}
	k.Models = decodeModels(&r, version)
	return k, r.End()
}

// Encode is the stored form.
func (rec *Record) Encode() []byte {
	var w abi.Writer
	w.Uint(keyFormat)
	w.Uint(rec.Version)
	w.String(rec.KeyID)
	w.String(rec.ProjectID)
	w.Uint(uint64(rec.Kind))
	w.Uint(uint64(rec.Environment))
	w.String(rec.Plan)
	w.String(rec.Region)
	w.Uint(rec.CacheTTLSeconds)
	encodeModels(&w, rec.Models)
	return w.Buf
}

// DecodeRecord reads the stored form.
func DecodeRecord(data []byte) (Record, error) {
	r := abi.Reader{Buf: data}
	version := r.Uint()
	if version == 0 || version > keyFormat {
		return Record{}, abi.ErrMalformed
	}
	rec := Record{
		Version: r.Uint(), KeyID: r.String(), ProjectID: r.String(), Kind: keys.Kind(r.Uint()),
		Environment: keys.Environment(r.Uint()), Plan: r.String(), Region: r.String(), CacheTTLSeconds: r.Uint(),
	}
	rec.Models = decodeModels(&r, version)
	return rec, r.End()
}
