package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/policy"
)

// modelsCreated stands where the families want a date of a model, which the catalog does not have.
const modelsCreated = "2026-01-01T00:00:00Z"

// models answers GET /v1/models with what the key may use now, and GET /v1/models/{id} with one of them, in
// OpenAI's shape or, for callers who send anthropic-version, in Anthropic's.
func (x *exchange) models() {
	if x.s.record.Policy == 0 {
		x.showModels(nil)
		return
	}
	x.enter(phaseModels)
	x.ask(abi.Action{Kind: abi.ActionSupply, ID: idBuffer, Buffer: bufferPolicy})
}

// listModels takes the project's policy. Nothing else than what was decoded before is in that buffer.
func (x *exchange) listModels() {
	p, _ := doc.DecodePolicy(x.event.Data)
	x.showModels(&p)
}

func (x *exchange) showModels(p *doc.Policy) {
	v := policy.View{Config: x.config, Key: x.s.record.Models, Project: p, Development: x.testMode()}
	b := jsontext.Builder{B: make([]byte, 0, 8192)}
	if x.s.endpoint == endpointModel {
		x.showModel(&b, &v)
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

// respondJSON ends an exchange that needed nothing but its answer.
func (x *exchange) respondJSON(body []byte) {
	x.respond(200, []abi.Header{{Name: "content-type", Value: "application/json"}}, []abi.Part{{Data: body}})
	x.log(200, "")
	x.end()
}

func (x *exchange) showModel(b *jsontext.Builder, v *policy.View) {
	name := x.s.query
	if !v.Usable(name) {
		x.refuse(fault.UnknownModel, refusal{details: []fault.Detail{
			{Field: "model", Message: api.Quote(name) + " is not available to this key; see GET /v1/models"},
		}})
		return
	}
	m := x.config.Model(name)
	if x.config.Tier(name) != nil {
		m = nil
	}
	x.modelEntry(b, name, m)
	x.respondJSON(b.B)
}

// modelEntry writes one model, or a tier, of which m is nil.
func (x *exchange) modelEntry(b *jsontext.Builder, name string, m *config.Model) {
	owner := "postern"
	if m != nil {
		owner = m.Provider.Name
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
		b.String(owner)
	}
	b.Close('}')
}
