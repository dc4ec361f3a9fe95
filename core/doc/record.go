package doc

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/keys"
)

// Record is what every exchange needs to know of a key and its project. It stands in KV under RecordKey, in
// host memory, and, as the authority, in the key's meter.
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
	Limits          Limits
	Permissions     Permission
	ExpiresMs       uint64
	Cycle           calendar.Cycle // of the project's budget
	Epoch           uint64
	Policy          uint64 // version of the project's Policy; 0: it has none
}

// NewRecord is the record of a key in a project, both at their Directory versions.
func NewRecord(k *Key, keyVersion uint64, p *Project, projectVersion uint64) Record {
	return Record{
		Version: keyVersion + projectVersion, KeyID: k.ID, ProjectID: k.ProjectID, Kind: k.Kind, Environment: k.Environment,
		Plan: p.Plan, Region: p.Region, CacheTTLSeconds: p.CacheTTLSeconds, Models: k.Models, Limits: k.Limits,
		Permissions: k.Permissions, ExpiresMs: k.ExpiresMs, Cycle: p.Cycle, Epoch: p.Epoch, Policy: p.Policy.Version,
	}
}

// Differs says whether two records are not the same, whatever their versions.
func (rec Record) Differs(o Record) bool {
	o.Version = rec.Version
	return string(rec.Encode()) != string(o.Encode())
}

// StatusIn is a key's status in its project.
func (k *Key) StatusIn(p *Project) Status {
	if p.Archived && k.Status == Active {
		return Inactive
	}
	return k.Status
}

// May says whether the key may do something.
func (rec *Record) May(p Permission) bool { return rec.Permissions.May(rec.Kind, p) }

// Period is the turn of the budget's cycle that day is in.
func (rec *Record) Period(day uint64) calendar.Period {
	return calendar.NewPeriod(rec.Cycle, rec.Epoch, day)
}

// Encode is the stored form.
func (rec *Record) Encode() []byte {
	w := abi.Writer{Buf: make([]byte, 0, 192)}
	w.Uint(keyFormat)
	w.Uint(rec.Version)
	w.String(rec.KeyID)
	w.String(rec.ProjectID)
	w.Uint(uint64(rec.Kind))
	w.Uint(uint64(rec.Environment))
	w.String(rec.Plan)
	w.String(rec.Region)
	w.Uint(rec.CacheTTLSeconds)
	encodeTexts(&w, rec.Models)
	rec.Limits.encode(&w)
	w.Uint(uint64(rec.Permissions))
	w.Uint(rec.ExpiresMs)
	w.Uint(uint64(rec.Cycle))
	w.Uint(rec.Epoch)
	w.Uint(rec.Policy)
	return w.Buf
}

// DecodeRecord reads the stored form.
func DecodeRecord(data []byte) (Record, error) {
	r := abi.Reader{Buf: data}
	format := r.Uint()
	if format == 0 || format > keyFormat {
		return Record{}, abi.ErrMalformed
	}
	rec := Record{
		Version: r.Uint(), KeyID: r.String(), ProjectID: r.String(), Kind: keys.Kind(r.Uint()),
		Environment: keys.Environment(r.Uint()), Plan: r.String(), Region: r.String(), CacheTTLSeconds: r.Uint(),
	}
	if format >= 2 {
		rec.Models = decodeTexts(&r)
	}
	if format >= 3 {
		rec.Limits = Limits{r.Uint(), r.Uint(), r.Uint()}
		rec.Permissions, rec.ExpiresMs = Permission(r.Byte()), r.Uint()
		rec.Cycle, rec.Epoch, rec.Policy = calendar.Cycle(r.Byte()), r.Uint(), r.Uint()
	}
	return rec, r.End()
}
