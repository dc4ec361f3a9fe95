package exchange

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api/anthropic"
	"github.com/postern-ai/postern/core/api/responses"
	"github.com/postern-ai/postern/core/chat"
)

// countTokens answers POST /v1/messages/count_tokens and /v1/responses/input_tokens. It counts toward the rate limits and is free.
// If the provider fails, the count is an estimate; without such an endpoint too, except in OpenAI's format.
func (x *exchange) countTokens() {
	s := &x.s
	for i := range x.targets() {
		s.order = append(s.order, byte(i))
	}
	if s.disconnected || x.testMode() {
		x.respondCount(s.request.PromptTokens, true)
		return
	}
	if !x.chooseTarget() {
		if x.endpoint.calls.native != "" {
			x.refuseUnready()
			return
		}
		x.respondCount(s.request.PromptTokens, true)
		return
	}
	f := x.wire()
	if f.CountRequest == nil || f.Dialect != s.dialect {
		x.respondCount(s.request.PromptTokens, true)
		return
	}
	x.s.dispatchMs = x.now
	if x.unseal() {
		x.enter(phaseCountUnseal)
		return
	}
	x.fetchCount()
}

// onCountUnsealed counts with the project's provider key. If decryption failed, the count is an estimate.
func (x *exchange) onCountUnsealed() {
	if !x.keepProviderKey() || x.s.disconnected {
		x.respondCount(x.s.request.PromptTokens, true)
		return
	}
	x.fetchCount()
}

func (x *exchange) fetchCount() {
	f := x.wire()
	x.fetchIn(phaseCount, f.CountRequest(x.wireCall(&chat.Request{Dialect: x.s.dialect}), abi.Part{Buffer: bufferMembers}))
}

// onCount takes the provider's response.
func (x *exchange) onCount() {
	f := x.wire()
	if x.event.Kind == abi.EventResponse && x.event.Code == 200 {
		if n, ok := f.CountResponse(x.json()); ok {
			x.respondCount(n, false)
			return
		}
	}
	x.respondCount(x.s.request.PromptTokens, true)
}

func (x *exchange) respondCount(tokens uint64, estimated bool) {
	headers := x.droppedHeader(append(jsonHeaders(), abi.Header{Name: "x-postern-estimated", Value: strconv.FormatBool(estimated)}))
	body := anthropic.AppendCount(nil, tokens)
	if x.s.dialect == chat.Responses {
		body = responses.AppendCount(nil, tokens)
	}
	x.reply(200, headers, abi.Part{Data: body})
}
