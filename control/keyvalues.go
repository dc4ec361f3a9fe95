package control

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keys"
)

// Bounds of a key's settings.
const (
	maxRate         = 1_000_000     // requests per second
	maxDaily        = 1_000_000_000 // requests per day
	maxTokens       = 1_000_000_000 // tokens per minute
	maxExpiry       = 10 * 365 * 24 * time.Hour
	maxGraceSeconds = 30 * 24 * 60 * 60
)

// permissionWords are the API's names of permissions; permissions are the bits, in the same order.
var (
	permissionWords = []string{"completions", "embeddings", "models", "usage"}
	permissions     = []doc.Permission{doc.MayComplete, doc.MayEmbed, doc.MayListModels, doc.MaySeeUsage}
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
		{"requestsPerSecond", maxRate, &limits.PerSecond},
		{"requestsPerDay", maxDaily, &limits.PerDay},
		{"tokensPerMinute", maxTokens, &limits.TokensPerMinute},
	} {
		if !inner.null(one.field) {
			*one.to, _ = inner.count(one.field, one.maximum)
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
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &words) != nil || len(words) == 0 {
		f.problem("permissions", "must be a non-empty array of "+oneOf(permissionsOf(kind)))
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
		f.problem("expiresAt", "must be a future RFC 3339 time, at most 10 years ahead"+got(text))
		return 0, false
	}
	return uint64(at.UnixMilli()), true
}

// grace takes the field "graceSeconds". The default is 24 hours.
func (f *fields) grace() time.Duration {
	digits, given := f.number("graceSeconds")
	if !given {
		return 24 * time.Hour
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n > maxGraceSeconds {
		f.problem("graceSeconds", "must be an integer between 0 and "+strconv.Itoa(maxGraceSeconds)+gotNumber(digits))
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
