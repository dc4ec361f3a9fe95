package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
)

func (x *exchange) meta(a *answer) api.Meta {
	return api.Meta{
		RequestID: x.s.requestID, Model: a.model, Provider: a.provider, CreatedMs: x.s.startMs, Cached: a.cached,
		CostPico: a.costPico, Usage: a.usage, IncludeUsage: x.s.request.includeUsage, Governor: x.governorJSON(a.cached), Aliases: x.s.request.aliases,
		Attempts: x.s.attempts, LatencyMs: x.since(x.s.startMs),
	}
}

func (x *exchange) streamMeta() api.Meta {
	model := x.model()
	a := answer{provider: model.Provider.Name, model: model.Name, usage: x.s.stream.usage}
	if hit := &x.s.hit; hit.found {
		a.provider, a.model, a.cached = hit.provider, hit.model, true
	}
	if !a.usage.Reported && a.usage.Input == 0 {
		a.usage.Input = x.s.request.PromptTokens
	}
	return x.meta(&a)
}

// trapError returns the error that the host sends if the instance traps, because no step can then end the stream.
func (x *exchange) trapError() *api.Error { return x.apiError(fault.Internal, refusal{}) }

// encodeAnswer encodes a response in the caller's dialect, as one body or as all events of a stream.
func (x *exchange) encodeAnswer(r *chat.Response, m *api.Meta) []byte {
	f := x.family()
	if !x.s.request.stream {
		return f.Answer(make([]byte, 0, 1024), r, m)
	}
	var state api.State
	out := make([]byte, 0, 4096)
	deltas := chat.Unfold(r, pieceBytes)
	for i := range deltas {
		out = f.Stream(out, &state, &deltas[i], m)
	}
	return f.End(out, &state, r, m)
}

func storedDeltas(r *chat.Response) []byte {
	w := abi.Writer{Buf: make([]byte, 0, 1024)}
	deltas := chat.Unfold(r, maxEntryBytes)
	for i := range deltas {
		chat.AppendDelta(&w, &deltas[i])
	}
	return w.Buf
}

// pieceBytes is the text length per event when a complete response is sent as a stream, in bytes.
const pieceBytes = 32

// answer describes the response of the current target. If complete is set, the model ended the response itself.
func (x *exchange) answer(complete bool) *answer {
	model, spent := x.model(), &x.s.spent
	return &answer{
		provider: model.Provider.Name, model: model.Name, usage: spent.Usage, costPico: spent.CostPico, storable: complete && !spent.Estimated,
	}
}
