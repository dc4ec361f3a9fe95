package explore_test

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
)

// allAtOnce is a stream in one chunk.
var allAtOnce = &script{name: "all at once", noEnd: true, pieces: []piece{last("all", openaiStart+strings.Repeat(openaiText, 6)+openaiFinish+openaiEnd)}}

// arrows returns short scenarios for rare steps from one phase to another.
func arrows() []*scenario {
	cold := func(name, path, body string, change func(*doc.Record), more alphabet, changes ...func(*scenario)) *scenario {
		return post(name, path, body, alphabet{"key": {absent}, "admit check": {stale(change)}}.with(more), append([]func(*scenario){staysConnected}, changes...)...)
	}
	lentPost := func(name string, more alphabet, changes ...func(*scenario)) *scenario {
		return post(name, "/v1/chat/completions", bodyFor("only", messages), alphabet{"fetch": {openaiOK}, "report-lease": {renewed}}.with(more),
			append([]func(*scenario){staysConnected, entryOf(leasedEntry(lent, false))}, changes...)...)
	}
	echoing := streaming(bodyFor("echoing", messages))
	governedPolicy := policyOf(currentPolicy, settings(redacts))
	return []*scenario{
		cold("unknown record of a project that caches", "/api/ai/complete", nativeBody, cached, alphabet{"fetch": {openaiOK}}),
		cold("unknown record of a project with a policy", "/api/ai/complete", nativeTo("balanced"), withPolicy(currentPolicy), alphabet{
			"policy": {ok("the policy", policyOf(currentPolicy, spareModelFirst))}, "fetch": {openaiOK},
		}, allow("spare", "third", "only")),
		cold("unknown record of a validation", "/api/governor/validate", `{"text":"`+promptMark+`"}`, plan, nil),
		lentPost("lent request with a policy", alphabet{
			"key": {record(both(lendingPlan, withPolicy(currentPolicy)))}, "policy": {ok("the policy", policyOf(currentPolicy, nil)), absent},
			"key memory": inMemory(both(lendingPlan, withPolicy(currentPolicy)), policyOf(currentPolicy, nil)),
			"ask-policy": {ok("the policy", policyOf(currentPolicy, nil))},
		}),
		lentPost("lent request with checked texts", alphabet{
			"key": {record(both(lendingPlan, withPolicy(currentPolicy)))}, "policy": {ok("the policy", governedPolicy), absent}, "ask-policy": {ok("the policy", governedPolicy)},
			"key memory": inMemory(both(lendingPlan, withPolicy(currentPolicy)), governedPolicy),
		}),
		lentPost("lent request on a host without shared stores", alphabet{"key": {record(both(lendingPlan, cached))}}, func(s *scenario) { s.unshared = true }),
		post("fallback to the mock", "/v1/chat/completions", bodyFor("echoing", messages), alphabet{"fetch": {openaiOK, down, fault(abi.FaultHead)}}, staysConnected, mayName("parrot")),
		post("retries at another API family", "/v1/messages", bodyFor("only", messages), alphabet{"fetch": {openaiOK, down}}, staysConnected, in(patient)),
		post("end of a stream that the reservation does not cover", "/v1/chat/completions", streaming(bodyFor("only", messages)), alphabet{
			"key": {record(cached)}, "admit": {verdict("admitted with a little", keymeter.AdmitReply{Verdict: keymeter.Admitted, ReservedPico: 12_000_000})}, "stream": {streamed(allAtOnce)}, "extend": {admitted},
		}, staysConnected),
		post("stream of another type, and a fallback", "/v1/chat/completions", echoing, alphabet{"stream": {streamed(openaiStream), {name: "a stream of another type", event: abi.Event{Kind: abi.EventHead, Code: 200, Headers: jsonType}, script: openaiStream}}}, staysConnected, mayName("parrot")),
		post("stream too long for the cache, with an idempotency key", "/v1/chat/completions", streaming(bodyFor("only", messages)), alphabet{
			"admit": {verdict("admitted with all of it", keymeter.AdmitReply{Verdict: keymeter.Admitted, ReservedPico: 1 << 60})}, "stream": {streamed(longStream(24))},
		}, staysConnected, withHeaders(header("idempotency-key", "i1"))),
	}
}
