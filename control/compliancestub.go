package control

import (
	"context"

	"github.com/postern-ai/postern/core/doc"
)

// Stand-ins for the registry and the Governor's settings, until those are merged.

type registryState doc.RegistryState

func (s registryState) String() string { return "discovered" }

type approval struct{ By, Reason string }

type registryEntry struct {
	ID, Model          string
	State              registryState
	Owner, Purpose     string
	RiskTier           string
	DataClasses, Links []string
	Regions            []string
	Retention          string
	Approvals          []approval
}

func (e *registryEntry) overdue(uint64) bool { return false }

func (h *handler) inventory(context.Context, *project) ([]registryEntry, error) { return nil, nil }

var (
	enforcementWords = []string{"off", "warn", "enforce"}
	enforcements     = []doc.Enforcement{doc.EnforceOff, doc.EnforceWarn, doc.Enforce}
)

func enforcementWord(e doc.Enforcement) string { return translate(e, enforcements, enforcementWords) }

type openViolations struct {
	Open       uint64            `json:"open"`
	BySeverity map[string]uint64 `json:"bySeverity"`
	Counted    uint64            `json:"counted"`
}

func (h *handler) openViolations(context.Context, *project) (openViolations, error) {
	return openViolations{BySeverity: map[string]uint64{}}, nil
}

const (
	keepViolationDays = 400
	keepViolations    = 10_000
)
