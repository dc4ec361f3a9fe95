package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
)

// maxReplayBytes is the size limit for a response stored in an idempotency record.
const maxReplayBytes = 256 << 10

// keepReplay adds the response to the settle command, so that later requests with the same Idempotency-Key get it.
func (x *exchange) keepReplay(settle *keymeter.Settle, status uint64, headers []abi.Header, body []byte) {
	if x.s.idempotency == "" {
		return
	}
	if len(body) > maxReplayBytes {
		settle.Oversized = true
		return
	}
	settle.Answer = encodeReplay(status, headers, body)
}

func encodeReplay(status uint64, headers []abi.Header, body []byte) []byte {
	w := abi.Writer{Buf: make([]byte, 0, 512+len(body))}
	w.Uint(status)
	w.Uint(uint64(len(headers)))
	for _, h := range headers {
		w.String(h.Name)
		w.String(h.Value)
	}
	w.Bytes(body)
	return w.Buf
}

// replay sends the stored response of the first request with this Idempotency-Key. It uses no quota and no budget.
func (x *exchange) replay(stored []byte) {
	r := abi.Reader{Buf: stored}
	status := r.Uint()
	var headers []abi.Header
	for n := r.Count(); n > 0; n-- {
		headers = append(headers, abi.Header{Name: r.String(), Value: r.String()})
	}
	body := r.Bytes()
	if r.End() != nil {
		x.refuse(fault.Unreplayable, refusal{noRetry: true})
		return
	}
	headers = append(headers, abi.Header{Name: "idempotent-replayed", Value: "true"})
	x.respond(status, x.governorHeaders(headers), []abi.Part{{Data: body}})
	x.log(status, "")
	x.end()
}
