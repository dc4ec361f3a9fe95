package exchange

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
)

// maxIdempotency is the maximum number of characters of an Idempotency-Key.
const maxIdempotency = 255

// readIdempotencyKey reads the caller's Idempotency-Key. An invalid one is reported together with the errors in the body.
func (x *exchange) readIdempotencyKey() {
	key := x.header("idempotency-key")
	switch {
	case key == "" || x.s.endpoint.repeatable():
	case len(key) > maxIdempotency || !printable(key):
		x.s.invalidIdempotency = uint64(len(key))
	default:
		x.s.idempotency = keys.Hash(key)
	}
}

// rerunHeader is the request header with which a caller runs a request again if the outcome of the one before with its
// Idempotency-Key is unknown. In any other case it changes nothing.
const rerunHeader = "x-postern-idempotency-rerun"

// readRerunHeader returns false if the header is invalid.
func (x *exchange) readRerunHeader() bool {
	value := x.header(rerunHeader)
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
	x.reject(fault.InvalidRequest, fault.Detail{Field: rerunHeader, Message: message})
	return false
}

// checkIdempotencyKey reports an invalid Idempotency-Key.
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

// replayKey is the hash of the caller's Idempotency-Key, or "" if the response is not stored under it. A "model
// not allowed" or "blocked" error is not stored, because the operator may change the policy before the next try.
func (x *exchange) replayKey() string {
	if bad := x.rejection(); bad == fault.ModelForbidden || bad == fault.Blocked {
		return ""
	}
	return x.s.idempotency
}

// holdEnd keeps the last output of a stream that is complete, which may contain its success mark, until the response is stored. It
// returns the output to send now.
func (x *exchange) holdEnd(out []byte, complete bool) []byte {
	if !complete || x.s.idempotency == "" {
		return out
	}
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferAnswer, Data: out})
	return nil
}

// keepAnswer settles the request and stores its response. Then the response is sent from a buffer. While the classifier beside the
// request has not responded, the settlement waits for it, and the response is stored without it.
func (x *exchange) keepAnswer(settle *keymeter.Settle, buffer uint64) {
	answer := keymeter.Settle{
		RequestID: settle.RequestID, Outcome: keymeter.Finish, Idempotency: settle.Idempotency, Answer: settle.Answer, Oversized: settle.Oversized,
	}
	if x.classifying() {
		settle.Idempotency, settle.Answer, settle.Oversized = "", nil, false
	}
	if x.holdSettle(settle) {
		settle = &answer
	}
	x.settleLeased(settle) // it is not, but the exchange may have to keep the lease
	x.s.kept = buffer
	x.enter(phaseKeep)
	x.call(idKeep, abi.ClassKeyMeter, x.s.keyHash, settle.Encode())
	x.await(abi.Action{Kind: abi.ActionWait, ID: idTimer, KeepMs: keepAnswerMs})
}

// keepAnswerMs is the longest time that a response waits until it is stored.
const keepAnswerMs = 5000

// sendKept sends the response that is stored now, or could not be: the provider has been paid, and a repeat does not run again
// either way.
func (x *exchange) sendKept() {
	s := &x.s
	part := abi.Part{Buffer: s.kept}
	switch a := x.keptAnswer(); {
	case s.rejected != "":
		x.sendRejection()
	case s.pieces.count > 0:
		x.cancel(idTimer)
		x.openMockStream(a)
		x.startMockStream()
		return
	case s.stream.headReceived:
		x.sendStreamEnd(part)
		x.logStream()
	default:
		x.respond(200, x.answerHeaders(a), []abi.Part{part})
		x.log(200, "")
	}
	x.end()
}

// keptAnswer describes the response that waits until it is stored.
func (x *exchange) keptAnswer() *answer {
	s := &x.s
	return &answer{
		provider: s.hit.provider, model: s.hit.model, usage: s.spent.usage, costPico: s.spent.costPico, cached: s.hit.found,
	}
}
