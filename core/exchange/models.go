package exchange

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/policy"
)

// modelsCreated is the creation date of every model, because the dialects require one and the catalog has none.
const modelsCreated = "2026-01-01T00:00:00Z"

// models answers GET /v1/models with all models that the key may use, and GET /v1/models/{id} with one of them.
// The format is OpenAI's, or Anthropic's if the request has an anthropic-version header.
func (x *exchange) models() {
	if x.s.record.Policy == 0 {
		x.respondModels(nil)
		return
	}
	x.enter(phaseModels)
	x.await(abi.Action{Kind: abi.ActionSupply, ID: idBuffer, Buffer: bufferPolicy})
}

// onModelsPolicy lists the models by the project's policy. The buffer's content has been decoded before, so
// decoding cannot fail.
func (x *exchange) onModelsPolicy() {
	p, _ := doc.DecodePolicy(x.event.Data)
	x.respondModels(&p)
}

func (x *exchange) respondModels(p *doc.Policy) {
	v := x.view(p)
	b := jsontext.Builder{B: make([]byte, 0, 8192)}
	if x.s.endpoint == endpointModel {
		x.respondModel(&b, v)
		return
	}
	b.Open('{')
	if x.s.dialect == chat.OpenAI {
		b.Member("object", `"list"`)
	}
	b.Key("data")
	b.Open('[')
	v.Names(func(name string, m *config.Model) bool {
		x.modelEntry(&b, name, m)
		return true
	})
	b.Close(']')
	if x.s.dialect == chat.Anthropic {
		b.Member("has_more", "false")
		b.Member("first_id", "null")
		b.Member("last_id", "null")
	}
	b.Close('}')
	x.respondJSON(b.B)
}

// respondJSON sends a JSON body, logs and ends the exchange.
func (x *exchange) respondJSON(body []byte) {
	x.respond(200, []abi.Header{{Name: "content-type", Value: "application/json"}}, []abi.Part{{Data: body}})
	x.log(200, "")
	x.end()
}

func (x *exchange) respondModel(b *jsontext.Builder, v *policy.View) {
	name := x.s.query
	if !v.Usable(name) {
		x.refuseModel(name, v)
		return
	}
	m := x.config.Model(name)
	if x.config.Tier(name) != nil {
		m = nil
	}
	x.modelEntry(b, name, m)
	x.respondJSON(b.B)
}

// refuseModel explains why GET /v1/models/{model} does not have a model.
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
		reason, advised = forbiddenBecause(targets, x.config.Tier(name))
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

// modelEntry encodes one model, or a tier if m is nil.
func (x *exchange) modelEntry(b *jsontext.Builder, name string, m *config.Model) {
	ownedBy := "postern"
	if m != nil {
		ownedBy = m.Provider.Name
	}
	b.Open('{')
	b.Key("id")
	b.String(name)
	if x.s.dialect == chat.Anthropic {
		b.Member("type", `"model"`)
		b.Key("display_name")
		b.String(name)
		b.Key("created_at")
		b.String(modelsCreated)
	} else {
		b.Member("object", `"model"`)
		b.Member("created", "1767225600")
		b.Key("owned_by")
		b.String(ownedBy)
	}
	b.Close('}')
}
