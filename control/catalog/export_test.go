package catalog

import (
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/policy"
)

// HealthHeader carries the gateway instance's view of the providers.
const HealthHeader = healthHeader

// Views that tests decode.
type (
	Health       = health
	TargetHealth = targetHealth
	TierView     = tierView
)

// ReadHealth decodes the header.
var ReadHealth = readHealth

// PolicyView returns the catalog as a project's keys may use it.
func PolicyView(p *kernel.Plane, of *doc.Policy, observed *Health) *policy.View {
	return (&handler{p}).policyView(of, observed)
}
