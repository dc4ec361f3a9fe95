package exchange

import (
	"slices"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/policy"
)

// serveModels serves GET /v1/models, which lists all models that the key may use, and GET /v1/models/{id}, which
// returns one of them. If the request has an anthropic-version header, the format is Anthropic's. Otherwise, it is
// OpenAI's.
func (x *exchange) serveModels() {
	if x.s.record.Policy == 0 {
		x.respondModels(nil)
		return
	}
	x.enter(phaseModels)
	x.supply(idBuffer, bufferPolicy)
}

// onModelsPolicy lists the models that the project's policy allows. The buffer's content has been decoded before, so
// decoding cannot fail.
func (x *exchange) onModelsPolicy() {
	p, _ := doc.DecodePolicy(x.event.Data)
	x.respondModels(&p)
}

func (x *exchange) respondModels(p *doc.Policy) {
	v := x.view(p)
	if x.s.variable != "" {
		x.respondModel(v)
		return
	}
	var list []api.Listed
	v.Names(func(name string, m *config.Model) bool {
		list = append(list, modelEntry(name, m))
		return true
	})
	x.respondJSON(x.family().Models.Append(make([]byte, 0, 8192), list))
}

func (x *exchange) respondModel(v *policy.View) {
	name := x.s.variable
	if !v.Usable(name) {
		x.refuseModel(name, v)
		return
	}
	m := x.config.Model(name)
	if x.config.Tier(name) != nil {
		m = nil
	}
	entry := modelEntry(name, m)
	x.respondJSON(x.family().Models.Entry(nil, &entry))
}

// refuseModel explains why GET /v1/models/{model} does not return a model.
func (x *exchange) refuseModel(name string, v *policy.View) {
	f, message, advised := fault.UnknownModel, api.Subject(name), false
	targets := v.Targets(name)
	switch {
	case api.Hides(name):
		message = hiddenModel(name)
	case len(targets) == 0:
		message += "is not in the catalog"
	default:
		f = fault.ModelForbidden
		var reason string
		reason, advised = policy.ForbiddenBecause(targets, x.config.Tier(name))
		message += reason
	}
	if !advised {
		message += "; see GET /v1/models"
	}
	if i := slices.IndexFunc(targets, func(t policy.Target) bool { return t.Allowed }); i >= 0 {
		f, message = fault.UnknownModel, unready(&targets[i])
	}
	x.refuse(f, refusal{details: []fault.Detail{{Field: "model", Message: message}}})
}

// modelEntry returns an entry of the list: for the model m or, if m is nil, for a tier.
func modelEntry(name string, m *config.Model) api.Listed {
	if m == nil {
		return api.Listed{Name: name, OwnedBy: "postern"}
	}
	return api.Listed{Name: name, OwnedBy: m.Provider.Name}
}
