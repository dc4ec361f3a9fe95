package telemetry

import (
	"bytes"
	"strconv"

	"github.com/postern-ai/postern/core/money"
)

// line contains the parts of an exchange's log line (core/exchange/log.go) that metrics and traces use. It shares
// memory with the log line.
type line struct {
	requestID, route, code, project, provider, model, cache, results, unknown []byte
	status, input, output, cacheRead, cacheWrite                              uint64
	costPico, overrunPico, cacheSavedPico                                     money.Pico
	stream, estimated                                                         bool
}

// readLine reads a log line, which is a flat JSON object. It stops at anything that it does not understand.
func readLine(text []byte) (l line) {
	rest, ok := bytes.CutPrefix(text, []byte("{"))
	for ok {
		var name, value []byte
		if name, value, rest, ok = member(rest); ok {
			l.set(string(name), value)
		}
	}
	return l
}

func (l *line) set(name string, value []byte) {
	switch name {
	case "requestId":
		l.requestID = value
	case "route":
		l.route = value
	case "code":
		l.code = value
	case "projectId":
		l.project = value
	case "provider":
		l.provider = value
	case "model":
		l.model = value
	case "cache":
		l.cache = value
	case "unknownUsage":
		l.unknown = value
	case "attemptResults":
		l.results = value
	case "status":
		l.status = number(value)
	case "promptTokens":
		l.input = number(value)
	case "completionTokens":
		l.output = number(value)
	case "costCents":
		l.costPico, _ = money.Parse(string(value), money.Cent)
	case "overrunCents":
		l.overrunPico, _ = money.Parse(string(value), money.Cent)
	case "stream":
		l.stream = string(value) == "true"
	case "estimated":
		l.estimated = string(value) == "true"
	default:
		l.setPromptCache(name, value)
	}
}

func (l *line) setPromptCache(name string, value []byte) {
	switch name {
	case "promptCacheReadTokens":
		l.cacheRead = number(value)
	case "promptCacheWriteTokens":
		l.cacheWrite = number(value)
	case "promptCacheSavedCents":
		l.cacheSavedPico = signedCents(value)
	}
}

// member splits off the first field of an object's text. If the value is a string, it is returned without quotes, but
// with its escapes.
func member(text []byte) (name, value, rest []byte, ok bool) {
	if name, rest, ok = quoted(bytes.TrimPrefix(text, []byte(","))); !ok {
		return nil, nil, nil, false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(":")); !ok || len(rest) == 0 {
		return nil, nil, nil, false
	}
	if rest[0] == '"' {
		value, rest, ok = quoted(rest)
		return name, value, rest, ok
	}
	end := bytes.IndexAny(rest, ",}")
	if end <= 0 || rest[0] == '{' || rest[0] == '[' {
		return nil, nil, nil, false
	}
	return name, rest[:end], rest[end:], true
}

// quoted splits off a string from a text.
func quoted(text []byte) (value, rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return nil, nil, false
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[1:i], text[i+1:], true
		}
	}
	return nil, nil, false
}

// signedCents returns an amount of cents that may be negative.
func signedCents(text []byte) money.Pico {
	rest, negative := bytes.CutPrefix(text, []byte("-"))
	amount, _ := money.Parse(string(rest), money.Cent)
	if negative {
		return -amount
	}
	return amount
}

// number returns an unsigned integer, or 0 if the text is not one.
func number(text []byte) uint64 {
	n, _ := strconv.ParseUint(string(text), 10, 63)
	return n
}

// result is an entry in attemptResults, such as "openai/gpt-4.1=503".
type result struct{ target, outcome []byte }

// nextResult splits off the first entry.
func nextResult(results []byte) (r result, rest []byte) {
	entry, rest, _ := bytes.Cut(results, []byte(", "))
	if at := bytes.LastIndexByte(entry, '='); at >= 0 {
		r = result{entry[:at], entry[at+1:]}
	}
	return r, rest
}
