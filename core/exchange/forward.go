package exchange

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api/control"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/header"
)

// forward passes the request to the control plane, which authenticates every request itself.
func (x *exchange) forward(path string) {
	headers := []abi.Header{{Name: "x-request-id", Value: x.s.requestID}}
	if strings.HasSuffix(path, "/providers") || strings.HasSuffix(path, "/routes") {
		headers = append(headers, abi.Header{Name: header.Providers, Value: x.providersJSON()})
	}
	docs := abi.Header{Name: header.Docs, Value: "on"} // sent in both cases, to replace a header of the caller
	if x.config.DocsOff {
		docs.Value = "off"
	}
	headers = append(headers, docs)
	x.enter(phaseForward)
	x.await(abi.Action{Kind: abi.ActionForward, ID: idForward, Headers: headers})
}

// onForwarded finishes a forwarded request. Unless the control plane was unreachable, it has already responded to the
// caller.
func (x *exchange) onForwarded() {
	if x.event.Kind != abi.EventResponse {
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
		return
	}
	x.s.responded = true
	x.reply(x.event.Code, nil, abi.Part{})
}

// providersJSON is this isolate's view of the providers.
func (x *exchange) providersJSON() string {
	targets := x.circuits.Targets(&x.config.Routing, x.now)
	return string(control.AppendProviders(make([]byte, 0, 512), x.config.Providers, targets))
}
