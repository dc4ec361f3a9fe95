package keys

import (
	"encoding/json"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keys"
)

// Limits of a key's settings.
const (
	maxPerSecond       = 1_000_000
	maxPerDay          = 1_000_000_000
	maxTokensPerMinute = 1_000_000_000
	maxExpiry          = 10 * 365 * 24 * time.Hour
	maxGraceSeconds    = 30 * 24 * 60 * 60
)

// takeLimits takes the field "limits". The field replaces all limits. For a rate limit that is missing or null, the
// plan's limit applies.
func takeLimits(f *kernel.Fields) (limits doc.Limits, perPeriod doc.PeriodLimits, given bool) {
	inner, given := f.Object("limits")
	if !given {
		return limits, perPeriod, false
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
		if !inner.Null(one.field) {
			*one.to, _ = inner.Integer(one.field, 1, one.maximum)
		}
	}
	perPeriod = settings.TakePeriodFields(inner)
	f.AddProblems("limits", inner)
	return limits, perPeriod, true
}

// takePermissions takes the field "permissions". The key's kind must allow all of the permissions.
func takePermissions(f *kernel.Fields, kind keys.Kind) (p doc.Permission, given bool) {
	value, given := f.Take("permissions")
	if !given {
		return 0, false
	}
	var words []string
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &words) != nil {
		f.Problem("permissions", "must be an array of strings, got "+kernel.KindOrMixed(value))
		return 0, false
	}
	if len(words) == 0 {
		f.Problem("permissions", "must have at least one element: "+kernel.OneOf(permissionsOf(kind)))
		return 0, false
	}
	for _, word := range words {
		bit := doc.PermissionOf(word)
		if bit == 0 || doc.PermissionsOf(kind)&bit == 0 {
			f.Problem("permissions", "must contain only "+kernel.OneOf(permissionsOf(kind))+kernel.Got(word))
			return 0, false
		}
		p |= bit
	}
	return p, true
}

func permissionsOf(kind keys.Kind) []string { return settings.ViewPermissions(0, kind) }

// takeExpiry takes the field "expiresAt": a future time in RFC 3339 format, or null for never.
func takeExpiry(f *kernel.Fields, now time.Time) (ms uint64, given bool) {
	if f.Null("expiresAt") {
		return 0, true
	}
	text, given := f.Text("expiresAt", "")
	if !given {
		return 0, false
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || !at.After(now) || at.Sub(now) > maxExpiry {
		example := now.UTC().AddDate(1, 0, 0).Truncate(24 * time.Hour).Format(time.RFC3339)
		f.Problem("expiresAt", "must be a time in the next 10 years, such as "+example+kernel.Got(text))
		return 0, false
	}
	return uint64(at.UnixMilli()), true
}

// takeGrace takes the field "graceSeconds". The default is 24 hours.
func takeGrace(f *kernel.Fields) time.Duration {
	n, given := f.Integer("graceSeconds", 0, maxGraceSeconds)
	if !given {
		return 24 * time.Hour
	}
	return time.Duration(n) * time.Second
}

var keyStatuses = []string{"active", "inactive", "expired"}
