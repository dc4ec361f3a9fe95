package exchange

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
)

// countTokens answers POST /v1/messages/count_tokens. It counts against the limits, and costs nothing.
func (x *exchange) countTokens() {
	b := append([]byte(nil), `{"input_tokens":`...)
	b = strconv.AppendUint(b, x.s.request.promptTokens, 10)
	x.respond(200, []abi.Header{
		{Name: "content-type", Value: "application/json"}, {Name: "x-postern-estimated", Value: "true"},
	}, []abi.Part{{Data: append(b, '}')}})
	x.log(200, "")
}
