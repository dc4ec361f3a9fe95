package exchange

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/exchange/reply"
	"github.com/postern-ai/postern/core/header"
	"github.com/postern-ai/postern/core/money"
)

func (x *exchange) respond(status uint64, headers []abi.Header, body []abi.Part) {
	s := &x.s
	if s.responded {
		return
	}
	s.responded = true
	x.do(abi.Action{Kind: abi.ActionRespond, Code: status, Headers: x.allHeaders(headers), Body: body})
}

func (x *exchange) allHeaders(headers []abi.Header) []abi.Header {
	s := &x.s
	timing := reply.Timing{
		Total: x.since(s.startMs), Admit: s.times.admit, Upstream: s.times.upstream, Called: s.admission.called, Fetched: s.attempts > 0,
	}
	all := append(make([]abi.Header, 0, len(headers)+10), headers...)
	all = append(all,
		abi.Header{Name: "x-request-id", Value: s.requestID},
		abi.Header{Name: "cache-control", Value: "private, no-store"},
		abi.Header{Name: "server-timing", Value: timing.String()})
	if s.admission.admitted {
		all = x.governorHeaders(all)
	}
	if s.dialect == chat.Anthropic {
		all = append(all, abi.Header{Name: "request-id", Value: s.requestID}) // read by Anthropic's SDKs
	}
	return append(all, reply.Limits(s.admission.windows)...)
}

func (x *exchange) answerHeaders(a *answer) []abi.Header {
	s := &x.s
	headers := []abi.Header{
		{Name: "content-type", Value: contentType(s.request.stream)},
		{Name: header.Provider, Value: a.provider},
		{Name: header.Model, Value: a.model},
		{Name: header.Cache, Value: x.cacheState(a.cached)},
		{Name: header.PriceVersion, Value: x.config.PriceVersion},
		{Name: header.Attempts, Value: x.attemptsHeader()},
	}
	if !s.request.stream || a.cached {
		// A stream's cost is not known until it ends.
		headers = append(headers, abi.Header{Name: header.CostCents, Value: string(money.Append(nil, a.costPico, money.Cent))})
	}
	if s.imposedMaxTokens > 0 && !a.cached {
		headers = append(headers, abi.Header{Name: header.MaxTokens, Value: strconv.FormatUint(s.imposedMaxTokens, 10)})
	}
	headers = x.droppedHeader(headers)
	if t := x.target(a.model); t != nil {
		headers = reply.Registry(headers, &t.Registration)
	}
	return headers
}

// droppedHeader adds the header with the parameters that the provider did not get.
func (x *exchange) droppedHeader(headers []abi.Header) []abi.Header {
	dropped := reply.Names(x.s.request.unknown, x.s.droppedHeaders, x.s.dropped)
	if dropped != "" {
		headers = append(headers, abi.Header{Name: header.DroppedParams, Value: dropped})
	}
	return headers
}

func contentType(stream bool) string {
	if stream {
		return "text/event-stream; charset=utf-8"
	}
	return "application/json"
}

// cacheState returns "hit" or "miss". If there was no lookup, it returns "bypass".
func (x *exchange) cacheState(cached bool) string {
	switch {
	case cached:
		return "hit"
	case x.cacheReadable():
		return "miss"
	}
	return "bypass"
}

// noteAttempt appends an attempt's target and outcome to the attempt results.
func (x *exchange) noteAttempt(result string) {
	s := &x.s
	model := x.model()
	entry := model.Provider.Name + "/" + model.Name + "=" + result
	if s.attemptResults != "" {
		entry = ", " + entry
	}
	if len(s.attemptResults)+len(entry) <= maxAttemptResults {
		s.attemptResults += entry
		x.noteTime()
	}
}

const maxAttemptResults = 400

// attemptsHeader returns the number of attempts and their outcomes: "2; openai/gpt-4.1=503,
// gemini/gemini-3-flash=200".
func (x *exchange) attemptsHeader() string {
	n := strconv.FormatUint(x.s.attempts, 10)
	if x.s.attemptResults == "" {
		return n
	}
	return n + "; " + x.s.attemptResults
}

func jsonHeaders() []abi.Header {
	return []abi.Header{{Name: "content-type", Value: "application/json"}}
}
