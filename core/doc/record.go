package doc

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/keys"
)

// Record contains the data that every exchange needs about a key and its project. It is stored in KV under RecordKey
// and in host memory. The key's meter has the authoritative copy.
type Record struct {
	Version              uint64 // the sum of the key's and the project's version, which grows when either changes
	KeyID                string
	ProjectID            string
	Kind                 keys.Kind
	Environment          keys.Environment
	Plan                 string
	Region               string
	CacheTTLSeconds      uint64
	Models               []string // models and tiers that the key may use; empty: all
	Limits               Limits
	Permissions          Permission
	ExpiresMs            uint64
	Cycle                calendar.Cycle // of the project's budget
	Epoch                uint64
	Policy               uint64 // version of the project's Policy; 0: there is none
	Unbounded            bool   // see Project
	Cache                CacheScope
	Contact              string // see Project
	RecordProviderErrors bool   // see Project
	Chain                []Node // see Project; with the project's own limits of requests and tokens
	Restrictions         []Restriction
	Own                  KeyBudget
	Path                 uint64 // see Project
	Soft                 bool   // see Project
	KeyName              string // for alerts of the key's own budget; empty: it has none
}

// NewRecord returns the record of a key in a project, given their versions in the Directory.
func NewRecord(k *Key, keyVersion uint64, p *Project, projectVersion uint64) Record {
	return Record{
		Version: keyVersion + projectVersion, KeyID: k.ID, ProjectID: k.ProjectID, Kind: k.Kind, Environment: k.Environment,
		Plan: p.Plan, Region: p.Region, CacheTTLSeconds: p.CacheTTLSeconds, Models: k.Models, Limits: k.Limits,
		Permissions: k.Permissions, ExpiresMs: k.ExpiresMs, Cycle: p.Cycle, Epoch: p.Epoch, Policy: p.Policy.Version,
		Unbounded: p.Unbounded, Cache: p.Cache, Contact: p.Contact, RecordProviderErrors: p.RecordProviderErrors, Chain: p.path(),
		Restrictions: p.Restrictions, Own: k.Budget, Path: p.Path,
		Soft: p.Soft, KeyName: k.alertName(),
	}
}

// alertName returns the key's name if alerts contain it.
func (k *Key) alertName() string {
	if k.Budget.Budgeted {
		return k.Name
	}
	return ""
}

// Differs reports whether two records differ in anything other than their versions.
func (rec Record) Differs(o Record) bool {
	o.Version = rec.Version
	return string(rec.Encode()) != string(o.Encode())
}

// StatusIn returns the effective status of a key in its project. The keys of an archived project are inactive, and
// those of projects below an archived group.
func (k *Key) StatusIn(p *Project) Status {
	if (p.Archived || p.GroupArchived) && k.Status == Active {
		return Inactive
	}
	return k.Status
}

// May reports whether the key has a permission.
func (rec *Record) May(p Permission) bool { return rec.Permissions.May(rec.Kind, p) }

// Caches reports whether responses for the key are cached at all.
func (rec *Record) Caches() bool { return rec.Cache != CacheOff && rec.CacheTTLSeconds > 0 }

// Period returns the budget period that contains a day.
func (rec *Record) Period(day uint64) calendar.Period {
	return calendar.NewPeriod(rec.Cycle, rec.Epoch, day)
}

// Encode returns the stored form.
func (rec *Record) Encode() []byte {
	w := abi.Writer{Buf: make([]byte, 0, 192)}
	format := uint64(recordFormat)
	switch { // older instances read the older formats
	case len(rec.Chain) > 0, len(rec.Restrictions) > 0, rec.Own != KeyBudget{}, rec.Path > 0, rec.Soft:
	case rec.RecordProviderErrors:
		format = 7
	default:
		format = 6
	}
	rec.fields(abi.WriteTo(&w), &format)
	return w.Buf
}

// DecodeRecord decodes the stored form.
func DecodeRecord(data []byte) (rec Record, err error) {
	r := abi.Reader{Buf: data}
	r.ShareTexts()
	format := uint64(0)
	rec.fields(abi.ReadFrom(&r), &format)
	return rec, r.End()
}

// recordFormat is the format of stored records. 1 lacked models; 2 lacked limits, permissions, expiry, cycle and
// policy; 3 lacked Unbounded; 4 lacked Cache; 5 lacked Contact. 6 lacks RecordProviderErrors and 7 lacks Chain and the
// fields after it; both are still written for records without these.
const recordFormat = 8

func (rec *Record) fields(f *abi.Fields, format *uint64) {
	if f.Uint(format); *format == 0 || *format > recordFormat {
		f.Fail()
		return
	}
	f.Uint(&rec.Version)
	f.String(&rec.KeyID)
	f.String(&rec.ProjectID)
	abi.Enum(f, &rec.Kind)
	abi.Enum(f, &rec.Environment)
	f.String(&rec.Plan)
	f.String(&rec.Region)
	f.Uint(&rec.CacheTTLSeconds)
	if *format >= 2 {
		abi.List(f, &rec.Models, (*abi.Fields).String)
	}
	if *format >= 3 {
		f.Uint(&rec.Limits.PerSecond)
		f.Uint(&rec.Limits.PerDay)
		f.Uint(&rec.Limits.TokensPerMinute)
		permissionField(f, &rec.Permissions)
		f.Uint(&rec.ExpiresMs)
		abi.Enum(f, &rec.Cycle)
		f.Uint(&rec.Epoch)
		f.Uint(&rec.Policy)
	}
	if *format >= 4 {
		f.Bool(&rec.Unbounded)
	}
	cacheField(f, &rec.Cache, *format >= 5, rec.CacheTTLSeconds)
	if *format >= 6 {
		f.String(&rec.Contact)
	}
	if *format >= 7 {
		f.Bool(&rec.RecordProviderErrors)
	}
	if *format >= 8 {
		rec.treeFields(f)
	}
}

// treeFields lists the fields that only a key with several budgets has.
func (rec *Record) treeFields(f *abi.Fields) {
	chainField(f, &rec.Chain)
	restrictionsField(f, &rec.Restrictions)
	rec.Own.fields(f)
	f.Uint(&rec.Path)
	f.Bool(&rec.Soft)
	f.String(&rec.KeyName)
}
