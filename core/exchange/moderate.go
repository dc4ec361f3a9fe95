package exchange

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/head"
	"github.com/postern-ai/postern/core/api/openai"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/policy"
	"github.com/postern-ai/postern/core/provider"
)

func (x *exchange) parseModerations(p *api.Parser, root gjson.Result) {
	m := openai.ParseModerations(p, root)
	switch {
	case len(p.Details) > 0:
		x.reject(fault.InvalidRequest, p.Details...)
	case !policy.Knows(x.config, m.Model, x.endpoint.api):
		x.noteUnknownModel(m.Model)
	default:
		r := &x.s.request
		*r = request{}
		r.model, r.PromptTokens, r.params, r.question, r.unknown = m.Model, m.PromptTokens, m.Params, m.Params, appendExtra("", m.Unknown)
		x.keep(bufferMembers, m.Members)
	}
}

// admitUncached admits a request whose response is never cached, as if the caller had sent no-store.
func (x *exchange) admitUncached() {
	x.s.cacheControl.noStore = true
	x.admitCompletion()
}

// refuseModerations refuses a request whose target's provider has no moderations endpoint. An operator's catalog may
// contain such a target.
func (x *exchange) refuseModerations([]byte) {
	x.next(fault.InvalidRequest, refusal{noRetry: true, details: []fault.Detail{
		{Field: "model", Message: x.model().Name + " is not offered for moderations by its provider; use another model"},
	}})
}

func (x *exchange) mockModerations(body []byte) {
	m := openai.ParseModerations(&api.Parser{}, gjson.ParseBytes(body))
	for i := range m.Inputs {
		m.Inputs[i] = provider.MockModeration(m.Inputs[i])
	}
	x.chargeNothing(&chat.Usage{Input: x.s.request.PromptTokens, Reported: true})
	x.answerModerations("", m.Inputs, mockProvider)
}

// readModerations reads a provider's 200 response. The response does not report usage. If the model has a price,
// usage is estimated.
func (x *exchange) readModerations() {
	var id jsontext.Escaped
	var results []string
	root, ok := x.json(), false
	if root.IsObject() && head.IsJSON(x.header("content-type")) {
		id, results, ok = provider.ModerationResults(root)
	}
	if !ok {
		x.refuseUnreadable()
		return
	}
	x.spend(&chat.Usage{Input: x.s.request.PromptTokens})
	x.answerModerations(id, results, x.model().Provider.Name)
}

func (x *exchange) answerModerations(id jsontext.Escaped, results []string, providerName string) {
	a := x.answer(true)
	a.provider = providerName
	body := openai.AppendModerations(make([]byte, 0, 4096), id, a.model, results)
	x.keep(bufferUpstream, body)
	x.respondAnswer(a, nil, body)
}
