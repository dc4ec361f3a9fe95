package inspect

import "github.com/postern-ai/postern/core/governor"

// maxRules bounds the IDs of rules.
const maxRules = 256

func policyRules(p *governor.Policy, d governor.Direction) *governor.Rules { return p.Rules(d) }

func describe(_ *governor.Policy, id governor.ID) (name string, category governor.Category) {
	r := &governor.Table()[id]
	return r.Name, r.Category
}
