package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/exchange/reply"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
)

// maxReplayBytes is the maximum size in bytes of a response in an idempotency record.
const maxReplayBytes = 256 << 10

// keepAnswer settles the request and stores its response. The response is then sent from a buffer. If the classifier
// has not responded yet, the settlement waits for it, and the response is stored separately.
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
	x.settleLeased(settle) // the meter settles this request, but the exchange may still become the keeper of its key's lease
	x.s.kept = buffer
	x.enter(phaseKeep)
	encoded := settle.Encode()
	x.keep(bufferOutcome, encoded)
	x.call(idKeep, abi.ClassKeyMeter, x.s.keyHash, encoded)
	x.wait(idTimer, keepAnswerMs)
}

// keepAnswerMs limits how long a response waits to be stored, in milliseconds.
const keepAnswerMs = 5000

// holdEnd keeps the last output of a complete stream until the response is stored, because that output may contain
// the stream's success mark. It returns the output to send now.
func (x *exchange) holdEnd(out []byte, complete bool) []byte {
	if !complete || x.s.idempotency == "" {
		return out
	}
	x.keep(bufferAnswer, out)
	return nil
}

// replayKey returns the hash of the caller's Idempotency-Key. If the response is not stored under that key, it
// returns "".
func (x *exchange) replayKey() string {
	if bad := x.s.rejected; bad != fault.None && !bad.Stored() {
		return ""
	}
	return x.s.idempotency
}

// keepReplay adds the response to the settle command. Later requests with the same Idempotency-Key get this response.
func (x *exchange) keepReplay(settle *keymeter.Settle, headers []abi.Header, body []byte) {
	if settle.Oversized = body == nil || len(body) > maxReplayBytes; settle.Oversized {
		return
	}
	kept := reply.Kept{Status: settle.Trace.Status, Headers: headers, Body: body}
	settle.Answer = kept.Encode()
}
