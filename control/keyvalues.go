package control

import (
	"encoding/json"
	"time"

	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keys"
)

// Bounds of a key's settings.
const (
	maxPerSecond       = 1_000_000
	maxPerDay          = 1_000_000_000
	maxTokensPerMinute = 1_000_000_000
	maxExpiry          = 10 * 365 * 24 * time.Hour
	maxGraceSeconds    = 30 * 24 * 60 * 60
)

// permissionWords are the API's names of permissions; permissions are the bits, in the same order.
var (
	permissionWords = []string{
		"completions", "embeddings", "models", "usage", "validate", "violations", "triage", "registry", "registry.edit", "compliance",
	}
	permissions = []doc.Permission{
		doc.MayComplete, doc.MayEmbed, doc.MayListModels, doc.MaySeeUsage, doc.MayValidate, doc.MaySeeViolations, doc.MayTriage, doc.MaySeeRegistry,
		doc.MayEditRegistry, doc.MaySeeCompliance,
	}
)

// limitsView is a key's limits; null: the plan's limit.
type limitsView struct {
	RequestsPerSecond *uint64 `json:"requestsPerSecond"`
	RequestsPerDay    *uint64 `json:"requestsPerDay"`
	TokensPerMinute   *uint64 `json:"tokensPerMinute"`
}

func viewLimits(l doc.Limits) limitsView {
	return limitsView{nullIfZero(l.PerSecond), nullIfZero(l.PerDay), nullIfZero(l.TokensPerMinute)}
}

func nullIfZero(n uint64) *uint64 {
	if n == 0 {
		return nil
	}
	return &n
}

// limits takes the field "limits". It replaces all three limits: a missing one or null is the plan's limit.
func (f *fields) limits() (limits doc.Limits, given bool) {
	inner, given := f.object("limits")
	if !given {
		return limits, false
	}
	for _, one := range []struct {
		field   string
		maximum uint64
		to      *uint64
	}{
		{"requestsPerSecond", maxPerSecond, &limits.PerSecond},
		{"requestsPerDay", maxPerDay, &limits.PerDay},
		{"tokensPerMinute", maxTokensPerMinute, &limits.TokensPerMinute},
	} {
		if !inner.null(one.field) {
			*one.to, _ = inner.integer(one.field, 1, one.maximum)
		}
	}
	f.addProblems("limits", inner)
	return limits, true
}

// permissions takes the field "permissions", a subset of those for the key's kind.
func (f *fields) permissions(kind keys.Kind) (p doc.Permission, given bool) {
	value, given := f.take("permissions")
	if !given {
		return 0, false
	}
	var words []string
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &words) != nil {
		f.problem("permissions", "must be an array of strings, got "+kindOrMixed(value))
		return 0, false
	}
	if len(words) == 0 {
		f.problem("permissions", "must have at least one element: "+oneOf(permissionsOf(kind)))
		return 0, false
	}
	for _, word := range words {
		bit := translate(word, permissionWords, permissions)
		if bit == 0 || doc.PermissionsOf(kind)&bit == 0 {
			f.problem("permissions", "must contain only "+oneOf(permissionsOf(kind))+got(word))
			return 0, false
		}
		p |= bit
	}
	return p, true
}

func permissionsOf(kind keys.Kind) []string { return viewPermissions(0, kind) }

func viewPermissions(p doc.Permission, kind keys.Kind) []string {
	words := []string{}
	for i, bit := range permissions {
		if p.May(kind, bit) {
			words = append(words, permissionWords[i])
		}
	}
	return words
}

// expiry takes the field "expiresAt", a future time (RFC 3339), or null for never.
func (f *fields) expiry(now time.Time) (ms uint64, given bool) {
	if f.null("expiresAt") {
		return 0, true
	}
	text, given := f.text("expiresAt", "")
	if !given {
		return 0, false
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || !at.After(now) || at.Sub(now) > maxExpiry {
		example := now.UTC().AddDate(1, 0, 0).Truncate(24 * time.Hour).Format(time.RFC3339)
		f.problem("expiresAt", "must be a time in the next 10 years, such as "+example+got(text))
		return 0, false
	}
	return uint64(at.UnixMilli()), true
}

// grace takes the field "graceSeconds". The default is 24 hours.
func (f *fields) grace() time.Duration {
	n, given := f.integer("graceSeconds", 0, maxGraceSeconds)
	if !given {
		return 24 * time.Hour
	}
	return time.Duration(n) * time.Second
}

// statusOf is a key's status in the API.
func statusOf(k *key, nowMs uint64) string {
	switch {
	case k.Status != doc.Active:
		return "inactive"
	case k.ExpiresMs != 0 && k.ExpiresMs <= nowMs:
		return "expired"
	}
	return "active"
}

var keyStatuses = []string{"active", "inactive", "expired"}

func (h *handler) tierNames() []string {
	var names []string
	for _, t := range h.Catalog.Tiers {
		names = append(names, t.Name)
	}
	return names
}
