package control

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keys"
)

// What a key's values may be.
const (
	maxRate         = 1_000_000 // requests a second
	maxDaily        = 1_000_000_000
	maxTokens       = 1_000_000_000 // a minute
	maxExpiry       = 10 * 365 * 24 * time.Hour
	maxGraceSeconds = 30 * 24 * 60 * 60
)

// The words for what keys may do, each with its bit, in the same order.
var (
	permissionWords = []string{"completions", "embeddings", "models", "usage"}
	permissions     = []doc.Permission{doc.MayComplete, doc.MayEmbed, doc.MayListModels, doc.MaySeeUsage}
)

// limitsView is a key's own limits; null is the plan's.
type limitsView struct {
	RequestsPerSecond *uint64 `json:"requestsPerSecond"`
	RequestsPerDay    *uint64 `json:"requestsPerDay"`
	TokensPerMinute   *uint64 `json:"tokensPerMinute"`
}

func viewLimits(l doc.Limits) limitsView {
	return limitsView{orNone(l.PerSecond), orNone(l.PerDay), orNone(l.TokensPerMinute)}
}

func orNone(n uint64) *uint64 {
	if n == 0 {
		return nil
	}
	return &n
}

// limits takes the field "limits". It replaces all three: one that is missing or null is the plan's.
func (f *fields) limits() (limits doc.Limits, given bool) {
	inner, given := f.object("limits")
	if !given {
		return limits, false
	}
	for _, one := range []struct {
		field string
		most  uint64
		to    *uint64
	}{
		{"requestsPerSecond", maxRate, &limits.PerSecond},
		{"requestsPerDay", maxDaily, &limits.PerDay},
		{"tokensPerMinute", maxTokens, &limits.TokensPerMinute},
	} {
		if !inner.null(one.field) {
			*one.to, _ = inner.count(one.field, one.most)
		}
	}
	f.close("limits", inner)
	return limits, true
}

// permissions takes the field "permissions": some of those that the kind of key can have. Absent, all.
func (f *fields) permissions(kind keys.Kind) (p doc.Permission, given bool) {
	value, given := f.take("permissions")
	if !given {
		return 0, false
	}
	var words []string
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &words) != nil || len(words) == 0 {
		f.wrong("permissions", "must be a list of at least one of "+strings.Join(permissionsOf(kind), ", "))
		return 0, false
	}
	for _, word := range words {
		bit := translate(word, permissionWords, permissions)
		if bit == 0 || doc.PermissionsOf(kind)&bit == 0 {
			f.wrong("permissions", "must be among "+strings.Join(permissionsOf(kind), ", "))
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

// expiry takes the field "expiresAt", an instant in the future (RFC 3339), or null for never.
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
		f.wrong("expiresAt", "must be a time in the next ten years (RFC 3339)")
		return 0, false
	}
	return uint64(at.UnixMilli()), true
}

// grace takes the field "graceSeconds".
func (f *fields) grace() time.Duration {
	digits, given := f.number("graceSeconds")
	if !given {
		return 24 * time.Hour
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n > maxGraceSeconds {
		f.wrong("graceSeconds", "must be an integer from 0 to "+strconv.Itoa(maxGraceSeconds))
	}
	return time.Duration(n) * time.Second
}

// statusOf is a key's status as the API shows it.
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
