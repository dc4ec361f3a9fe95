package explore_test

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/route"
)

func header(name, value string) abi.Header { return abi.Header{Name: name, Value: value} }

// post creates a scenario with a request to one model. There are no failures other than the ones in more.
func post(name, path, body string, more alphabet, changes ...func(*scenario)) *scenario {
	s := &scenario{
		name: name, deploy: plain, headers: requestHead("POST", path, callerKey), body: body, alphabet: base.with(more), added: more,
		allowed: []string{"only"}, disconnects: true,
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

func get(name, path, key string, more alphabet, changes ...func(*scenario)) *scenario {
	s := post(name, path, "", more, changes...)
	query := s.headers[3]
	s.headers = append(requestHead("GET", path, key), s.headers[7:]...)
	s.headers[3] = query
	return s
}

func head(name, path, key string, more alphabet, changes ...func(*scenario)) *scenario {
	s := get(name, path, key, more, changes...)
	s.headers[1].Value = "HEAD"
	return s
}

func withClock(s *scenario) { s.clock = true }

func allow(models ...string) func(*scenario) { return func(s *scenario) { s.allowed = models } }

func mayName(models ...string) func(*scenario) { return func(s *scenario) { s.mayName = models } }

func reject(statuses ...uint64) func(*scenario) {
	return func(s *scenario) { s.refused = statuses }
}

func in(d deployment) func(*scenario) { return func(s *scenario) { s.deploy = d } }

func counts(s *scenario) { s.counts = true }

func staysConnected(s *scenario) { s.disconnects = false }

func withHeaders(more ...abi.Header) func(*scenario) {
	return func(s *scenario) { s.headers = append(s.headers, more...) }
}

func withKey(key string) func(*scenario) {
	return func(s *scenario) {
		for i := range s.headers {
			if s.headers[i].Name == "authorization" {
				s.headers[i].Value = "Bearer " + key
			}
		}
	}
}

func withQuery(query string) func(*scenario) {
	return func(s *scenario) { s.headers[3].Value = query }
}

const (
	nativeBody = `{"quality":"cheap",` + nativeRest
	nativeRest = `"messages":[{"role":"user","content":"` + promptMark + `"}],"maxTokens":8}`
	jsonBody   = `{"quality":"cheap","mode":"json",` + nativeRest
	messages   = `"messages":[{"role":"user","content":"` + promptMark + `"}],"max_tokens":4`
	unlimited  = `"messages":[{"role":"user","content":"` + promptMark + `"}]`
	input      = `"input":"` + promptMark + `","max_output_tokens":16`
)

func bodyFor(model, rest string) string { return `{"model":"` + model + `",` + rest + `}` }

func nativeTo(quality string) string { return strings.Replace(nativeBody, "cheap", quality, 1) }

func streaming(body string) string { return strings.TrimSuffix(body, "}") + `,"stream":true}` }

// scenarios returns all scenarios. Each runs twice: on a host whose memory replies immediately, as our hosts do, and
// on a slow host.
func scenarios() (all []*scenario) {
	for _, family := range families() {
		for _, s := range family.scenarios {
			s.family = family.name
			onSlow := *s
			onSlow.name, onSlow.slow = s.name+", slow host", true
			all = append(all, s, &onSlow)
		}
	}
	return all
}

// family is a set of scenarios about one subject.
type family struct {
	name      string
	scenarios []*scenario
}

func families() []family {
	return []family{
		{"heads", requestHeads()},
		{"admissions", admissions()},
		{"responses", wholeResponses()},
		{"caches", caches()},
		{"flights", shared()},
		{"policies", policies()},
		{"streams", streams()},
		{"endpoints", otherEndpoints()},
		{"apis", severalAPIs()},
		{"governor", governed()},
		{"classifier", classified()},
		{"leases", leases()},
		{"trees", trees()},
		{"arrows", arrows()},
	}
}

// requestHeads returns requests whose head is the reason why they are rejected or forwarded.
func requestHeads() []*scenario {
	return []*scenario{
		get("unknown path", "/nothing", callerKey, nil),
		get("wrong method", "/v1/chat/completions", callerKey, nil),
		get("root path", "/", "", nil),
		head("HEAD of health", "/api/health", callerKey, alphabet{"admit": {admitted, inactive}}),
		get("missing key", "/api/health", "", nil, reject(401)),
		get("malformed key", "/api/health", "sk_live_wrong", nil, reject(401)),
		get("forwarded to the control plane", "/api/admin/keys", "", alphabet{"forward": {response("200", 200, ""), fault(abi.FaultConnect)}}, reject(503)),
		get("control plane turned off", "/api/admin/keys", "", nil, in(closedOff)),
		get("forwarded with provider health", "/api/admin/providers", "", alphabet{"forward": {response("404", 404, ""), fault(abi.FaultUndelivered)}}, reject(503)),
	}
}

// admissions returns scenarios about the key, its record and the meter's verdict.
func admissions() []*scenario {
	refusals := []choice{rateLimited, inactive, unknown, concurrencyLimited, overloaded, failed, damaged}
	return []*scenario{
		post("too many unknown keys from one address", "/api/ai/complete", nativeBody, alphabet{"key": {record(nil), absent}, "fetch": {openaiOK}}, reject(429), func(s *scenario) {
			var c route.Circuits
			for range 30 {
				c.Guessed("192.0.2.1", startMs)
			}
			s.shared = c.Encode()
		}),
		post("every rejection by the meter", "/api/ai/complete", nativeBody, alphabet{"admit": append([]choice{admitted}, refusals...), "fetch": {openaiOK}}),
		post("key without a record", "/api/ai/complete", nativeBody, alphabet{
			"key": {record(nil), absent, failed, damaged, ok("negative entry", []byte{0})}, "fetch": {openaiOK},
			"admit check": {stale(nil), unknown, inactive, admitted, failed, damaged}, "admit": {admitted, stale(nil)},
		}),
		post("stale record", "/api/ai/complete", nativeBody, alphabet{"admit": {admitted, stale(nil).only(2), short.only(2), failed}, "grant": {granted, failed}, "fetch": {openaiOK}}),
		post("slice too small", "/api/ai/complete", nativeBody, alphabet{
			"admit": {admitted, admittedLess, short.only(2), rateLimited}, "grant": {granted, grantedLast, noMore, recall, nextPage, failed, damaged},
			"flush": {someUsage, noUsage, failed, damaged}, "absorb": {done, overloaded}, "fetch": {openaiOK},
		}),
		post("slice never large enough", "/api/ai/complete", nativeBody, alphabet{"admit": {short}, "grant": {granted, recallOne, noMore}, "flush": {someUsage, noUsage}}, staysConnected),
		post("record always stale", "/api/ai/complete", nativeBody, alphabet{"admit": {stale(nil), stale(cached)}}, staysConnected),
		post("key without permission", "/v1/embeddings", bodyFor("vectors", `"input":"x"`), alphabet{
			"key":   {record(func(r *doc.Record) { r.Permissions = doc.MayComplete })},
			"admit": {admitted, rateLimited, inactive, stale(nil), failed}, "fetch": {embedded},
		}, allow("vectors")),
		post("refused and counted", "/api/ai/complete", nativeBody, alphabet{"admit": {rateLimited, admitted, failed}, "fetch": {down, fault(abi.FaultHead)}, "tally": {done, failed.only(2)}}, counts),
		post("invalid body", "/api/ai/complete", `{"prompt":5}`, alphabet{
			"body": {ok("whole", nil), code("too large", abi.OutcomeTooLarge), failed}, "admit": {admitted, rateLimited, unknown, stale(nil), failed},
		}),
		post("body is not JSON", "/v1/messages", `{"prompt"`, alphabet{"admit": {admitted, rateLimited}}),
		post("unsupported media type", "/api/ai/complete", nativeBody, alphabet{"admit": {admitted, rateLimited, inactive}}, func(s *scenario) {
			s.headers[6].Value = "text/plain"
		}),
		post("compressed body", "/v1/responses", nativeBody, alphabet{"admit": {admitted, unknown}}, withHeaders(header("content-encoding", "gzip"))),
		post("content-length too large", "/api/ai/complete", nativeBody, alphabet{"admit": {admitted, concurrencyLimited}}, withHeaders(header("content-length", "5000000"))),
		post("unknown model", "/v1/chat/completions", bodyFor("nobody", messages), alphabet{"admit": {admitted, rateLimited}}),
		post("model not allowed for the key", "/v1/chat/completions", bodyFor("only", messages), alphabet{
			"key":   {record(func(r *doc.Record) { r.Models = []string{"spare"} })},
			"admit": {admitted, rateLimited, stale(nil)}, "fetch": {openaiOK},
		}),
		post("invalid body with an idempotency key", "/api/ai/complete", `{"prompt":5}`, alphabet{"admit": {admitted, running, mismatch, outcomeUnknown, unreplayable, replayed(`{"error":"x"}`)}, "settle": {done, failed}},
			withHeaders(header("idempotency-key", "i1"))),
		post("idempotency", "/api/ai/complete", nativeBody, alphabet{
			"admit": {admitted, running, mismatch, outcomeUnknown, unreplayable, replayed("{}"), verdict("a damaged replay", keymeter.AdmitReply{Verdict: keymeter.Replay, Answer: []byte{1}})},
			"fetch": {openaiOK, down, rejected}, "settle": {done, failed, overloaded},
		}, withHeaders(header("idempotency-key", "i1"))),
		post("rerun", "/api/ai/complete", nativeBody, alphabet{"admit": {admitted, short.only(1), running, outcomeUnknown}, "fetch": {openaiOK}},
			withHeaders(header("idempotency-key", "i1"), header("x-postern-idempotency-rerun", "true"))),
		post("invalid rerun", "/api/ai/complete", nativeBody, alphabet{"admit": {admitted}}, withHeaders(header("x-postern-idempotency-rerun", "true"))),
		post("invalid idempotency key", "/api/ai/complete", nativeBody, alphabet{"admit": {admitted}}, withHeaders(header("idempotency-key", "\x01"))),
	}
}

// replayed returns the response of an idempotent request that the meter has stored.
func replayed(body string) choice {
	var w abi.Writer
	w.Uint(200)
	w.Uint(1)
	w.String("content-type")
	w.String("application/json")
	w.String(body)
	return verdict("replay", keymeter.AdmitReply{Verdict: keymeter.Replay, Answer: w.Buf})
}

// wholeResponses returns scenarios of completions without streaming: providers, fallbacks, retries.
func wholeResponses() []*scenario {
	return []*scenario{
		post("every provider response", "/api/ai/complete", nativeBody, alphabet{
			"fetch": append([]choice{openaiOK, notJSON, busy, down, rejected, unauthorized, tooLong, silent, cutOff}, everyFault...),
		}),
		post("fallback", "/api/ai/complete", nativeTo("balanced"), alphabet{"fetch": {openaiOK, busy, down, rejected, unauthorized, tooLong, fault(abi.FaultHead), fault(abi.FaultConnect)}},
			allow("only", "spare")),
		post("two fallbacks with retries", "/v1/chat/completions", bodyFor("frontier", messages), alphabet{"fetch": {openaiOK, busy, down, fault(abi.FaultTotal)}},
			allow("only", "spare", "third"), in(patient)),
		post("fallback to another API family", "/v1/messages", bodyFor("mixed", messages), alphabet{
			"fetch poet": {anthropicOK, down, fault(abi.FaultIdle)}, "fetch only": {openaiOK, down},
		}, allow("poet", "only")),
		post("last target without credentials", "/v1/chat/completions", bodyFor("ragged", messages), alphabet{"fetch": {openaiOK, down, unauthorized, fault(abi.FaultHead)}}),
		post("no target with credentials", "/v1/chat/completions", bodyFor("nowhere", messages), nil, allow(), reject(503)),
		post("retry-after from the provider", "/v1/chat/completions", bodyFor("balanced", messages), alphabet{"fetch": {openaiOK, soon, late, onDate}}, allow("only", "spare"), in(patient)),
		post("invalid usage", "/v1/chat/completions", bodyFor("only", messages), alphabet{"fetch": {openaiOK, negative}}),
		post("open circuit", "/v1/chat/completions", bodyFor("balanced", messages), alphabet{"fetch": {openaiOK, down}}, allow("only", "spare"), openCircuit("only", startMs)),
		post("circuit opens during the request", "/v1/chat/completions", bodyFor("balanced", messages), alphabet{"fetch": {openaiOK, down, busy}}, allow("only", "spare"), in(patient), func(s *scenario) {
			other := &scenario{deploy: s.deploy}
			openCircuit("only", startMs)(other)
			s.meanwhile = other.shared
		}),
		post("all circuits open", "/v1/chat/completions", bodyFor("balanced", messages), alphabet{"fetch": {openaiOK, down}}, allow("only", "spare"),
			openCircuit("only", startMs), openCircuit("spare", startMs)),
		post("circuit after its cool-down", "/v1/chat/completions", bodyFor("balanced", messages), alphabet{"fetch": {openaiOK, down}}, allow("only", "spare"), openCircuit("only", startMs-30_000)),
		post("circuits open after failures", "/v1/chat/completions", bodyFor("balanced", messages), alphabet{"fetch": {openaiOK, down, unauthorized}}, allow("only", "spare"), in(sensitive)),
		post("fastest target", "/v1/chat/completions", bodyFor("fast", messages), alphabet{"fetch": {openaiOK, down}}, allow("only", "spare"), func(s *scenario) {
			var c route.Circuits
			c.Succeeded("only", false, 100, startMs-1000)
			c.Succeeded("spare", false, 200, startMs-1000)
			s.shared = c.Encode()
		}),
		post("cheapest target", "/v1/chat/completions", bodyFor("thrifty", messages), alphabet{"fetch": {openaiOK, down}}, allow("only", "spare")),
		post("weighted random target", "/v1/chat/completions", bodyFor("drawn", messages), alphabet{"fetch": {openaiOK, down}}, allow("only", "spare")),
		post("parameter that a target drops", "/v1/chat/completions", bodyFor("plainer", messages+`,"temperature":1`), alphabet{"fetch": {openaiOK, down}}, allow("plain", "only")),
		post("strict, parameter that a target drops", "/v1/chat/completions", bodyFor("plainer", messages+`,"temperature":1`), alphabet{"fetch": {openaiOK, down}}, withHeaders(header("x-postern-strict", "true"))),
		post("strict, parameter that every target drops", "/v1/chat/completions", bodyFor("plain", messages+`,"temperature":1`), nil, withHeaders(header("x-postern-strict", "true"))),
		post("provider format without passthrough", "/v1/chat/completions", bodyFor("gemini-first", messages), alphabet{"fetch twin": {geminiOK, notJSON, down}, "fetch only": {openaiOK}}, allow("twin", "only")),
		post("parameters unknown to the translation", "/v1/chat/completions", bodyFor("gemini-first", messages+`,"store":true,"a_b.c-9":1,"Z0":1,"no way":1,"no{":1`), alphabet{"fetch twin": {geminiOK, down}, "fetch only": {openaiOK}},
			allow("twin", "only")),
		post("strict, parameters unknown to the translation", "/v1/chat/completions", bodyFor("gemini-first", messages+`,"store":true`), alphabet{"fetch": {openaiOK, down}}, allow("only"),
			withHeaders(header("x-postern-strict", "true"))),
		post("response without max tokens", "/v1/chat/completions", bodyFor("narrow", unlimited), alphabet{
			"admit": {admitted, admittedLess, short.only(1)}, "grant": {granted, grantedLast, noMore}, "fetch": {openaiOK, noChoices},
		}, allow("narrow")),
		post("several choices without max tokens", "/v1/chat/completions", bodyFor("balanced", unlimited+`,"n":2`), alphabet{"admit": {admitted, admittedLess}, "fetch": {openaiOK, fault(abi.FaultIdle)}},
			allow("only", "spare")),
		post("unbounded response", "/v1/chat/completions", bodyFor("narrow", unlimited), alphabet{
			"key": {record(func(r *doc.Record) { r.Unbounded = true })}, "admit": {admitted, admittedLess}, "fetch": {openaiOK},
		}, allow("narrow")),
		post("request deadline", "/v1/chat/completions", bodyFor("frontier", messages), alphabet{
			"fetch": {openaiOK, busy.withHeaders("429, in a second and a half", header("retry-after-ms", "1500")), fault(abi.FaultTotal), fault(abi.FaultHead)},
		}, allow("only", "spare", "third"), in(patient), withClock),
		post("JSON repair", "/api/ai/complete", jsonBody, alphabet{"fetch": {jsonText, notJSONText, noChoices, down}}),
		post("responses, passed through", "/v1/responses", bodyFor("sage", input), alphabet{"fetch": {responsesOK, down}}, allow("sage")),
		post("responses, translated", "/v1/responses", bodyFor("only", input), alphabet{"fetch": {openaiOK, notJSON}}),
		post("chat without streaming", "/api/ai/chat", strings.TrimSuffix(nativeBody, "}")+`,"stream":false}`, alphabet{"fetch": {openaiOK, down}}),
		post("mock provider", "/v1/chat/completions", bodyFor("parrot", messages), nil, mayName("parrot")),
		post("test mode", "/api/ai/complete", nativeTo("balanced"), alphabet{"key": {record(testing5)}, "admit": {admitted, stale(testing5)}}, withKey(developmentKey), mayName("only", "spare")),
	}
}

// openCircuit opens the circuit of a model at the given time.
func openCircuit(model string, sinceMs uint64) func(*scenario) {
	return func(s *scenario) {
		c := route.DecodeCircuits(s.shared)
		cfg := s.deploy.parse()
		for range cfg.Routing.CoolAfter {
			c.Failed(&cfg.Routing, model, sinceMs)
		}
		s.shared = c.Encode()
	}
}

// caches returns requests whose responses may be cached.
func caches() []*scenario {
	cacheable := func(name, path, body string, more alphabet, changes ...func(*scenario)) *scenario {
		first := post("first request of "+name, path, body, alphabet{"key": {record(cached)}}.with(more).with(alphabet{"cache": {absent}, "admit": {admitted}}), append(changes, staysConnected)...)
		entry := ok("hit", prime(first))
		old := ok("an old entry", entry.event.Data[:len(entry.event.Data)-1])
		s := post(name, path, body, alphabet{"key": {record(cached)}, "cache": {absent, entry, failed, old}}.with(more), append([]func(*scenario){mayName("only", "vectors")}, changes...)...)
		s.entry = entry.event.Data
		return s
	}
	fetches := alphabet{"fetch": {openaiOK, down, silent}}
	return []*scenario{
		cacheable("cached completion", "/api/ai/complete", nativeBody, alphabet{"fetch": {openaiOK, notJSON, down, silent, cutOff}, "admit": {admitted, rateLimited, failed}}),
		cacheable("cached response in the caller's format", "/v1/chat/completions", bodyFor("only", messages), fetches),
		cacheable("cached with a stale record", "/api/ai/complete", nativeBody, fetches.with(alphabet{"admit": {admitted, stale(cached)}})),
		cacheable("cached, but the newer record disables the cache", "/api/ai/complete", nativeBody, fetches.with(alphabet{"admit": {admitted, stale(nil)}})),
		cacheable("cached with the budget used up", "/api/ai/complete", nativeBody, fetches.with(alphabet{
			"admit": {admitted, short.only(2)}, "grant": {granted, noMore, recallOne, failed}, "flush": {someUsage, noUsage, failed}})),
		cacheable("cached with the key's own budget used up", "/api/ai/complete", nativeBody, fetches.with(alphabet{
			"admit": {admitted, overOwn.only(2), overLentOwn.only(1)}})),
		cacheable("cached with an idempotency key", "/api/ai/complete", nativeBody, fetches.with(alphabet{"admit": {admitted, replayed("{}"), running}, "settle": {done, failed}}), withHeaders(header("idempotency-key", "i1"))),
		cacheable("cached with a policy", "/api/ai/complete", nativeTo("balanced"), fetches.with(alphabet{
			"key": {record(both(cached, withPolicy(3)))}, "policy": {ok("the policy", policyOf(3, onlySpareModel))}, "policy 4": {absent}, "ask-policy": {ok("the policy", policyOf(4, withOpenAIKey))},
			"admit": {admitted, stale(both(cached, withPolicy(4)))}, "unseal": {ok("open", []byte(projectOpenAIKey))},
		}), allow("spare", "only"), func(s *scenario) { s.mayName = append(s.mayName, "spare") }),
		cacheable("cached with max-age", "/v1/chat/completions", bodyFor("only", messages), alphabet{"fetch": {openaiOK, down}}, withHeaders(header("cache-control", "max-age=5"))),
		cacheable("cached on a host without memory", "/api/ai/complete", nativeBody, fetches.with(alphabet{"admit": {admitted, short.only(1)}, "grant": {granted, noMore}}), func(s *scenario) { s.bare = true }),
		post("response too long for an idempotency record", "/v1/chat/completions", bodyFor("only", messages), alphabet{"key": {record(cached)}, "fetch": {long(300_000)}}, staysConnected, withHeaders(header("idempotency-key", "i1"))),
		post("response too long for the cache", "/v1/chat/completions", bodyFor("only", messages), alphabet{"key": {record(cached)}, "fetch": {long(1_100_000)}}, staysConnected),
		post("stream too long for an idempotency record", "/v1/chat/completions", streaming(bodyFor("only", messages)), alphabet{"stream": {streamed(longStream(6))}}, staysConnected,
			withHeaders(header("idempotency-key", "i1"))),
		cacheable("cached stream", "/v1/chat/completions", streaming(bodyFor("only", messages)), alphabet{"stream": {streamed(openaiStream), down}}),
		post("cache-control no-cache", "/v1/chat/completions", bodyFor("only", messages), alphabet{"key": {record(cached)}, "fetch": {openaiOK, down}}, withHeaders(header("cache-control", "no-cache"))),
		post("cache-control no-store", "/v1/chat/completions", bodyFor("only", messages), alphabet{"key": {record(cached)}, "fetch": {openaiOK, down}}, withHeaders(header("cache-control", "no-store"))),
		cacheable("cached embeddings", "/v1/embeddings", bodyFor("vectors", `"input":"`+promptMark+`"`), alphabet{"fetch": {embedded, down}}, allow("vectors")),
	}
}

// prime runs a request to its end and returns the response that the request has put into the cache.
func prime(s *scenario) []byte {
	w := newWorld(s, s.deploy.parse())
	w.trace = &transcript{}
	for {
		if _, any := w.advance(func([]string) int { return 0 }); !any || len(w.broken) > 0 {
			break
		}
	}
	if len(w.stored) == 0 {
		panic(s.name + " stores nothing: " + strings.Join(w.broken, "; ") + "\n" + w.trace.String())
	}
	return w.stored
}

// currentPolicy is the policy version in the key records.
const currentPolicy = 3

// policies returns scenarios of projects with their own routes, model lists and provider keys.
func policies() []*scenario {
	known := func(change func(*doc.Policy)) alphabet {
		return alphabet{
			"key": {record(withPolicy(3))}, "key memory": inMemory(withPolicy(3), policyOf(3, change)),
			"policy":     {ok("the policy", policyOf(3, change)), absent, failed, damaged},
			"ask-policy": {ok("the policy", policyOf(3, change)), ok("an older policy", policyOf(2, nil)), ok("a newer policy", policyOf(4, nil)), failed, ok("none", nil)},
			"admit":      {admitted, stale(withPolicy(4)).only(2), stale(nil).only(2)},
		}
	}
	return []*scenario{
		post("project route", "/api/ai/complete", nativeTo("balanced"), known(spareModelFirst).with(alphabet{"fetch": {openaiOK, down}}), allow("spare", "third", "only")),
		post("project model list", "/v1/chat/completions", bodyFor("balanced", messages), known(onlySpareModel).with(alphabet{"fetch": {openaiOK, down}}), allow("spare", "only")),
		post("project provider key", "/v1/chat/completions", bodyFor("balanced", messages), known(withOpenAIKey).with(alphabet{
			"fetch": {openaiOK, busy, down, fault(abi.FaultHead)}, "unseal": {ok("open", []byte(projectOpenAIKey)), failed},
		}), allow("only", "spare"), in(patient)),
		post("project provider key, streamed", "/v1/chat/completions", streaming(bodyFor("mixed", messages)), known(withOpenAIKey).with(alphabet{
			"admit": {admitted}, "stream": {streamed(anthropicStream), down}, "stream only": {streamed(openaiStream), down}, "unseal": {ok("open", []byte(projectOpenAIKey)), failed},
		}), allow("only", "poet")),
		post("project provider key, translated", "/v1/messages", bodyFor("gemini-first", messages), known(withOpenAIKey).with(alphabet{
			"admit": {admitted}, "fetch twin": {geminiOK, down}, "fetch only": {openaiOK, down}, "unseal": {ok("open", []byte(projectOpenAIKey)), ok("empty", nil), failed},
		}), allow("twin", "only")),
		post("project keys for two providers", "/v1/messages", bodyFor("mixed", messages), known(withBothKeys).with(alphabet{
			"admit": {admitted}, "ask-policy": {failed}, "policy": {ok("the policy", policyOf(3, withBothKeys)), absent},
			"fetch poet": {anthropicOK, down}, "fetch only": {openaiOK, down}, "unseal openai": {ok("open", []byte(projectOpenAIKey)), failed}, "unseal anthropic": {ok("open", []byte(projectAnthropicKey)), failed},
		}), allow("poet", "only")),
		post("project provider key without its master key", "/v1/chat/completions", bodyFor("mixed", messages), known(withLostMasterKey).with(alphabet{"admit": {admitted}, "fetch": {anthropicOK, down}}),
			allow("poet", "only"), reject(503)),
		post("model not allowed for the project", "/v1/chat/completions", bodyFor("only", messages), known(onlySpareModel).with(alphabet{"admit": {admitted, rateLimited}, "fetch": {openaiOK}})),
		get("models under a policy", "/v1/models", callerKey, known(onlySpareModel)),
	}
}

func streams() []*scenario {
	chat := streaming(bodyFor("only", messages))
	return []*scenario{
		post("stream", "/v1/chat/completions", chat, alphabet{"stream": {streamed(openaiStream), streamed(openaiInvalid), notAStream, busy, down, fault(abi.FaultHead)}}),
		post("stream with split events", "/v1/chat/completions", chat, alphabet{"stream": {streamed(openaiSplit), streamed(openaiLines), streamed(openaiError), streamed(openaiNoMark)}}),
		post("stream with a long start", "/v1/chat/completions", streaming(bodyFor("balanced", messages)), alphabet{"stream": {streamed(openaiLongStart), down}}, allow("only", "spare")),
		post("stream with a long start, translated", "/v1/messages", streaming(bodyFor("balanced", messages)), alphabet{"stream": {streamed(openaiLongStart)}}, allow("only", "spare")),
		post("messages stream with a long start", "/v1/messages", streaming(bodyFor("verses", messages)), alphabet{"stream": {streamed(anthropicPing), down}}, allow("poet", "bard")),
		post("responses stream with a long start", "/v1/responses", streaming(bodyFor("wisdom", input)), alphabet{"stream": {streamed(responsesPing), down}}, allow("sage", "elder")),
		post("stream with an endless event", "/v1/chat/completions", chat, alphabet{"stream": {streamed(openaiEndless)}}, func(s *scenario) { s.maxKept, s.disconnects = 1<<20, false }),
		post("filtered stream", "/v1/responses", streaming(bodyFor("balanced", input)), alphabet{"stream": {streamed(openaiFiltered)}}, allow("only", "spare")),
		post("stream of a provider format without passthrough", "/v1/responses", streaming(bodyFor("gemini-first", input)), alphabet{"stream twin": {streamed(geminiStream), down}, "stream only": {streamed(openaiStream)}},
			allow("twin", "only")),
		post("native chat stream", "/api/ai/chat", nativeBody, alphabet{"stream": {streamed(openaiStream), streamed(openaiError), down}}),
		post("messages stream, passed through", "/v1/messages", streaming(bodyFor("poet", messages)), alphabet{"stream": {streamed(anthropicStream), streamed(anthropicError)}}, allow("poet")),
		post("messages stream, translated", "/v1/messages", chat, alphabet{"stream": {streamed(openaiStream), streamed(openaiError)}}),
		post("responses stream, passed through", "/v1/responses", streaming(bodyFor("sage", input)), alphabet{"stream": {streamed(responsesStream), streamed(responsesError)}}, allow("sage")),
		post("responses stream, translated", "/v1/responses", streaming(bodyFor("only", input)), alphabet{"stream": {streamed(openaiStream), streamed(openaiError)}}),
		post("stream with a fallback", "/v1/chat/completions", streaming(bodyFor("mixed", messages)), alphabet{
			"stream poet": {streamed(anthropicStream), streamed(anthropicError), down}, "stream only": {streamed(openaiStream), streamed(openaiError), busy},
		}, allow("poet", "only")),
		post("stream with an idempotency key", "/v1/chat/completions", chat, alphabet{"admit": {admitted, running, replayed("data: [DONE]")}, "stream": {streamed(openaiStream), down}, "settle": {done, failed}}, withHeaders(header("idempotency-key", "i1"))),
		post("messages stream with an idempotency key", "/v1/messages", streaming(bodyFor("poet", messages)), alphabet{"stream": {streamed(anthropicStream), streamed(anthropicError)}}, allow("poet"), withHeaders(header("idempotency-key", "i1"))),
		post("responses stream with an idempotency key", "/v1/responses", streaming(bodyFor("sage", input)), alphabet{"stream": {streamed(responsesStream)}, "settle": {done, failed}}, allow("sage"), withHeaders(header("idempotency-key", "i1"))),
		post("translated stream with an idempotency key", "/v1/responses", streaming(bodyFor("only", input)), alphabet{"stream": {streamed(openaiStream)}}, withHeaders(header("idempotency-key", "i1"))),
		post("stream with an idempotency key and data after its end", "/v1/chat/completions", chat, alphabet{"key": {record(cached)}, "stream": {streamed(openaiTrailing)}}, withHeaders(header("idempotency-key", "i1"))),
		post("cached stream with a fallback", "/v1/chat/completions", streaming(bodyFor("balanced", messages)), alphabet{
			"key": {record(cached)}, "stream": {streamed(openaiStream), down},
		}, allow("only", "spare")),
		post("stream in test mode", "/v1/chat/completions", chat, alphabet{"key": {record(testing5)}}, withKey(developmentKey), mayName("only")),
		post("mock stream with pauses", "/api/ai/chat", nativeBody, alphabet{"key": {record(both(testing5, cached))}}, withKey(developmentKey), mayName("only"), in(paced)),
		post("mock stream with an idempotency key", "/v1/chat/completions", chat, alphabet{"key": {record(testing5)}}, withKey(developmentKey), mayName("only"), in(paced), withHeaders(header("idempotency-key", "i1"))),
		post("stream with a fallback to the mock", "/v1/messages", streaming(bodyFor("echoing", messages)), alphabet{"stream": {streamed(openaiLongStart), streamed(openaiError), down}}, mayName("parrot"), in(paced)),
		post("stream with a fallback to the mock without pauses", "/v1/messages", streaming(bodyFor("echoing", messages)), alphabet{"stream": {streamed(openaiLongStart), streamed(openaiError)}}, mayName("parrot")),
		post("request deadline of a stream", "/v1/chat/completions", streaming(bodyFor("frontier", strings.Replace(messages, `"max_tokens":4`, `"max_tokens":400`, 1))), alphabet{
			"stream": {streamed(openaiOnePiece), fault(abi.FaultHead), fault(abi.FaultTotal), soon},
		}, allow("only", "spare", "third"), in(patient), withClock),
		post("stream with data after its end", "/v1/chat/completions", chat, alphabet{"key": {record(cached)}, "stream": {streamed(openaiTrailing)}}),
		post("stream with an extended reservation", "/v1/chat/completions", streaming(bodyFor("frontier", `"messages":[{"role":"user","content":"`+promptMark+`"}],"max_tokens":1`)), alphabet{
			"stream": {streamed(openaiBrief), fault(abi.FaultHead)},
			"extend": {admitted, short},
			"grant":  {granted, noMore},
		}, allow("only", "spare", "third")),
		post("every reply to an extension", "/v1/chat/completions", streaming(bodyFor("only", `"messages":[{"role":"user","content":"`+promptMark+`"}],"max_tokens":1`)), alphabet{
			"stream": {streamed(openaiLong)},
			"extend": {admitted, short, unknown, inactive, rateLimited, failed, overloaded, damaged}, "grant": {granted, noMore, recallOne, failed, damaged},
		}),
		post("burst that the reservation does not cover", "/v1/chat/completions", streaming(bodyFor("only", `"messages":[{"role":"user","content":"`+promptMark+`"}],"max_tokens":1`)), alphabet{
			"stream": {streamed(openaiBurst)}, "extend": {admitted, admittedLess, short, unknown, failed}, "grant": {granted, noMore, failed},
		}),
		post("stream that uses up the budget", "/v1/chat/completions", streaming(bodyFor("only", `"messages":[{"role":"user","content":"`+promptMark+`"}],"max_tokens":1`)), alphabet{
			"stream": {streamed(openaiLong)},
			"extend": {admitted, short}, "grant": {granted, noMore, recall}, "flush": {someUsage, noUsage, failed},
		}),
	}
}

// otherEndpoints returns scenarios of the endpoints other than completions.
func otherEndpoints() []*scenario {
	count := bodyFor("poet", `"messages":[{"role":"user","content":"`+promptMark+`"}]`)
	return []*scenario{
		post("embeddings", "/v1/embeddings", bodyFor("vectors", `"input":"`+promptMark+`"`), alphabet{"fetch": append([]choice{embedded, notJSON, down}, everyFault[:3]...)}, allow("vectors")),
		post("embeddings in test mode", "/v1/embeddings", bodyFor("vectors", `"input":"`+promptMark+`"`), alphabet{"key": {record(testing5)}}, withKey(developmentKey), mayName("vectors")),
		post("token count", "/v1/messages/count_tokens", count, alphabet{"admit": {admitted, rateLimited, stale(nil)}, "fetch": {counted, notJSON, lateCount, fault(abi.FaultHead)}}, allow("poet")),
		post("token count with a project provider key", "/v1/messages/count_tokens", count, alphabet{
			"key": {record(withPolicy(3))}, "policy": {ok("the policy", policyOf(3, withAnthropicKey))}, "unseal": {ok("open", []byte("marked-other-key")), failed}, "fetch": {counted, down},
		}, allow("poet")),
		post("estimated token count", "/v1/messages/count_tokens", bodyFor("only", `"messages":[{"role":"user","content":"`+promptMark+`"}]`), nil),
		post("native token count", "/api/ai/count-tokens", count, alphabet{"admit": {admitted, rateLimited, stale(nil)}, "fetch": {counted, notJSON, lateCount, fault(abi.FaultHead)}}, allow("poet")),
		post("native token count with a project provider key", "/api/ai/count-tokens", count, alphabet{
			"key": {record(withPolicy(3))}, "policy": {ok("the policy", policyOf(3, withAnthropicKey))}, "unseal": {ok("open", []byte("marked-other-key")), failed}, "fetch": {counted, down},
		}, allow("poet")),
		post("native token count that no target gets whole", "/api/ai/count-tokens", bodyFor("verses", `"messages":[{"role":"user","content":"`+promptMark+`"}],"metadata":{"team":"a"}`), alphabet{
			"key": {record(withPolicy(3))}, "policy": {ok("the policy", policyOf(3, withAnthropicKey))}, "unseal": {ok("open", []byte("marked-other-key")), failed},
		}, withHeaders(header("x-postern-strict", "true"))),
		post("native token count in test mode", "/api/ai/count-tokens", count, alphabet{"key": {record(testing5)}}, withKey(developmentKey), mayName("poet")),
		post("estimated native token count", "/api/ai/count-tokens", bodyFor("only", `"messages":[{"role":"user","content":"`+promptMark+`"}]`), nil),
		get("models", "/v1/models", callerKey, alphabet{"admit": {admitted, stale(nil), inactive, failed}}),
		get("one model", "/v1/models/only", callerKey, alphabet{"admit": {admitted, unknown}}, withHeaders(header("anthropic-version", "2023-06-01"))),
		get("unknown model by ID", "/v1/models/nobody", callerKey, nil),
		get("health", "/api/health", projectKey, alphabet{"key": {absent, record(func(r *doc.Record) { r.Kind = keys.Project })},
			"admit check": {admitted, inactive, overloaded, stale(func(r *doc.Record) { r.Kind = keys.Project })}}),
		get("usage", "/api/usage", callerKey, alphabet{
			"report": {figures, flushFirst, waitFirst, failed, damaged}, "report final": {figures, failed}, "flush": {openUsage, someUsage, noUsage, failed}, "absorb": {done, failed},
		}, withQuery("projectId=prj_1&period=day")),
		get("usage of another project", "/api/usage", callerKey, nil, withQuery("projectId=prj_2")),
		get("usage with an invalid period", "/api/usage", callerKey, alphabet{"admit": {admitted, inactive}}, withQuery("period=year")),
	}
}

func withBothKeys(p *doc.Policy) {
	withOpenAIKey(p)
	p.ProviderKeys = append(p.ProviderKeys, doc.ProviderKey{Provider: "anthropic", KeyID: "m1", Sealed: []byte("sealed-anthropic-key-sealed-anthropic")})
}

func withLostMasterKey(p *doc.Policy) {
	p.ProviderKeys = []doc.ProviderKey{{Provider: "openai", KeyID: "m9", Sealed: []byte("sealed-openai-key-sealed-openai-key")}}
}

func withAnthropicKey(p *doc.Policy) {
	p.ProviderKeys = []doc.ProviderKey{{Provider: "anthropic", KeyID: "m1", Sealed: []byte("sealed-anthropic-key-sealed-anthropic")}}
}
