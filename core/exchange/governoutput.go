package exchange

import (
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
)

// checkAnswer checks a whole response: raw if it is in the caller's dialect, else r. What it returns, or r, is to be
// stored; restoreAnswer gives what is to be sent. If the response is blocked, it ends the exchange and returns false.
func (x *exchange) checkAnswer(r *chat.Response, raw []byte) ([]byte, bool) {
	g := &x.s.govern
	if !g.on || x.s.endpoint == endpointEmbeddings {
		return raw, true
	}
	var result inspect.Result
	if raw != nil {
		result = x.guard().check.Answer(inspect.AnswerKind(x.s.dialect), raw)
	} else {
		result = x.guard().check.Response(r)
	}
	g.output = verdict{result.Decision, uint64(result.Tally.Risk)}
	g.violations = x.violations(g.violations, &result, governor.Output)
	if result.Decision == governor.Rejected {
		x.refuse(fault.Blocked, x.blocked(result.Findings))
		return nil, false
	}
	if result.Body != nil {
		return result.Body, true
	}
	return raw, true
}

// restoreRaw returns a response in the caller's dialect with the caller's own values in place of their placeholders.
func (x *exchange) restoreRaw(raw []byte) []byte {
	if !x.s.govern.rewritten {
		return raw
	}
	if restored := inspect.Restore(inspect.AnswerKind(x.s.dialect), raw, &x.guard().redactor); restored != nil {
		return restored
	}
	return raw
}

// restoreResponse does the same for a translated response, in place.
func (x *exchange) restoreResponse(r *chat.Response) {
	if x.s.govern.rewritten {
		inspect.RestoreResponse(r, &x.guard().redactor)
	}
}
