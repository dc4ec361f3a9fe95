package exchange

import (
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/provider/mock"
)

func (x *exchange) onMockBody() { x.endpoint.calls.mock(x, x.event.Data) }

func (x *exchange) mockCompletion(body []byte) {
	request := x.reparse(body, false)
	r := mock.Answer(&request)
	x.answerMock(&r)
}

//go:noinline
func (x *exchange) answerMock(r *chat.Response) {
	s := &x.s
	u := chat.Usage{Input: s.request.PromptTokens, Output: x.estimate(responseTokens(r)).Output, Reported: true}
	if s.request.MaxTokens > 0 {
		u.Output = min(u.Output, s.request.MaxTokens)
	}
	if _, ok := x.checkAnswer(r, nil); !ok {
		return
	}
	x.chargeNothing(&u)
	a := x.answer(complete(r))
	a.provider = mockProvider
	if x.streams() && (s.stream.opened || x.config.Routing.MockPauseMs > 0) {
		x.streamMock(a, r)
		return
	}
	x.respondAnswer(a, r, nil)
}

const (
	// maxPieces is the maximum number of pieces in a mock's stream. With the catalog's default pause, the stream
	// takes less than a second.
	maxPieces = 32
	// wordBytes is the approximate text length of one mock event, in bytes.
	wordBytes = 6
)

func (x *exchange) streamPieces(r *chat.Response, m *api.Meta) (pieces [][]byte) {
	var state api.State
	f := x.family()
	deltas := chat.Unfold(r, wordBytes)
	each := (len(deltas) + maxPieces - 2) / (maxPieces - 1)
	for len(deltas) > 0 {
		n := min(each, len(deltas))
		var piece []byte
		for i := range deltas[:n] {
			piece = f.Stream(piece, &state, &deltas[i], m)
		}
		if len(piece) > 0 {
			pieces = append(pieces, piece)
		}
		deltas = deltas[n:]
	}
	return append(pieces, f.End(nil, &state, r, m))
}

func (x *exchange) abandonMock() {
	x.s.disconnected = true
	x.end()
}

// streamMock sends the mock's response in pieces, as a provider would. The pieces wait in host buffers. The response
// is free and can no longer fail, so the exchange settles and caches it first.
func (x *exchange) streamMock(a *answer, whole *chat.Response) {
	m := x.meta(a)
	r := response{answer: a, outcome: keymeter.Served, entry: storedDeltas(whole)}
	x.restoreResponse(whole)
	pieces := x.streamPieces(whole, &m)
	for i, piece := range pieces {
		x.keep(bufferPieces+uint64(i), piece)
	}
	x.s.pieces.count = uint64(len(pieces))
	if x.s.idempotency != "" {
		r.repeat = x.encodeAnswer(whole, &m)
	}
	x.served(&r)
}
