package exchange

import (
	"strconv"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/head"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/header"
	"github.com/postern-ai/postern/core/keys"
)

// maxIdempotency is the maximum length of an Idempotency-Key in characters.
const maxIdempotency = 255

// outcomeUnknown tells a caller with an Idempotency-Key how to run the request again.
const outcomeUnknown = "was used by a request that a provider may have executed; to run it again, repeat it with " + header.Rerun + ": true"

// readIdempotencyKey reads the caller's Idempotency-Key. An invalid key is reported together with the errors in the
// body.
func (x *exchange) readIdempotencyKey() {
	key := x.header("idempotency-key")
	switch {
	case key == "" || !x.endpoint.repeats:
	case len(key) > maxIdempotency || !head.IsPrintable(key):
		x.s.invalidIdempotency = uint64(len(key))
	default:
		x.s.idempotency = keys.Hash(key)
	}
}

// readRerunHeader reads the rerun header. If the header is invalid, it returns false.
func (x *exchange) readRerunHeader() bool {
	value := x.header(header.Rerun)
	message := ""
	switch {
	case value == "" || value == "false":
		return true
	case value != "true":
		message = "must be true or false, got " + api.Quote(value)
	case x.header("idempotency-key") == "":
		message = "needs an Idempotency-Key"
	default:
		x.s.rerun = true
		return true
	}
	x.reject(fault.InvalidRequest, fault.Detail{Field: header.Rerun, Message: message})
	return false
}

func (x *exchange) checkIdempotencyKey(p *api.Parser) {
	n := x.s.invalidIdempotency
	if n == 0 {
		return
	}
	message := "must have 1 to 255 printable ASCII characters"
	if n > maxIdempotency {
		message += ", got " + strconv.FormatUint(n, 10)
	}
	p.Wrong("Idempotency-Key", message)
}
