package exchange

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
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
	x.do(abi.Action{Kind: abi.ActionLog, Code: x.logCode(status), Data: append(l.B, '}')})
}

// logCode returns the Code of the exchange's ActionLog. With LogErrors, only failed requests and requests with a
// possibly wrong cost are written. A refusal is the caller's error.
func (x *exchange) logCode(status uint64) uint64 {
	failed := status >= 500
	switch {
	case x.config.Log == config.LogOff, x.config.Log == config.LogErrors && !failed && !x.hasOddCost():
		return abi.LogNone
	case failed:
		return abi.LogError
	}
	return abi.LogInfo
}

// hasOddCost reports whether the provider's usage has unknown fields, or the cost exceeds the reservation.
func (x *exchange) hasOddCost() bool {
	return x.overrunPico() > 0 || x.s.spent.Usage.Bought().Unknown != ""
}

// overrunPico returns the part of the cost that was not reserved.
func (x *exchange) overrunPico() money.Pico {
	s := &x.s
	if !s.admission.admitted || s.spent.CostPico <= s.admission.reserved {
		return 0
	}
	return s.spent.CostPico - s.admission.reserved
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
	if over := x.overrunPico(); over > 0 {
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
