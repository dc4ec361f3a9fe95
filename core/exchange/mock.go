package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/provider/mock"
)

// mockTarget advances to the first target that the key may use. In test mode, the mock responds under that
// target's name.
func (x *exchange) mockTarget() {
	s := &x.s
	for int(s.orderIndex) < len(s.order)-1 && !x.current().Allowed {
		s.orderIndex++
	}
}

// startMock gets the body for the built-in mock, which responds instead of a provider.
func (x *exchange) startMock() {
	if !x.testMode() {
		x.s.lastTarget = uint64(x.currentIndex()) + 1
	}
	x.enter(phaseMock)
	x.await(abi.Action{Kind: abi.ActionSupply, ID: idBuffer, Buffer: x.requestBuffer()})
}

// onMockBody responds to the request with the mock.
func (x *exchange) onMockBody() {
	s := &x.s
	if s.endpoint == endpointEmbeddings {
		x.mockEmbeddings(x.event.Data)
		return
	}
	request := x.reparse(x.event.Data)
	r := mock.Answer(&request)
	u := chat.Usage{Input: s.request.promptTokens, Output: x.estimate(responseTokens(&r)).Output, Reported: true}
	if s.request.maxTokens > 0 {
		u.Output = min(u.Output, s.request.maxTokens)
	}
	if _, ok := x.checkAnswer(&r, nil); !ok {
		return
	}
	x.charge(&u, 0)
	a := x.answer(complete(&r))
	a.provider = mockProvider
	if x.streams() && (s.stream.opened || x.config.Routing.MockPauseMs > 0) {
		x.streamMock(a, &r)
		return
	}
	x.respondAnswer(a, &r, nil)
}

const (
	// maxPieces is the maximum number of pieces in a mock's stream. With the catalog's default pause, the stream
	// takes less than a second.
	maxPieces = 32
	// wordBytes is the approximate text length of one mock event.
	wordBytes = 6
)

// streamMock sends the mock's response in pieces, as a provider would. The pieces wait in host buffers. The
// exchange settles and caches the response first: it is free and can no longer fail.
func (x *exchange) streamMock(a *answer, r *chat.Response) {
	s := &x.s
	m := x.meta(a)
	stored := storedDeltas(r)
	x.restoreResponse(r)
	pieces := x.streamPieces(r, &m)
	for i, piece := range pieces {
		x.do(abi.Action{Kind: abi.ActionKeep, Buffer: bufferPieces + uint64(i), Data: piece})
	}
	s.pieces.count = uint64(len(pieces))
	if s.idempotency == "" {
		x.openMockStream(a)
	}
	settle := x.settlement(keymeter.Served, a.model, 200)
	s.hit.provider, s.hit.model = a.provider, a.model
	if s.idempotency == "" {
		x.settle(&settle)
	} else {
		x.keepReplay(&settle, 200, x.answerHeaders(a), x.encodeAnswer(r, &m))
		x.keepAnswer(&settle, 0)
	}
	x.store(a, false, stored)
	x.landAnswer(a, false, stored)
	if s.idempotency == "" {
		x.startMockStream()
	}
}

// openMockStream sends the head of the stream. A keep-alive comment during an earlier target's silence may have sent it.
func (x *exchange) openMockStream(a *answer) {
	s := &x.s
	if s.stream.opened {
		return
	}
	s.responded, s.stream.opened = true, true
	m := x.meta(a)
	trapEvent := x.family().StreamError(nil, &api.State{Started: true}, x.trapError(), &m)
	x.do(abi.Action{Kind: abi.ActionOpen, Code: 200, Headers: x.allHeaders(x.answerHeaders(a)), Data: trapEvent})
}

func (x *exchange) startMockStream() {
	x.log(200, "")
	x.sendMockPiece()
}

// streamPieces encodes all events of a stream in at most maxPieces pieces.
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

// sendMockPiece sends the next piece and starts the pause after it.
func (x *exchange) sendMockPiece() {
	p := &x.s.pieces
	for pause := x.config.Routing.MockPauseMs; p.next < p.count; {
		x.do(abi.Action{Kind: abi.ActionSend, Body: []abi.Part{{Buffer: bufferPieces + p.next}}})
		if p.next++; p.next < p.count && pause > 0 {
			x.enter(phasePacing)
			x.await(abi.Action{Kind: abi.ActionWait, ID: idTimer, KeepMs: pause})
			return
		}
	}
	x.do(abi.Action{Kind: abi.ActionClose})
	x.end()
}

// abandonMock ends a mock's stream after a disconnect.
func (x *exchange) abandonMock() {
	x.s.disconnected = true
	x.end()
}
