package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/exchange/reply"
	"github.com/postern-ai/postern/core/fault"
)

// replay sends the stored response of the first request with this Idempotency-Key. A replay does not count against
// limits or the budget.
func (x *exchange) replay(stored []byte) {
	kept, ok := reply.Decode(stored)
	if !ok {
		x.refuse(fault.Unreplayable, refusal{})
		return
	}
	headers := append(kept.Headers, abi.Header{Name: "idempotent-replayed", Value: "true"})
	x.reply(kept.Status, x.governorHeaders(headers), abi.Part{Data: kept.Body})
}
