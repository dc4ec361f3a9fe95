package settings

import (
	"encoding/json"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keys"
)

// KeyView is a key as the API returns it. Value is set only in the response to the request that creates the key.
type KeyView struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Kind         string          `json:"kind"`
	Environment  string          `json:"environment"`
	Prefix       string          `json:"prefix"` // the first characters of the value
	Last4        string          `json:"last4"`  // the last characters of the value
	Status       string          `json:"status"`
	CreatedAt    string          `json:"createdAt"`   // RFC 3339, UTC, milliseconds
	LastUsedAt   *string         `json:"lastUsedAt"`  // RFC 3339, UTC, milliseconds, from the latest report; null: never
	Models       []string        `json:"models"`      // models and tiers that the key may use; empty: all
	Permissions  []string        `json:"permissions"` // granted permissions
	Limits       KeyLimitsView   `json:"limits"`
	Budget       json.RawMessage `json:"budget"` // dollars per budget period, exact; null: none
	BudgetPeriod string          `json:"budgetPeriod"`
	Enforce      string          `json:"enforce"`
	ExpiresAt    *string         `json:"expiresAt"`  // when the key starts being rejected; null: never
	ReplacedBy   *string         `json:"replacedBy"` // ID of the key that replaced it in a rotation
	Version      uint64          `json:"version"`
	Value        string          `json:"value,omitempty"`
}

// ViewKey returns the API's view of a key without its value. If lastUsedMs is 0, lastUsedAt is null.
func ViewKey(cp *kernel.Plane, k *directory.Key, lastUsedMs uint64) KeyView {
	return KeyView{
		ID: k.ID, Name: k.Name, Kind: kernel.Translate(k.Kind, kernel.KindValues, kernel.KindWords),
		Environment: kernel.Translate(k.Environment, kernel.Environments, kernel.EnvironmentWords),
		Prefix:      keys.Prefix(k.Kind, k.Environment), Last4: k.Last4, Status: KeyStatus(k, cp.NowMs()),
		CreatedAt: kernel.Timestamp(k.CreatedMs), LastUsedAt: kernel.TimestampOrNull(lastUsedMs), Models: append([]string{}, k.Models...),
		Permissions: ViewPermissions(k.Permissions, k.Kind), Limits: KeyLimitsView{ViewLimits(k.Limits), ViewPeriodLimits(k.Budget.Limits)},
		Budget: ViewBudget(k.Budget.Budgeted, k.Budget.BudgetPico), BudgetPeriod: kernel.Translate(k.Budget.Cycle, Cycles, CycleWords), Enforce: ViewEnforce(k.Budget.Soft),
		ExpiresAt:  kernel.TimestampOrNull(k.ExpiresMs),
		ReplacedBy: kernel.NullIfEmpty(k.ReplacedBy), Version: k.Version,
	}
}

// LimitsView contains the rate limits of a key or a plan. In a key, null means that the plan's limit applies. In a plan,
// null means that there is no limit.
type LimitsView struct {
	RequestsPerSecond *uint64 `json:"requestsPerSecond"`
	RequestsPerDay    *uint64 `json:"requestsPerDay"`
	TokensPerMinute   *uint64 `json:"tokensPerMinute"`
}

// KeyLimitsView contains the limits of a key.
type KeyLimitsView struct {
	LimitsView
	PeriodLimitsView
}

// ViewLimits returns the API's view of a key's or a plan's limits.
func ViewLimits(l doc.Limits) LimitsView {
	return LimitsView{kernel.NullIfZero(l.PerSecond), kernel.NullIfZero(l.PerDay), kernel.NullIfZero(l.TokensPerMinute)}
}

// ViewPermissions returns the names of permissions. For 0, it returns the defaults for the kind of key.
func ViewPermissions(p doc.Permission, kind keys.Kind) []string {
	words := []string{}
	for i, name := range doc.PermissionNames {
		if p.May(kind, 1<<i) {
			words = append(words, name)
		}
	}
	return words
}

// KeyStatus returns a key's status in the API.
func KeyStatus(k *directory.Key, nowMs uint64) string {
	switch {
	case k.Status != doc.Active:
		return "inactive"
	case k.ExpiresMs != 0 && k.ExpiresMs <= nowMs:
		return "expired"
	}
	return "active"
}
