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

// post is a scenario of a request with a body, to one model, where nothing fails but what more says.
func post(name, path, body string, more alphabet, changes ...func(*scenario)) *scenario {
	s := &scenario{
		name: name, deploy: plain, headers: requestHead("POST", path, callerKey), body: body, alphabet: base.with(more), own: more,
		allowed: []string{"only"}, leaves: true,
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

// get is one of a request without a body.
func get(name, path, key string, more alphabet, changes ...func(*scenario)) *scenario {
	s := post(name, path, "", more, changes...)
	query := s.headers[3]
	s.headers = append(requestHead("GET", path, key), s.headers[7:]...)
	s.headers[3] = query
	return s
}

// head is one of HEAD in place of GET.
func head(name, path, key string, more alphabet, changes ...func(*scenario)) *scenario {
	s := get(name, path, key, more, changes...)
	s.headers[1].Value = "HEAD"
	return s
}

func clocked(s *scenario) { s.clock = true }

func allowing(models ...string) func(*scenario) { return func(s *scenario) { s.allowed = models } }

func naming(models ...string) func(*scenario) { return func(s *scenario) { s.mayName = models } }

func deserving(statuses ...uint64) func(*scenario) {
	return func(s *scenario) { s.refused = statuses }
}

func in(d deployment) func(*scenario) { return func(s *scenario) { s.deploy = d } }

func stays(s *scenario) { s.leaves = false }

func saying(more ...abi.Header) func(*scenario) {
	return func(s *scenario) { s.headers = append(s.headers, more...) }
}

func by(key string) func(*scenario) {
	return func(s *scenario) {
		for i := range s.headers {
			if s.headers[i].Name == "authorization" {
				s.headers[i].Value = "Bearer " + key
			}
		}
	}
}

func asking(query string) func(*scenario) {
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

// to is a body for a model or a tier.
func to(model, rest string) string { return `{"model":"` + model + `",` + rest + `}` }

func nativeTo(quality string) string { return strings.Replace(nativeBody, "cheap", quality, 1) }

func streaming(body string) string { return strings.TrimSuffix(body, "}") + `,"stream":true}` }

// scenarios are all, each on a host that answers from memory at once, as ours do, and on a slow one.
func scenarios() (all []*scenario) {
	for _, group := range [][]*scenario{heads(), admissions(), wholeAnswers(), caches(), policies(), streams(), others()} {
		for _, s := range group {
			onSlow := *s
			onSlow.name, onSlow.slow = s.name+", on a slow host", true
			all = append(all, s, &onSlow)
		}
	}
	return all
}

// heads are requests that are refused, or taken elsewhere, by their head.
func heads() []*scenario {
	return []*scenario{
		get("no such path", "/nothing", callerKey, nil),
		get("the wrong method", "/v1/chat/completions", callerKey, nil),
		get("the front door", "/", "", nil),
		head("the head of health", "/api/health", callerKey, alphabet{"admit": {admitted, inactive}}),
		get("no key", "/api/health", "", nil, deserving(401)),
		get("a mistyped key", "/api/health", "sk_live_wrong", nil, deserving(401)),
		get("forwarded", "/api/admin/keys", "", alphabet{"forward": {response("200", 200, ""), fault(abi.FaultConnect)}}, deserving(503)),
		get("not forwarded", "/api/admin/keys", "", nil, in(closedOff)),
		get("forwarded, with the providers' states", "/api/admin/providers", "", alphabet{"forward": {response("404", 404, ""), fault(abi.FaultUndelivered)}}, deserving(503)),
	}
}

// admissions are about the key, its record and the meter's word.
func admissions() []*scenario {
	refusals := []choice{rateLimited, inactive, unknown, crowded, overloaded, failed, damaged}
	return []*scenario{
		post("too many guesses", "/api/ai/complete", nativeBody, alphabet{"key": {record(nil), absent}, "fetch": {openaiOK}}, deserving(429), func(s *scenario) {
			var c route.Circuits
			for range 30 {
				c.Guessed("192.0.2.1", startMs)
			}
			s.shared = c.Encode()
		}),
		post("every refusal of the meter", "/api/ai/complete", nativeBody, alphabet{"admit": append([]choice{admitted}, refusals...), "fetch": {openaiOK}}),
		post("a key without a record", "/api/ai/complete", nativeBody, alphabet{
			"key": {record(nil), absent, failed, damaged, ok("known to be unknown", []byte{0})}, "fetch": {openaiOK},
			"admit check": {stale(nil), unknown, inactive, admitted, failed, damaged}, "admit": {admitted, stale(nil)},
		}),
		post("a record that is old", "/api/ai/complete", nativeBody, alphabet{"admit": {admitted, stale(nil).only(2), short.only(2), failed}, "grant": {granted, failed}, "fetch": {openaiOK}}),
		post("a slice that is too small", "/api/ai/complete", nativeBody, alphabet{
			"admit": {admitted, admittedLess, short.only(2), rateLimited}, "grant": {granted, grantedLast, noMore, recall, askOn, failed, damaged},
			"flush": {news, noNews, failed, damaged}, "absorb": {done, overloaded}, "fetch": {openaiOK},
		}),
		post("a slice that is never enough", "/api/ai/complete", nativeBody, alphabet{"admit": {short}, "grant": {granted, recallOne, noMore}, "flush": {news, noNews}}, stays),
		post("a record that is never new enough", "/api/ai/complete", nativeBody, alphabet{"admit": {stale(nil), stale(cached)}}, stays),
		post("a key that may not", "/v1/embeddings", to("vectors", `"input":"x"`), alphabet{
			"key":   {record(func(r *doc.Record) { r.Permissions = doc.MayComplete })},
			"admit": {admitted, rateLimited, inactive, stale(nil), failed}, "fetch": {embedded},
		}, allowing("vectors")),
		post("a body that is wrong", "/api/ai/complete", `{"prompt":5}`, alphabet{
			"body": {ok("whole", nil), code("too large", abi.OutcomeTooLarge), failed}, "admit": {admitted, rateLimited, unknown, stale(nil), failed},
		}),
		post("a body that is no JSON", "/v1/messages", `{"prompt"`, alphabet{"admit": {admitted, rateLimited}}),
		post("a body of another type", "/api/ai/complete", nativeBody, alphabet{"admit": {admitted, rateLimited, inactive}}, func(s *scenario) {
			s.headers[6].Value = "text/plain"
		}),
		post("a body that is compressed", "/v1/responses", nativeBody, alphabet{"admit": {admitted, unknown}}, saying(header("content-encoding", "gzip"))),
		post("a body that says it is too large", "/api/ai/complete", nativeBody, alphabet{"admit": {admitted, crowded}}, saying(header("content-length", "5000000"))),
		post("an unknown model", "/v1/chat/completions", to("nobody", messages), alphabet{"admit": {admitted, rateLimited}}),
		post("a model that the key may not use", "/v1/chat/completions", to("only", messages), alphabet{
			"key":   {record(func(r *doc.Record) { r.Models = []string{"spare"} })},
			"admit": {admitted, rateLimited, stale(nil)}, "fetch": {openaiOK},
		}),
		post("a wrong body under an idempotency key", "/api/ai/complete", `{"prompt":5}`, alphabet{"admit": {admitted, running, mismatch, unreplayable, replayed(`{"error":"x"}`)}},
			saying(header("idempotency-key", "i1"))),
		post("idempotency", "/api/ai/complete", nativeBody, alphabet{
			"admit": {admitted, running, mismatch, unreplayable, replayed("{}"), verdict("a damaged replay", keymeter.AdmitReply{Verdict: keymeter.Replay, Answer: []byte{1}})},
			"fetch": {openaiOK, down, rejected},
		}, saying(header("idempotency-key", "i1"))),
		post("an idempotency key that is none", "/api/ai/complete", nativeBody, alphabet{"admit": {admitted}}, saying(header("idempotency-key", "\x01"))),
	}
}

// replayed is the meter's memory of an answer.
func replayed(body string) choice {
	var w abi.Writer
	w.Uint(200)
	w.Uint(1)
	w.String("content-type")
	w.String("application/json")
	w.String(body)
	return verdict("replay", keymeter.AdmitReply{Verdict: keymeter.Replay, Answer: w.Buf})
}

// wholeAnswers are completions in one piece: providers, falling back, retries.
func wholeAnswers() []*scenario {
	return []*scenario{
		post("every answer of a provider", "/api/ai/complete", nativeBody, alphabet{
			"fetch": append([]choice{openaiOK, notJSON, busy, down, rejected, unpaid, tooLong, silent, cutOff}, everyFault...),
		}),
		post("falling back", "/api/ai/complete", nativeTo("balanced"), alphabet{"fetch": {openaiOK, busy, down, rejected, unpaid, tooLong, fault(abi.FaultHead), fault(abi.FaultConnect)}},
			allowing("only", "spare")),
		post("falling back twice, with retries", "/v1/chat/completions", to("frontier", messages), alphabet{"fetch": {openaiOK, busy, down, fault(abi.FaultTotal)}},
			allowing("only", "spare", "third"), in(patient)),
		post("falling back to another family", "/v1/messages", to("mixed", messages), alphabet{
			"fetch poet": {anthropicOK, down, fault(abi.FaultIdle)}, "fetch only": {openaiOK, down},
		}, allowing("poet", "only")),
		post("a last target without credentials", "/v1/chat/completions", to("ragged", messages), alphabet{"fetch": {openaiOK, down, unpaid, fault(abi.FaultHead)}}),
		post("no target with credentials", "/v1/chat/completions", to("nowhere", messages), nil, allowing(), deserving(503)),
		post("when to come back", "/v1/chat/completions", to("balanced", messages), alphabet{"fetch": {openaiOK, soon, late, onDate}}, allowing("only", "spare"), in(patient)),
		post("nonsense for usage", "/v1/chat/completions", to("only", messages), alphabet{"fetch": {openaiOK, negative}}),
		post("a target that rests", "/v1/chat/completions", to("balanced", messages), alphabet{"fetch": {openaiOK, down}}, allowing("only", "spare"), resting("only", startMs)),
		post("a target that tires meanwhile", "/v1/chat/completions", to("balanced", messages), alphabet{"fetch": {openaiOK, down, busy}}, allowing("only", "spare"), in(patient), func(s *scenario) {
			other := &scenario{deploy: s.deploy}
			resting("only", startMs)(other)
			s.meanwhile = other.shared
		}),
		post("targets that all rest", "/v1/chat/completions", to("balanced", messages), alphabet{"fetch": {openaiOK, down}}, allowing("only", "spare"),
			resting("only", startMs), resting("spare", startMs)),
		post("a target that has rested", "/v1/chat/completions", to("balanced", messages), alphabet{"fetch": {openaiOK, down}}, allowing("only", "spare"), resting("only", startMs-30_000)),
		post("targets that tire", "/v1/chat/completions", to("balanced", messages), alphabet{"fetch": {openaiOK, down, unpaid}}, allowing("only", "spare"), in(touchy)),
		post("the fastest target", "/v1/chat/completions", to("fast", messages), alphabet{"fetch": {openaiOK, down}}, allowing("only", "spare"), func(s *scenario) {
			var c route.Circuits
			c.Succeeded("only", false, 100, startMs-1000)
			c.Succeeded("spare", false, 200, startMs-1000)
			s.shared = c.Encode()
		}),
		post("the cheapest target", "/v1/chat/completions", to("thrifty", messages), alphabet{"fetch": {openaiOK, down}}, allowing("only", "spare")),
		post("a target that is drawn", "/v1/chat/completions", to("drawn", messages), alphabet{"fetch": {openaiOK, down}}, allowing("only", "spare")),
		post("what a target lacks", "/v1/chat/completions", to("plainer", messages+`,"temperature":1`), alphabet{"fetch": {openaiOK, down}}, allowing("plain", "only")),
		post("what a target must not lack", "/v1/chat/completions", to("plainer", messages+`,"temperature":1`), alphabet{"fetch": {openaiOK, down}}, saying(header("x-postern-strict", "true"))),
		post("what no target carries", "/v1/chat/completions", to("plain", messages+`,"temperature":1`), nil, saying(header("x-postern-strict", "true"))),
		post("a family without a dialect", "/v1/chat/completions", to("strange", messages), alphabet{"fetch twin": {geminiOK, notJSON, down}, "fetch only": {openaiOK}}, allowing("twin", "only")),
		post("what our form does not know", "/v1/chat/completions", to("strange", messages+`,"store":true,"a_b.c-9":1,"Z0":1,"no way":1,"no{":1`), alphabet{"fetch twin": {geminiOK, down}, "fetch only": {openaiOK}},
			allowing("twin", "only")),
		post("what our form does not know, strictly", "/v1/chat/completions", to("strange", messages+`,"store":true`), alphabet{"fetch": {openaiOK, down}}, allowing("only"),
			saying(header("x-postern-strict", "true"))),
		post("an answer without a limit", "/v1/chat/completions", to("narrow", unlimited), alphabet{
			"admit": {admitted, admittedLess, short.only(1)}, "grant": {granted, grantedLast, noMore}, "fetch": {openaiOK, noChoices},
		}, allowing("narrow")),
		post("answers without a limit", "/v1/chat/completions", to("balanced", unlimited+`,"n":2`), alphabet{"admit": {admitted, admittedLess}, "fetch": {openaiOK, fault(abi.FaultIdle)}},
			allowing("only", "spare")),
		post("an unbounded answer", "/v1/chat/completions", to("narrow", unlimited), alphabet{
			"key": {record(func(r *doc.Record) { r.Unbounded = true })}, "admit": {admitted, admittedLess}, "fetch": {openaiOK},
		}, allowing("narrow")),
		post("time that runs out", "/v1/chat/completions", to("frontier", messages), alphabet{
			"fetch": {openaiOK, busy.saying("429, in a second and a half", header("retry-after-ms", "1500")), fault(abi.FaultTotal), fault(abi.FaultHead)},
		}, allowing("only", "spare", "third"), in(patient), clocked),
		post("JSON that is mended", "/api/ai/complete", jsonBody, alphabet{"fetch": {jsonText, notJSONText, noChoices, down}}),
		post("responses, passed on", "/v1/responses", to("sage", input), alphabet{"fetch": {responsesOK, down}}, allowing("sage")),
		post("responses, translated", "/v1/responses", to("only", input), alphabet{"fetch": {openaiOK, notJSON}}),
		post("chat in one piece", "/api/ai/chat", strings.TrimSuffix(nativeBody, "}")+`,"stream":false}`, alphabet{"fetch": {openaiOK, down}}),
		post("the mock provider", "/v1/chat/completions", to("parrot", messages), nil, naming("parrot")),
		post("test mode", "/api/ai/complete", nativeTo("balanced"), alphabet{"key": {record(testing5)}, "admit": {admitted, stale(testing5)}}, by(developmentKey), naming("only", "spare")),
	}
}

// resting lets a target of the deployment rest, since it failed three times.
func resting(model string, sinceMs uint64) func(*scenario) {
	return func(s *scenario) {
		c := route.DecodeCircuits(s.shared)
		cfg := s.deploy.parse()
		for range cfg.Routing.CoolAfter {
			c.Failed(&cfg.Routing, model, sinceMs)
		}
		s.shared = c.Encode()
	}
}

// caches are requests whose answers may be remembered.
func caches() []*scenario {
	ask := func(name, path, body string, more alphabet, changes ...func(*scenario)) *scenario {
		first := post("the first of "+name, path, body, alphabet{"key": {record(cached)}}.with(more).with(alphabet{"cache": {absent}, "admit": {admitted}}), append(changes, stays)...)
		entry := ok("hit", prime(first))
		old := ok("an old entry", entry.event.Data[:len(entry.event.Data)-1])
		s := post(name, path, body, alphabet{"key": {record(cached)}, "cache": {absent, entry, failed, old}}.with(more), append([]func(*scenario){naming("only", "vectors")}, changes...)...)
		s.entry = entry.event.Data
		return s
	}
	whole := alphabet{"fetch": {openaiOK, down, silent}}
	return []*scenario{
		ask("a cached completion", "/api/ai/complete", nativeBody, alphabet{"fetch": {openaiOK, notJSON, down, silent, cutOff}, "admit": {admitted, rateLimited, failed}}),
		ask("a cached answer of the caller's family", "/v1/chat/completions", to("only", messages), whole),
		ask("cached, and the record is old", "/api/ai/complete", nativeBody, whole.with(alphabet{"admit": {admitted, stale(cached)}})),
		ask("cached, and the record is old and knows of no cache", "/api/ai/complete", nativeBody, whole.with(alphabet{"admit": {admitted, stale(nil)}})),
		ask("cached, and the budget is spent", "/api/ai/complete", nativeBody, whole.with(alphabet{
			"admit": {admitted, short.only(2)}, "grant": {granted, noMore, recallOne, failed}, "flush": {news, noNews, failed}})),
		ask("cached, under an idempotency key", "/api/ai/complete", nativeBody, whole.with(alphabet{"admit": {admitted, replayed("{}"), running}}), saying(header("idempotency-key", "i1"))),
		ask("cached, under a policy", "/api/ai/complete", nativeTo("balanced"), whole.with(alphabet{
			"key": {record(both(cached, withPolicy(3)))}, "policy": {ok("the policy", policyOf(3, onlySpare))}, "policy 4": {absent}, "ask-policy": {ok("the policy", policyOf(4, ownOpenAI))},
			"admit": {admitted, stale(both(cached, withPolicy(4)))}, "unseal": {ok("open", []byte(ownKey))},
		}), allowing("spare", "only"), func(s *scenario) { s.mayName = append(s.mayName, "spare") }),
		ask("cached, and the caller wants it fresh", "/v1/chat/completions", to("only", messages), alphabet{"fetch": {openaiOK, down}}, saying(header("cache-control", "max-age=5"))),
		ask("cached, on a host without memory", "/api/ai/complete", nativeBody, whole.with(alphabet{"admit": {admitted, short.only(1)}, "grant": {granted, noMore}}), func(s *scenario) { s.bare = true }),
		post("an answer too long to keep", "/v1/chat/completions", to("only", messages), alphabet{"key": {record(cached)}, "fetch": {long(300_000)}}, stays, saying(header("idempotency-key", "i1"))),
		post("an answer too long to store", "/v1/chat/completions", to("only", messages), alphabet{"key": {record(cached)}, "fetch": {long(1_100_000)}}, stays),
		post("a stream too long to keep", "/v1/chat/completions", streaming(to("only", messages)), alphabet{"stream": {streamed(longStream(6))}}, stays,
			saying(header("idempotency-key", "i1"))),
		ask("a cached stream", "/v1/chat/completions", streaming(to("only", messages)), alphabet{"stream": {streamed(openaiStream), down}}),
		post("an answer that is not looked for", "/v1/chat/completions", to("only", messages), alphabet{"key": {record(cached)}, "fetch": {openaiOK, down}}, saying(header("cache-control", "no-cache"))),
		post("an answer that is not stored", "/v1/chat/completions", to("only", messages), alphabet{"key": {record(cached)}, "fetch": {openaiOK, down}}, saying(header("cache-control", "no-store"))),
		ask("cached embeddings", "/v1/embeddings", to("vectors", `"input":"`+promptMark+`"`), alphabet{"fetch": {embedded, down}}, allowing("vectors")),
	}
}

// prime runs a request to its end, and gives what it stored in the cache.
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

// currentPolicy is the version of it that records name.
const currentPolicy = 3

// policies are projects with routes, lists and keys of their own.
func policies() []*scenario {
	known := func(change func(*doc.Policy)) alphabet {
		return alphabet{
			"key": {record(withPolicy(3))}, "policy": {ok("the policy", policyOf(3, change)), absent, failed, damaged},
			"ask-policy": {ok("the policy", policyOf(3, change)), ok("an older policy", policyOf(2, nil)), ok("a newer policy", policyOf(4, nil)), failed, ok("none", nil)},
			"admit":      {admitted, stale(withPolicy(4)).only(2), stale(nil).only(2)},
		}
	}
	return []*scenario{
		post("a project's own route", "/api/ai/complete", nativeTo("balanced"), known(spareFirst).with(alphabet{"fetch": {openaiOK, down}}), allowing("spare", "third", "only")),
		post("a project's list of models", "/v1/chat/completions", to("balanced", messages), known(onlySpare).with(alphabet{"fetch": {openaiOK, down}}), allowing("spare", "only")),
		post("a project's own key", "/v1/chat/completions", to("balanced", messages), known(ownOpenAI).with(alphabet{
			"fetch": {openaiOK, busy, down, fault(abi.FaultHead)}, "unseal": {ok("open", []byte(ownKey)), failed},
		}), allowing("only", "spare"), in(patient)),
		post("a project's own key, streamed", "/v1/chat/completions", streaming(to("mixed", messages)), known(ownOpenAI).with(alphabet{
			"admit": {admitted}, "stream": {streamed(anthropicStream), down}, "stream only": {streamed(openaiStream), down}, "unseal": {ok("open", []byte(ownKey)), failed},
		}), allowing("only", "poet")),
		post("a project's own key, translated", "/v1/messages", to("strange", messages), known(ownOpenAI).with(alphabet{
			"admit": {admitted}, "fetch twin": {geminiOK, down}, "fetch only": {openaiOK, down}, "unseal": {ok("open", []byte(ownKey)), ok("empty", nil), failed},
		}), allowing("twin", "only")),
		post("keys of a project for two providers", "/v1/messages", to("mixed", messages), known(ownBoth).with(alphabet{
			"admit": {admitted}, "ask-policy": {failed}, "policy": {ok("the policy", policyOf(3, ownBoth)), absent},
			"fetch poet": {anthropicOK, down}, "fetch only": {openaiOK, down}, "unseal openai": {ok("open", []byte(ownKey)), failed}, "unseal anthropic": {ok("open", []byte(ownPoetKey)), failed},
		}), allowing("poet", "only")),
		post("a project's own key whose master key is gone", "/v1/chat/completions", to("mixed", messages), known(ownLost).with(alphabet{"admit": {admitted}, "fetch": {anthropicOK, down}}),
			allowing("poet", "only"), deserving(503)),
		post("a project that allows nothing", "/v1/chat/completions", to("only", messages), known(onlySpare).with(alphabet{"admit": {admitted, rateLimited}, "fetch": {openaiOK}})),
		get("models, by a policy", "/v1/models", callerKey, known(onlySpare)),
	}
}

// streams are answers that come piece by piece.
func streams() []*scenario {
	chat := streaming(to("only", messages))
	return []*scenario{
		post("a stream", "/v1/chat/completions", chat, alphabet{"stream": {streamed(openaiStream), streamed(openaiNonsense), notAStream, busy, down, fault(abi.FaultHead)}}),
		post("a stream that comes in halves", "/v1/chat/completions", chat, alphabet{"stream": {streamed(openaiSplit), streamed(openaiLines), streamed(openaiError), streamed(openaiNoMark)}}),
		post("a stream with a long beginning", "/v1/chat/completions", streaming(to("balanced", messages)), alphabet{"stream": {streamed(openaiWordy), down}}, allowing("only", "spare")),
		post("a stream with a long beginning, translated", "/v1/messages", streaming(to("balanced", messages)), alphabet{"stream": {streamed(openaiWordy)}}, allowing("only", "spare")),
		post("a stream of messages with a long beginning", "/v1/messages", streaming(to("verses", messages)), alphabet{"stream": {streamed(anthropicPing), down}}, allowing("poet", "bard")),
		post("a stream of a response with a long beginning", "/v1/responses", streaming(to("wisdom", input)), alphabet{"stream": {streamed(responsesPing), down}}, allowing("sage", "elder")),
		post("a stream whose event does not end", "/v1/chat/completions", chat, alphabet{"stream": {streamed(openaiEndless)}}, func(s *scenario) { s.maxKept, s.leaves = 1<<20, false }),
		post("a stream that is filtered", "/v1/responses", streaming(to("balanced", input)), alphabet{"stream": {streamed(openaiFiltered)}}, allowing("only", "spare")),
		post("a stream of a family without a dialect", "/v1/responses", streaming(to("strange", input)), alphabet{"stream twin": {streamed(geminiStream), down}, "stream only": {streamed(openaiStream)}},
			allowing("twin", "only")),
		post("our own stream", "/api/ai/chat", nativeBody, alphabet{"stream": {streamed(openaiStream), streamed(openaiError), down}}),
		post("a stream of messages, passed on", "/v1/messages", streaming(to("poet", messages)), alphabet{"stream": {streamed(anthropicStream), streamed(anthropicError)}}, allowing("poet")),
		post("a stream of messages, translated", "/v1/messages", chat, alphabet{"stream": {streamed(openaiStream), streamed(openaiError)}}),
		post("a stream of a response, passed on", "/v1/responses", streaming(to("sage", input)), alphabet{"stream": {streamed(responsesStream), streamed(responsesError)}}, allowing("sage")),
		post("a stream of a response, translated", "/v1/responses", streaming(to("only", input)), alphabet{"stream": {streamed(openaiStream), streamed(openaiError)}}),
		post("a stream that falls back", "/v1/chat/completions", streaming(to("mixed", messages)), alphabet{
			"stream poet": {streamed(anthropicStream), streamed(anthropicError), down}, "stream only": {streamed(openaiStream), streamed(openaiError), busy},
		}, allowing("poet", "only")),
		post("a stream under an idempotency key", "/v1/chat/completions", chat, alphabet{"admit": {admitted, running, replayed("data: [DONE]")}, "stream": {streamed(openaiStream), down}}, saying(header("idempotency-key", "i1"))),
		post("a stream that is kept and falls back", "/v1/chat/completions", streaming(to("balanced", messages)), alphabet{
			"key": {record(cached)}, "stream": {streamed(openaiStream), down},
		}, allowing("only", "spare")),
		post("a stream in test mode", "/v1/chat/completions", chat, alphabet{"key": {record(testing5)}}, by(developmentKey), naming("only")),
		post("a stream of the mock, word by word", "/api/ai/chat", nativeBody, alphabet{"key": {record(both(testing5, cached))}}, by(developmentKey), naming("only"), in(paced)),
		post("a stream of the mock that is kept", "/v1/chat/completions", chat, alphabet{"key": {record(testing5)}}, by(developmentKey), naming("only"), in(paced), saying(header("idempotency-key", "i1"))),
		post("a stream that falls back on the mock", "/v1/messages", streaming(to("echoing", messages)), alphabet{"stream": {streamed(openaiWordy), streamed(openaiError), down}}, naming("parrot"), in(paced)),
		post("a stream that falls back on the mock, which is quick", "/v1/messages", streaming(to("echoing", messages)), alphabet{"stream": {streamed(openaiWordy), streamed(openaiError)}}, naming("parrot")),
		post("time that runs out for a stream", "/v1/chat/completions", streaming(to("frontier", messages)), alphabet{
			"stream": {streamed(openaiHasty), fault(abi.FaultHead), fault(abi.FaultTotal), soon},
		}, allowing("only", "spare", "third"), in(patient), clocked),
		post("a stream that goes on after its end", "/v1/chat/completions", chat, alphabet{"key": {record(cached)}, "stream": {streamed(openaiPostscript)}}),
		post("a stream whose reservation is extended", "/v1/chat/completions", streaming(to("frontier", `"messages":[{"role":"user","content":"`+promptMark+`"}],"max_tokens":1`)), alphabet{
			"stream": {streamed(openaiBrief), fault(abi.FaultHead)},
			"extend": {admitted, short},
			"grant":  {granted, noMore},
		}, allowing("only", "spare", "third")),
		post("every answer to an extension", "/v1/chat/completions", streaming(to("only", `"messages":[{"role":"user","content":"`+promptMark+`"}],"max_tokens":1`)), alphabet{
			"stream": {streamed(openaiLong)},
			"extend": {admitted, short, unknown, inactive, rateLimited, failed, overloaded, damaged}, "grant": {granted, noMore, recallOne, failed, damaged},
		}),
		post("a stream whose budget ends", "/v1/chat/completions", streaming(to("only", `"messages":[{"role":"user","content":"`+promptMark+`"}],"max_tokens":1`)), alphabet{
			"stream": {streamed(openaiLong)},
			"extend": {admitted, short}, "grant": {granted, noMore, recall}, "flush": {news, noNews, failed},
		}),
	}
}

// others are the endpoints that are no completions.
func others() []*scenario {
	count := to("poet", `"messages":[{"role":"user","content":"`+promptMark+`"}]`)
	return []*scenario{
		post("embeddings", "/v1/embeddings", to("vectors", `"input":"`+promptMark+`"`), alphabet{"fetch": append([]choice{embedded, notJSON, down}, everyFault[:3]...)}, allowing("vectors")),
		post("embeddings in test mode", "/v1/embeddings", to("vectors", `"input":"`+promptMark+`"`), alphabet{"key": {record(testing5)}}, by(developmentKey), naming("vectors")),
		post("a count of tokens", "/v1/messages/count_tokens", count, alphabet{"admit": {admitted, rateLimited, stale(nil)}, "fetch": {counted, notJSON, lateCount, fault(abi.FaultHead)}}, allowing("poet")),
		post("a count of tokens with a project's key", "/v1/messages/count_tokens", count, alphabet{
			"key": {record(withPolicy(3))}, "policy": {ok("the policy", policyOf(3, ownAnthropic))}, "unseal": {ok("open", []byte("marked-other-key")), failed}, "fetch": {counted, down},
		}, allowing("poet")),
		post("a count of tokens that is estimated", "/v1/messages/count_tokens", to("only", `"messages":[{"role":"user","content":"`+promptMark+`"}]`), nil),
		get("models", "/v1/models", callerKey, alphabet{"admit": {admitted, stale(nil), inactive, failed}}),
		get("a model", "/v1/models/only", callerKey, alphabet{"admit": {admitted, unknown}}, saying(header("anthropic-version", "2023-06-01"))),
		get("a model that is not there", "/v1/models/nobody", callerKey, nil),
		get("health", "/api/health", projectKey, alphabet{"key": {absent, record(func(r *doc.Record) { r.Kind = keys.Project })},
			"admit check": {admitted, inactive, overloaded, stale(func(r *doc.Record) { r.Kind = keys.Project })}}),
		get("usage", "/api/usage", callerKey, alphabet{
			"report": {figures, flushFirst, waitFirst, failed, damaged}, "report final": {figures, failed}, "flush": {openNews, news, noNews, failed}, "absorb": {done, failed},
		}, asking("projectId=prj_1&period=day")),
		get("usage of another project", "/api/usage", callerKey, nil, asking("projectId=prj_2")),
		get("usage, asked wrongly", "/api/usage", callerKey, alphabet{"admit": {admitted, inactive}}, asking("period=year")),
	}
}

func ownBoth(p *doc.Policy) {
	ownOpenAI(p)
	p.ProviderKeys = append(p.ProviderKeys, doc.ProviderKey{Provider: "anthropic", KeyID: "m1", Sealed: []byte("sealed-anthropic-key-sealed-anthropic")})
}

func ownLost(p *doc.Policy) {
	p.ProviderKeys = []doc.ProviderKey{{Provider: "openai", KeyID: "m9", Sealed: []byte("sealed-openai-key-sealed-openai-key")}}
}

func ownAnthropic(p *doc.Policy) {
	p.ProviderKeys = []doc.ProviderKey{{Provider: "anthropic", KeyID: "m1", Sealed: []byte("sealed-anthropic-key-sealed-anthropic")}}
}
