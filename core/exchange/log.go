package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/exchange/bill"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/money"
)

// log writes the exchange's only log line, which contains IDs, names from the catalog, and numbers. It contains no
// prompts, response text or secrets. For development keys, it has additional fields.
func (x *exchange) log(status uint64, code string) {
	s := &x.s
	l := jsontext.Builder{B: append(make([]byte, 0, 512), '{')}
	l.StringMember("level", level(status))
	l.UintMember("timeMs", x.now)
	l.StringMember("requestId", s.requestID)
	l.StringMember("route", x.endpoint.label())
	l.UintMember("status", status)
	l.StringMember("code", code)
	l.UintMember("durationMs", x.since(s.startMs))
	if s.haveRecord {
		l.StringMember("projectId", s.record.ProjectID)
		l.StringMember("keyId", s.record.KeyID)
	}
	if s.request.model != "" && s.rejected == fault.None {
		x.logCompletion(&l, status)
	}
	x.do(abi.Action{Kind: abi.ActionLog, Code: severity(status), Data: append(l.B, '}')})
}

func severity(status uint64) uint64 {
	if status >= 500 {
		return 1
	}
	return 0
}

func level(status uint64) string {
	if status >= 500 {
		return "error"
	}
	return "info"
}

func (x *exchange) logCompletion(l *jsontext.Builder, status uint64) {
	s := &x.s
	if status == 200 {
		l.StringMember("provider", s.hit.provider)
		l.StringMember("model", s.hit.model)
		l.StringMember("cache", x.cacheState(s.hit.found))
	}
	l.UintMember("promptTokens", s.spent.Usage.Input)
	l.UintMember("completionTokens", s.spent.Usage.Output)
	l.Member("costCents", string(money.Append(nil, s.spent.CostPico, money.Cent)))
	if cached := bill.PromptCacheOf(&s.spent.Usage, s.spent.SavedPico); cached.Used() {
		l.UintMember("promptCacheReadTokens", cached.Read)
		l.UintMember("promptCacheWriteTokens", cached.Written)
		l.Member("promptCacheSavedCents", string(money.Append(nil, cached.SavedPico, money.Cent)))
	}
	if over := s.spent.CostPico - s.admission.reserved; s.admission.admitted && over > 0 {
		l.Member("overrunCents", string(money.Append(nil, over, money.Cent)))
	}
	l.UintMember("attempts", s.attempts)
	l.StringMember("attemptResults", s.attemptResults)
	if s.request.stream {
		l.Member("stream", "true")
	}
	if s.spent.Estimated {
		l.Member("estimated", "true")
	}
	l.StringMember("unknownUsage", s.spent.Usage.Bought().Unknown)
	if x.testMode() {
		l.StringMember("requested", s.request.model)
		l.UintMember("maxTokens", s.request.MaxTokens)
		l.UintMember("estimatedPromptTokens", s.request.PromptTokens)
		l.UintMember("admissionRounds", s.admission.rounds)
		l.UintMember("admitMs", s.times.admit)
		l.UintMember("upstreamMs", s.times.upstream)
	}
}
