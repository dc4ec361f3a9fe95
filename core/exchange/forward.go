package exchange

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
)

// forward hands the request to the control plane, which has its own authentication: nothing is trusted for
// arriving through here.
func (x *exchange) forward(path string) {
	x.s.endpoint = endpointControl
	headers := []abi.Header{{Name: "x-request-id", Value: x.s.requestID}}
	if strings.HasSuffix(path, "/providers") || strings.HasSuffix(path, "/routes") {
		headers = append(headers, abi.Header{Name: providersHeader, Value: x.providersJSON()})
	}
	x.enter(phaseForward)
	x.await(abi.Action{Kind: abi.ActionForward, ID: idForward, Headers: headers})
}

// takeForwarded: the control plane has answered the caller itself, or could not be reached.
func (x *exchange) onForwarded() {
	if x.event.Kind != abi.EventResponse {
		x.refuse(fault.Unavailable, refusal{retryMs: unavailableRetryMs})
		return
	}
	x.s.responded = true
	x.log(x.event.Code, "")
	x.end()
}
