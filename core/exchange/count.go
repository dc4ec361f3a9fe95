package exchange

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/anthropic"
	"github.com/postern-ai/postern/core/api/native"
	"github.com/postern-ai/postern/core/api/responses"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/header"
	"github.com/postern-ai/postern/core/provider"
	"github.com/postern-ai/postern/core/provider/wire"
)

// countTokens serves POST /v1/messages/count_tokens, /v1/responses/input_tokens and /api/ai/count-tokens. The request
// counts toward the rate limits and is free. If the provider fails, the count is an estimate. If the provider has no
// such endpoint, the count is an estimate too, except in OpenAI's format.
func (x *exchange) countTokens() {
	s := &x.s
	s.order = x.orderTargets()
	switch {
	case s.disconnected || x.testMode():
		x.estimateCount()
	case x.chooseTarget():
		x.askCounter()
	case x.endpoint.calls.native != "":
		x.refuseUnready()
	default:
		x.estimateCount()
	}
}

// estimateCount responds with an estimate, in the name of the first target that the key may use.
func (x *exchange) estimateCount() {
	x.s.orderIndex = 0
	x.mockTarget()
	x.respondEstimate()
}

func (x *exchange) respondEstimate() { x.respondCount(x.s.request.PromptTokens, true) }

// counter returns the current target, with an API that counts tokens. If it has no such API, f is nil. A request in a
// provider's format is counted only on the API with that format. A native request is translated. OpenAI's counting
// API therefore also counts for models called through chat completions.
//
//go:noinline
func (x *exchange) counter() (m *config.Model, f *wire.Family) {
	m, f = x.model(), x.wire()
	switch {
	case f.Dialect == x.s.dialect:
		return m, f
	case x.s.dialect != chat.Native:
		return m, nil
	case f.Dialect == chat.Anthropic:
		return m, f
	}
	for i := -1; i < len(m.Others); i++ {
		p := m.Provider
		if i >= 0 {
			p = m.Others[i]
		}
		if f, ok := provider.InputTokens(p.Wire); ok && p.Serves(config.ServesInputTokens) {
			on := *m
			on.Provider = p
			return &on, f
		}
	}
	return m, nil
}

// askCounter calls the provider of the current target, if it counts tokens.
func (x *exchange) askCounter() {
	if _, f := x.counter(); f == nil {
		x.respondEstimate()
		return
	}
	x.s.dispatchMs = x.now
	if x.unseal() {
		x.enter(phaseCountUnseal)
		return
	}
	x.fetchCount()
}

// onCountUnsealed counts with the project's provider key. If decryption failed, it estimates the count.
func (x *exchange) onCountUnsealed() {
	if !x.keepProviderKey() || x.s.disconnected {
		x.respondEstimate()
		return
	}
	x.fetchCount()
}

// fetchCount sends the fields of the caller's body. If the request must be translated, fetchCount requests the stored
// body for sendCount.
func (x *exchange) fetchCount() {
	if x.endpoint.calls.build != nil {
		x.enter(phaseBuild)
		x.supply(idBuffer, x.requestBuffer())
		return
	}
	_, f := x.counter()
	x.fetchIn(phaseCount, f.CountRequest(x.wireCall(&chat.Request{Dialect: x.s.dialect}), abi.Part{Buffer: bufferMembers}))
}

// sendCount counts a native request in the form that a completion would have. In strict mode, it skips targets that
// would lose part of the request or do not support its parameters.
func (x *exchange) sendCount(body []byte) {
	s := &x.s
	s.dropped = x.droppedParams(x.unsupportedParams())
	r, lost := x.translated(body)
	if len(lost) > 0 {
		s.orderIndex++
		s.providerKey = ""
		if x.chooseTarget() {
			x.askCounter()
		} else {
			x.estimateCount()
		}
		return
	}
	m, f := x.counter()
	call := wire.Call{Model: x.withOwnProviderKey(m), Request: &r, NowMs: x.now}
	var members []byte
	gjson.ParseBytes(f.Request(&call).Body[0].Data).ForEach(func(key, v gjson.Result) bool {
		if strings.Contains(f.Counted, " "+key.Str+" ") {
			members = api.AppendMember(members, key, v)
		}
		return true
	})
	x.fetchIn(phaseCount, f.CountRequest(&call, abi.Part{Data: members}))
}

func (x *exchange) onCount() {
	_, f := x.counter()
	if x.event.Kind == abi.EventResponse && x.event.Code == 200 {
		if n, ok := f.CountResponse(x.json()); ok {
			x.respondCount(n, false)
			return
		}
	}
	x.respondEstimate()
}

//go:noinline
func (x *exchange) respondCount(tokens uint64, estimated bool) {
	headers := x.droppedHeader(append(jsonHeaders(), abi.Header{Name: header.Estimated, Value: strconv.FormatBool(estimated)}))
	var body []byte
	switch x.s.dialect {
	case chat.Responses:
		body = responses.AppendCount(nil, tokens)
	case chat.Anthropic:
		body = anthropic.AppendCount(nil, tokens)
	default:
		model, name := x.model(), mockProvider
		if !x.testMode() {
			name = model.Provider.Name
		}
		body = native.AppendCount(nil, tokens, estimated, name, model.Name)
	}
	x.reply(200, headers, abi.Part{Data: body})
}
