package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
)

// modelsCreated stands where the families want a date of a model, which the catalog does not have.
const modelsCreated = "2026-01-01T00:00:00Z"

// models answers GET /v1/models with what the key may use now, and GET /v1/models/{id} with one of them, in
// OpenAI's shape or, for callers who send anthropic-version, in Anthropic's.
func (x *exchange) models() {
	if x.s.record.Policy != 0 && x.event.Kind != abi.EventSupplied {
		x.do(abi.Action{Kind: abi.ActionSupply, ID: idSupply, Buffer: bufferPolicy})
		return
	}
	catalogue := x.shown()
	b := jsontext.Builder{B: make([]byte, 0, 8192)}
	if x.s.route == routeModel {
		x.oneModel(&b, &catalogue)
		return
	}
	b.Open('{')
	if x.s.dialect == chat.OpenAI {
		b.Member("object", `"list"`)
	}
	b.Key("data")
	b.Open('[')
	for i := range x.config.Tiers {
		if t := &x.config.Tiers[i]; catalogue.usableTier(t) {
			x.modelEntry(&b, t.Name, "postern")
		}
	}
	for i := range x.config.Models {
		if m := &x.config.Models[i]; catalogue.usable(m, m.Name) {
			x.modelEntry(&b, m.Name, m.Provider.Name)
		}
	}
	b.Close(']')
	if x.s.dialect == chat.Anthropic {
		b.Member("has_more", "false")
		b.Member("first_id", "null")
		b.Member("last_id", "null")
	}
	b.Close('}')
	x.respondJSON(b.B)
}

func (x *exchange) respondJSON(body []byte) {
	x.respond(200, []abi.Header{{Name: "content-type", Value: "application/json"}}, []abi.Part{{Data: body}})
	x.log(200, "")
}

func (x *exchange) oneModel(b *jsontext.Builder, catalogue *shelf) {
	name := x.s.query
	if m := x.config.Model(name); m != nil && catalogue.usable(m, name) {
		x.modelEntry(b, name, m.Provider.Name)
	} else if t := x.config.Tier(name); t != nil && catalogue.usableTier(t) {
		x.modelEntry(b, name, "postern")
	} else {
		x.refuse(fault.UnknownModel, refusal{})
		return
	}
	x.respondJSON(b.B)
}

// shelf is what a key is shown: what it and its project may use, and what can be asked.
type shelf struct {
	x      *exchange
	policy doc.Policy
}

func (x *exchange) shown() shelf {
	sh := shelf{x: x}
	if x.event.Kind == abi.EventSupplied {
		// Nothing else than what was decoded before is in that buffer.
		sh.policy, _ = doc.DecodePolicy(x.event.Data)
	}
	return sh
}

func (sh *shelf) usable(m *config.Model, as string) bool {
	x := sh.x
	own := sh.policy.ProviderKey(m.Provider.Account)
	ready := m.Provider.Ready
	if own != nil {
		ready = m.Provider.Ownable && x.config.MasterKey(own.KeyID) != ""
	}
	return (ready || x.testMode()) && x.listed(x.s.record.Models, m, as) && x.listed(sh.policy.Models, m, as)
}

func (sh *shelf) usableTier(t *config.Tier) bool {
	targets := t.Targets
	if own := sh.x.routed(sh.policy.Route(t.Name)); len(own) > 0 {
		targets = own
	}
	for _, target := range targets {
		if sh.usable(target.Model, t.Name) {
			return true
		}
	}
	return false
}

func (x *exchange) modelEntry(b *jsontext.Builder, name, owner string) {
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
		b.String(owner)
	}
	b.Close('}')
}
