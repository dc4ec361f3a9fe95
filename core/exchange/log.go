package exchange

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/money"
)

// log writes the exchange's only log line: IDs, names from the catalog, and numbers. It contains no prompt, no
// response text and no secret. Development keys get additional fields.
func (x *exchange) log(status uint64, code string) {
	s := &x.s
	l := line{append(make([]byte, 0, 512), '{')}
	l.text("level", level(status))
	l.number("timeMs", x.now)
	l.text("requestId", s.requestID)
	l.text("route", s.endpoint.row().path)
	l.number("status", status)
	l.text("code", code)
	l.number("durationMs", x.since(s.startMs))
	if s.haveRecord {
		l.text("projectId", s.record.ProjectID)
		l.text("keyId", s.record.KeyID)
	}
	if s.request.model != "" && s.rejected == "" {
		x.logCompletion(&l, status)
	}
	x.do(abi.Action{Kind: abi.ActionLog, Code: severity(status), Data: append(l.b, '}')})
}

// severity is the Code of the ActionLog.
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

func (x *exchange) logCompletion(l *line, status uint64) {
	s := &x.s
	if status == 200 {
		l.text("provider", s.hit.provider)
		l.text("model", s.hit.model)
		l.text("cache", x.cacheState(s.hit.found))
	}
	l.number("promptTokens", s.spent.usage.Input)
	l.number("completionTokens", s.spent.usage.Output)
	l.raw("costCents", money.Append(nil, s.spent.costPico, money.Cent))
	if over := s.spent.costPico - s.admission.reserved; s.admission.admitted && over > 0 {
		l.raw("overrunCents", money.Append(nil, over, money.Cent))
	}
	l.number("attempts", s.attempts)
	l.text("attemptResults", s.attemptResults)
	if s.request.stream {
		l.raw("stream", []byte("true"))
	}
	if s.spent.estimated {
		l.raw("estimated", []byte("true"))
	}
	l.text("unknownUsage", s.spent.usage.Bought().Unknown)
	if x.testMode() {
		l.text("requested", s.request.model)
		l.number("maxTokens", s.request.maxTokens)
		l.number("estimatedPromptTokens", s.request.promptTokens)
		l.number("admissionRounds", s.admission.rounds)
		l.number("admitMs", s.times.admit)
		l.number("upstreamMs", s.times.upstream)
	}
}

// line is a JSON object in progress.
type line struct{ b []byte }

func (l *line) name(name string) {
	if len(l.b) > 1 {
		l.b = append(l.b, ',')
	}
	l.b = append(append(append(l.b, '"'), name...), `":`...)
}

// text adds a string field unless the value is empty.
func (l *line) text(name, value string) {
	if value != "" {
		l.name(name)
		l.b = jsontext.AppendString(l.b, value)
	}
}

func (l *line) number(name string, value uint64) {
	l.name(name)
	l.b = strconv.AppendUint(l.b, value, 10)
}

func (l *line) raw(name string, value []byte) {
	l.name(name)
	l.b = append(l.b, value...)
}
