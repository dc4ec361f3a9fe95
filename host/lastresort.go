package host

import "github.com/postern-ai/postern/core/abi"

// lastResort responds when the core has failed. The cause is not logged, because it might contain request data.
func (x *exchange) lastResort() {
	x.host.logFailure(abi.StepFailed, x.id)
	if x.response.opened {
		x.response.send(x.response.lastWord)
		x.response.finish()
		return
	}
	x.response.respond(x.host.lastAnswer(x.id))
}

// lastAnswer returns the error response for a failed step. The core prepared it when it was configured.
func (h *Host) lastAnswer(id string) (status uint64, headers []abi.Header, body []byte) {
	c := &h.configured
	body = append(append(append(body, c.LastResortBody[0]...), id...), c.LastResortBody[1]...)
	headers = append(append(headers, abi.Header{Name: abi.RequestIDHeader, Value: id}), c.LastResortHeaders...)
	return c.LastResortStatus, headers, body
}
