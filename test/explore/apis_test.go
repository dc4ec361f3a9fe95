package explore_test

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

// compacted is a compaction, whose last item is encrypted.
var compacted = choice{name: "200", clean: true, event: abi.Event{Kind: abi.EventResponse, Code: 200, Headers: jsonType,
	Data: []byte(strings.Replace(responsesWhole, `"type":"message"`, `"type":"compaction","encrypted_content":"AAAA"},{"type":"message"`, 1))}}

// at requires for each model that its URL ends with a given string. Its arguments are: model, end, model, end, …
func at(pairs ...string) func(*scenario) {
	return func(s *scenario) {
		s.calledAt = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			s.calledAt[pairs[i]] = pairs[i+1]
			s.allowed = append(s.allowed, pairs[i])
		}
	}
}

// severalAPIs returns requests for models that their provider serves on two APIs. It also returns requests on
// endpoints that only some providers have.
func severalAPIs() []*scenario {
	const chat, responses, compact, tokens = "/v1/chat/completions", "/v1/responses", "/v1/responses/compact", "/v1/responses/input_tokens"
	none := allow()
	prompt := `"input":"` + promptMark + `"`
	lost := []choice{admitted, rateLimited, stale(nil), failed, overloaded, inactive}
	return []*scenario{
		post("two APIs, on chat completions", chat, bodyFor("pair", messages), alphabet{"fetch": {openaiOK, down, notJSON, fault(abi.FaultHead)}}, none, at("both", chat, "either", chat), in(patient)),
		post("two APIs, on responses", responses, bodyFor("pair", input), alphabet{"fetch": {responsesOK, down, notJSON, fault(abi.FaultHead)}}, none, at("both", responses, "either", responses), in(patient)),
		post("two APIs, on messages", "/v1/messages", bodyFor("pair", messages), alphabet{"fetch": {openaiOK, down}}, none, at("both", chat, "either", chat)),
		post("two APIs, streamed", responses, streaming(bodyFor("pair", input)), alphabet{"stream": {streamed(responsesStream), streamed(responsesError), down}}, none, at("both", responses, "either", responses)),
		post("fallback from one API to another and back", responses, bodyFor("across", input), alphabet{"fetch": {responsesOK, down}, "fetch only": {openaiOK, down, notJSON}}, none,
			at("both", responses, "only", chat, "either", responses)),
		post("fallback of a stream from one API to another", responses, streaming(bodyFor("across", input)), alphabet{"stream": {streamed(responsesStream), down}, "stream only": {streamed(openaiStream), down}}, none,
			at("both", responses, "only", chat, "either", responses)),
		post("open circuit of a model with two APIs", responses, bodyFor("pair", input), alphabet{"fetch": {responsesOK, down}}, none, at("both", responses, "either", responses), openCircuit("both", startMs)),

		post("compaction", compact, bodyFor("both", prompt), alphabet{
			"admit": lost, "fetch": append([]choice{compacted, notJSON, busy, down, rejected, unauthorized}, everyFault...),
		}, none, at("both", compact)),
		post("compaction and the budget", compact, bodyFor("both", prompt), alphabet{
			"admit": {admitted, short.only(2)}, "grant": {granted, grantedLast, noMore, recallOne, failed}, "flush": {someUsage, noUsage, failed}, "fetch": {compacted, down},
		}, none, at("both", compact)),
		post("compaction with a fallback", compact, bodyFor("pair", prompt), alphabet{"fetch": {compacted, notJSON, down, busy, fault(abi.FaultHead)}}, none, at("both", compact, "either", compact), in(patient)),
		post("compaction with an idempotency key", compact, bodyFor("both", prompt), alphabet{
			"admit": {admitted, running, mismatch, replayed("{}")}, "fetch": {compacted, down}, "settle": {done, failed},
		}, none, at("both", compact), withHeaders(header("idempotency-key", "i1"))),
		post("compaction past a provider without it", compact, bodyFor("across", prompt), alphabet{"fetch": {compacted, down}}, none, at("both", compact, "either", compact)),
		post("compaction without a provider", compact, bodyFor("sage", prompt), alphabet{"admit": {admitted, rateLimited, failed}}, none),
		post("compaction whose key has the cache", compact, bodyFor("both", prompt), alphabet{"key": {record(cached)}, "fetch": {compacted, down}}, none, at("both", compact)),
		post("compaction in test mode", compact, bodyFor("both", prompt), alphabet{"key": {record(testing5)}}, none, withKey(developmentKey), mayName("both")),

		post("input tokens", tokens, bodyFor("both", prompt), alphabet{
			"admit": lost, "fetch": append([]choice{counted, notJSON, lateCount, busy, down, rejected}, everyFault...),
		}, none, at("both", tokens)),
		post("input tokens without a provider", tokens, bodyFor("sage", prompt), alphabet{"admit": {admitted, rateLimited}}, none),
	}
}
