package keymeter

import "github.com/postern-ai/postern/core/abi"

// DecodeSettle decodes an encoded Settle. An exchange keeps one while it waits for its last part.
func DecodeSettle(data []byte) (c Settle, err error) {
	r := abi.Reader{Buf: data}
	if r.Uint() != opSettle {
		return c, abi.ErrMalformed
	}
	c.fields(abi.ReadFrom(&r))
	return c, r.End()
}

// ChargeFields lists the fields of a charge, for states that contain charges.
func ChargeFields(f *abi.Fields, c *Charge) { chargeFields(f, c) }
