package exchange

import (
	"strconv"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/money"
)

// respond sends a response, with the headers that every response has.
func (x *exchange) respond(status uint64, headers []abi.Header, body []abi.Part) {
	s := &x.s
	if s.responded {
		return
	}
	s.responded = true
	x.do(abi.Action{Kind: abi.ActionRespond, Code: status, Headers: x.allHeaders(headers), Body: body})
}

// allHeaders adds the headers that every response has.
func (x *exchange) allHeaders(headers []abi.Header) []abi.Header {
	s := &x.s
	all := append(make([]abi.Header, 0, len(headers)+10), headers...)
	all = append(all,
		abi.Header{Name: "x-request-id", Value: s.requestID},
		abi.Header{Name: "cache-control", Value: "private, no-store"},
		abi.Header{Name: "server-timing", Value: x.serverTiming()})
	if s.admission.admitted {
		all = x.governorHeaders(all)
	}
	if s.dialect == chat.Anthropic {
		all = append(all, abi.Header{Name: "request-id", Value: s.requestID}) // Anthropic's SDKs read this one
	}
	return append(all, limitHeaders(s.admission.windows)...)
}

func (x *exchange) answerHeaders(a *answer) []abi.Header {
	s := &x.s
	headers := []abi.Header{
		{Name: "content-type", Value: x.contentType()},
		{Name: "x-postern-provider", Value: a.provider},
		{Name: "x-postern-model", Value: a.model},
		{Name: "x-postern-cache", Value: x.cacheState(a.cached)},
		{Name: "x-postern-price-version", Value: x.config.PriceVersion},
		{Name: "x-postern-attempts", Value: x.attemptsHeader()},
	}
	if !s.request.stream || a.cached {
		// A stream's cost is not known until it ends.
		headers = append(headers, abi.Header{Name: "x-postern-cost-cents", Value: string(money.Append(nil, a.costPico, money.Cent))})
	}
	if s.imposedMaxTokens > 0 && !a.cached {
		headers = append(headers, abi.Header{Name: "x-postern-max-tokens", Value: strconv.FormatUint(s.imposedMaxTokens, 10)})
	}
	return x.registryHeaders(x.droppedHeader(headers), a.model)
}

// droppedHeader adds the names of the parameters that the provider did not get.
func (x *exchange) droppedHeader(headers []abi.Header) []abi.Header {
	s, dropped := &x.s, ""
	for _, names := range []string{s.request.unknown, s.droppedBetas, s.dropped} {
		if dropped != "" && names != "" {
			dropped += ","
		}
		dropped += names
	}
	if dropped != "" {
		headers = append(headers, abi.Header{Name: "x-postern-dropped-params", Value: dropped})
	}
	return headers
}

func (x *exchange) contentType() string {
	if x.s.request.stream {
		return "text/event-stream; charset=utf-8"
	}
	return "application/json"
}

// cacheState is hit, miss, or bypass (no lookup).
func (x *exchange) cacheState(cached bool) string {
	switch {
	case cached:
		return "hit"
	case x.cacheReadable():
		return "miss"
	}
	return "bypass"
}

// serverTiming is the time spent by phase, in milliseconds (W3C Server Timing).
func (x *exchange) serverTiming() string {
	s := &x.s
	b := append([]byte(nil), "total;dur="...)
	b = strconv.AppendUint(b, x.since(s.startMs), 10)
	if s.admission.called {
		b = append(b, ", admit;dur="...)
		b = strconv.AppendUint(b, s.times.admit, 10)
	}
	if s.attempts > 0 {
		b = append(b, ", upstream;dur="...)
		b = strconv.AppendUint(b, s.times.upstream, 10)
	}
	return string(b)
}

// limitHeaders report the key's rate limits: RateLimit and RateLimit-Policy for all windows (IETF draft "RateLimit
// header fields for HTTP"), X-RateLimit-*-Requests for the request window with the least remaining, and
// X-RateLimit-*-Tokens for the token window, if there is one.
func limitHeaders(windows []keymeter.Window) []abi.Header {
	if len(windows) == 0 {
		return nil
	}
	least := keymeter.Window{}
	var headers []abi.Header
	var limits, policies []byte
	for i, w := range windows {
		switch {
		case w.Tokens:
			headers = append(headers, windowHeaders(w, "tokens")...)
		case least.Limit == 0 || w.Remaining < least.Remaining:
			least = w
		}
		if i > 0 {
			limits, policies = append(limits, ", "...), append(policies, ", "...)
		}
		name := `"day"`
		switch {
		case w.Tokens:
			name = `"tokens"`
		case w.WindowMs == calendar.SecondMs:
			name = `"second"`
		}
		limits = appendField(appendField(append(limits, name...), ";r=", w.Remaining), ";t=", seconds(w.ResetMs))
		policies = appendField(appendField(append(policies, name...), ";q=", w.Limit), ";w=", w.WindowMs/1000)
	}
	if least.Limit > 0 {
		headers = append(headers, windowHeaders(least, "requests")...)
	}
	return append(headers, abi.Header{Name: "ratelimit", Value: string(limits)}, abi.Header{Name: "ratelimit-policy", Value: string(policies)})
}

func windowHeaders(w keymeter.Window, unit string) []abi.Header {
	return []abi.Header{
		{Name: "x-ratelimit-limit-" + unit, Value: strconv.FormatUint(w.Limit, 10)},
		{Name: "x-ratelimit-remaining-" + unit, Value: strconv.FormatUint(w.Remaining, 10)},
		{Name: "x-ratelimit-reset-" + unit, Value: strconv.FormatUint(seconds(w.ResetMs), 10)},
	}
}

func appendField(b []byte, name string, v uint64) []byte {
	return strconv.AppendUint(append(b, name...), v, 10)
}

// seconds converts milliseconds to seconds, rounded up.
func seconds(ms uint64) uint64 { return (ms + 999) / 1000 }
