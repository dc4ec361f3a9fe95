package exchange

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/anthropic"
	"github.com/postern-ai/postern/core/api/native"
	"github.com/postern-ai/postern/core/api/openai"
	"github.com/postern-ai/postern/core/api/responses"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/policy"
	"github.com/postern-ai/postern/core/provider/wire"
)

// testMode reports whether the key is a development key. The mock responds to all of its requests, for any model and
// free of charge.
func (x *exchange) testMode() bool { return x.s.record.Environment == keys.Development }

func (x *exchange) permitted() bool { return x.s.record.May(x.endpoint.needs) }

// tier returns the requested tier. If the request names a model, it returns nil.
func (x *exchange) tier() *config.Tier { return x.config.Tier(x.s.request.model) }

// family returns the endpoint's API family. If the endpoint does not set one, this is the family of the caller's
// dialect.
//
//go:noinline
func (x *exchange) family() *api.Family {
	f := x.formatOf()
	return &f
}

func (x *exchange) formatOf() api.Family {
	if x.endpoint.format != nil {
		return x.endpoint.format()
	}
	switch x.s.dialect {
	case chat.OpenAI:
		return openai.Family()
	case chat.Responses:
		return responses.Family()
	case chat.Anthropic:
		return anthropic.Family
	}
	return native.Family()
}

// readRequest parses a body that has passed jsontext.Check.
func (x *exchange) readRequest(p *api.Parser, root gjson.Result) api.Parsed {
	p.Catalog = x.config
	return x.family().Parse(p, root)
}

// reparse parses the body again, to translate it for a target. If native is set, the target has the caller's dialect.
func (x *exchange) reparse(body []byte, native bool) chat.Request {
	p := api.Parser{Native: native}
	parsed := x.readRequest(&p, gjson.ParseBytes(body))
	parsed.Request.Stream = x.streams()
	return parsed.Request
}

// streams reports whether the response is streamed from the provider. If a schema may block the response, it is not:
// the caller then gets all events at once, after the check.
func (x *exchange) streams() bool { return x.s.request.stream && !x.s.govern.buffered }

// requestBuffer returns the buffer that contains the request in the form that providers may see.
func (x *exchange) requestBuffer() uint64 {
	if x.s.govern.rewritten {
		return bufferChecked
	}
	return bufferBody
}

// remainingMs returns the rest of the time limit that all attempts share. The limit applies until the response is
// complete, or until the first content of a stream.
func (x *exchange) remainingMs() uint64 {
	total := x.config.RequestMsOf(x.tier())
	return total - min(total, x.since(x.s.dispatchMs))
}

func (x *exchange) apiError(f fault.Fault, r refusal) *api.Error {
	e := &api.Error{
		Fault: f, RequestID: x.s.requestID, Details: r.details, Message: r.message, Findings: r.findings, Limit: r.limit,
	}
	if r.limit != nil {
		e.Details = append(e.Details, r.limit.Detail)
	}
	return e
}

func (x *exchange) errorBody(f fault.Fault, r refusal) []byte {
	return x.family().Error(nil, x.apiError(f, r))
}

// targets returns the targets of the requested name. Each states whether the key and its project allow it.
func (x *exchange) targets() []policy.Target {
	if x.targetsMemo == nil {
		v := policy.View{Config: x.config, Key: x.s.record.Models, Above: x.s.record.Restrictions, Development: x.testMode()}
		x.targetsMemo = v.SelectedTargets(&x.s.selection, x.s.request.model)
		for i := range x.targetsMemo {
			t := &x.targetsMemo[i]
			t.Model = x.onCallersAPI(t.Model)
		}
	}
	return x.targetsMemo
}

// onCallersAPI returns a model with the provider API that this request uses. If the model has an API with the
// caller's format, it is that API. Otherwise, it is the model's first API. The choice depends only on the request, so
// it is the same in every step.
func (x *exchange) onCallersAPI(m *config.Model) *config.Model {
	if len(m.Others) == 0 || x.endpoint.calls.family == nil || x.endpoint.calls.rebuilds || x.speaks(m.Provider) {
		return m
	}
	for _, p := range m.Others {
		if x.speaks(p) && x.hasTools(p) {
			on := *m
			on.Provider = p
			return &on
		}
	}
	return m
}

// speaks reports whether a provider's wire format is the caller's format.
func (x *exchange) speaks(p *config.Provider) bool {
	f, ok := x.endpoint.calls.family(p.Wire)
	return ok && f.Direct != nil && f.Dialect == x.family().Members
}

// hasTools reports whether a provider API has the tools that the request uses. Some APIs have only some of their
// format's tools. If another API is called, translation may convert the missing tools.
func (x *exchange) hasTools(p *config.Provider) bool {
	for _, use := range x.s.request.Bought.Uses {
		if p.NoTools && x.config.Tool(p, use.Name) == nil {
			return false
		}
	}
	return true
}

// target returns the requested name's target with the given model, or nil.
func (x *exchange) target(model string) *policy.Target {
	targets := x.targets()
	for i := range targets {
		if targets[i].Model.Name == model {
			return &targets[i]
		}
	}
	return nil
}

// mayUse reports whether a cached response from a model may be returned. The response may have been cached for
// another key. Its model must therefore be a target of the requested name, and the key, its project and the registry
// must allow it.
func (x *exchange) mayUse(model string) bool {
	t := x.target(model)
	return t != nil && t.Allowed
}

// allowsAny reports whether the key and its project allow at least one target.
func (x *exchange) allowsAny() bool {
	for _, t := range x.targets() {
		if t.Allowed {
			return true
		}
	}
	return false
}

func (x *exchange) currentIndex() int {
	return int(x.s.order[min(int(x.s.orderIndex), len(x.s.order)-1)])
}

func (x *exchange) current() *policy.Target { return &x.targets()[x.currentIndex()] }

func (x *exchange) model() *config.Model { return x.current().Model }

// usesOwnProviderKey reports whether the current target is called with the project's own provider key.
func (x *exchange) usesOwnProviderKey() bool { return x.current().MasterKeyID != "" }

// wire returns the format in which the current target gets the request.
//
//go:noinline
func (x *exchange) wire() *wire.Family {
	f, _ := x.endpoint.calls.family(x.model().Provider.Wire)
	return f
}

// isNative reports whether a model's provider speaks the caller's dialect.
func (x *exchange) isNative(m *config.Model) bool {
	f, ok := x.endpoint.calls.family(m.Provider.Wire)
	return ok && f.Direct != nil && f.Dialect == x.family().Members
}

// view returns the part of the catalog that the key may use under a project's policy.
func (x *exchange) view(p *doc.Policy) *policy.View {
	return &policy.View{
		Config: x.config, Key: x.s.record.Models, KeyID: x.s.record.KeyID, Above: x.s.record.Restrictions, Project: p, Development: x.testMode(),
	}
}

// lastModel returns the model of the last target called, or "".
func (x *exchange) lastModel() string {
	if x.s.lastTarget == 0 {
		return ""
	}
	return x.targets()[x.s.lastTarget-1].Model.Name
}

const mockProvider = ledger.MockProvider

// json parses the event's data. The result is empty if the data is not valid JSON.
func (x *exchange) json() (root gjson.Result) {
	if jsontext.Check(x.event.Data) == jsontext.OK {
		root = gjson.ParseBytes(x.event.Data)
	}
	return root
}
