package exchange

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/head"
	"github.com/postern-ai/postern/core/api/responses"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/exchange/reply"
)

func (x *exchange) parseCompaction(p *api.Parser, root gjson.Result) {
	parsed := x.readRequest(p, root)
	responses.Compaction(p, root, &parsed)
	x.useParsed(p, &parsed)
}

func (x *exchange) parseInputTokens(p *api.Parser, root gjson.Result) {
	parsed := x.readRequest(p, root)
	responses.Count(p, root, &parsed)
	x.useParsed(p, &parsed)
}

// sendCompaction sends the fields of the caller's body, even if the model does not support all of them. A compaction
// can be sent in no other form.
func (x *exchange) sendCompaction([]byte) {
	x.s.dropped = ""
	f := x.wire()
	r := x.directRequest(f.Dialect)
	x.fetch(f.Direct(x.wireCall(&r), abi.Part{Buffer: bufferMembers}))
}

// readCompaction reads a provider's 200 response. Its last item is encrypted, so only the provider can read that
// item.
func (x *exchange) readCompaction() {
	r, ok := chat.Response{}, false
	if root := x.json(); root.IsObject() && head.IsJSON(x.header("content-type")) {
		r, ok = x.wire().Response(root)
	}
	if !ok {
		x.refuseUnreadable()
		return
	}
	r.Usage = x.billableUsage(r.Usage, uint64(len(x.event.Data)+3)/4, true)
	x.spend(&r.Usage)
	x.answerCompaction(x.answer(true), x.event.Data)
}

func (x *exchange) mockCompaction([]byte) {
	u := chat.Usage{Input: x.s.request.PromptTokens, Output: 1, Reported: true}
	x.chargeNothing(&u)
	a := x.answer(true)
	a.provider = mockProvider
	m := x.meta(a)
	body := responses.AppendCompaction(nil, &m)
	x.keep(bufferUpstream, body)
	x.answerCompaction(a, body)
}

// answerCompaction checks the readable parts of a compaction, and sends it.
func (x *exchange) answerCompaction(a *answer, body []byte) {
	raw, ok := x.checkAnswer(&chat.Response{}, body)
	if !ok {
		return
	}
	if g := &x.s.govern; g.on && !strings.Contains(g.unchecked, "compaction") {
		g.unchecked = reply.Names(g.unchecked, "compaction")
	}
	x.respondAnswer(a, nil, raw)
}
