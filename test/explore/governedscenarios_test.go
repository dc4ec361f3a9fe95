package explore_test

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/governor"
)

// plan selects the plan that includes the Governor.
func plan(r *doc.Record) { r.Plan = "governed" }

// Governor settings of the scenarios.
func redacts(s *governor.Settings) {
	s.Reversible = true
	s.Actions = append(s.Actions, governor.RuleActions{Rule: "personal.email", Input: governor.Redact, Output: governor.Flag})
}

func blocksRequests(s *governor.Settings) {
	s.Actions = append(s.Actions, governor.RuleActions{Rule: "personal.email", Input: governor.Block, Output: governor.Flag})
}

func reviews(s *governor.Settings) { s.AutoApprove = 0 }

// blocksAnswers blocks the marked word in responses, and redactsAnswers replaces it.
func blocksAnswers(s *governor.Settings) { listed(s, governor.Block) }

func redactsAnswers(s *governor.Settings) { listed(s, governor.Redact) }

func listed(s *governor.Settings, output governor.Action) {
	s.Lists = []governor.KeywordList{{Name: "marked", Severity: governor.High, Input: governor.Flag, Output: output, Words: []string{blockedMark}}}
}

func strictly(s *governor.Settings) { s.Classifier.Strict = true }

func failClosed(s *governor.Settings) { s.Classifier.FailClosed = true }

func judgedBy(model string) func(*governor.Settings) {
	return func(s *governor.Settings) {
		s.Classifier = governor.Classifier{Kind: governor.ChatClassifier, Model: model, TimeoutMs: 2000, Threshold: 50}
	}
}

func settings(changes ...func(*governor.Settings)) func(*doc.Policy) {
	return func(p *doc.Policy) {
		s := governor.NewSettings()
		s.Enabled = true
		for _, change := range changes {
			change(&s)
		}
		p.Governor = s.Encode()
	}
}

// under returns replies with the record of a key, and with the policy of a project that uses the Governor.
func under(p func(*doc.Policy), changes ...func(*doc.Record)) alphabet {
	return alphabet{
		"key":    {record(both(append([]func(*doc.Record){plan, withPolicy(currentPolicy)}, changes...)...))},
		"policy": {ok("the policy", policyOf(currentPolicy, p))},
	}
}

// governedPost returns a request with a marked value under the Governor.
func governedPost(name, path, body string, p func(*doc.Policy), more alphabet, changes ...func(*scenario)) *scenario {
	return post(name, path, body, under(p).with(more), append([]func(*scenario){func(s *scenario) { s.governed = true }}, changes...)...)
}

// violates sets the violation of every admitted request.
func violates(violation string) func(*scenario) {
	return func(s *scenario) { s.violation = violation }
}

const (
	writeTo       = `"messages":[{"role":"user","content":"Write to ` + redactedMark + `"}],"max_tokens":4`
	reviewedEmail = "input personal.email review"
	blockedEmail  = "input personal.email block"
)

// stalePolicy returns a newer record with the next policy.
func stalePolicy() choice {
	return stale(both(plan, withPolicy(currentPolicy+1))).only(1)
}

// answered replaces the text of a provider's responses.
func answered(c choice, name, text string) choice {
	c.name = name
	c.event.Data = []byte(strings.ReplaceAll(string(c.event.Data), completionMark, text))
	return c
}

// placeholders is a stream in which the placeholder is split into two parts.
var placeholders = &script{name: "a stream with a placeholder", faults: streamFaults[1:2], pieces: []piece{
	text("start", openaiStart+chunkOf(`{"content":"`+completionMark+` [EMA"}`, "null")), text("rest", chunkOf(`{"content":"IL_1], and"}`, "null")),
	last("finish", openaiFinish+openaiEnd),
}}

// marked is a stream in which the marked word is split into two parts. markedLast is a stream that ends with it.
var (
	marked = &script{name: "a stream with a marked word", faults: streamFaults[1:2], pieces: []piece{
		text("start", openaiStart+chunkOf(`{"content":"`+completionMark+` `+blockedMark[:5]+`"}`, "null")),
		text("rest", chunkOf(`{"content":"`+blockedMark[5:]+`, and"}`, "null")),
		last("finish", openaiFinish+openaiEnd),
	}}
	markedLast = &script{name: "messages that end with a marked word", faults: streamFaults[1:2], pieces: []piece{
		text("start", anthropicStart), text("text", strings.Replace(anthropicText, completionMark, completionMark+" "+blockedMark, 1)), last("stop", anthropicEnd),
	}}
)

var greeting = answered(openaiOK, "200 with a placeholder", completionMark+" [EMAIL_1]")

// governed returns requests whose texts the Governor checks.
func governed() []*scenario {
	chat, cachedToo := bodyFor("only", writeTo), record(both(plan, withPolicy(currentPolicy), cached))
	newPolicy := func(change func(*doc.Policy)) alphabet {
		return alphabet{"policy 4": {ok("the policy", policyOf(4, change))}, "admit": {admitted, stalePolicy()}, "fetch": {greeting}}
	}
	return []*scenario{
		governedPost("redaction", "/v1/chat/completions", chat, settings(redacts), alphabet{
			"key memory": inMemory(both(plan, withPolicy(currentPolicy)), policyOf(currentPolicy, settings(redacts))),
			"admit":      {admitted, rateLimited, short.only(1), failed}, "fetch": {greeting, down, notJSON},
		}),
		governedPost("redaction with a fallback", "/v1/chat/completions", bodyFor("mixed", writeTo), settings(redacts), alphabet{
			"fetch poet": {answered(anthropicOK, "200", "[EMAIL_1]"), down}, "fetch only": {greeting, down},
		}, allow("poet", "only")),
		governedPost("redaction in a cacheable request", "/v1/chat/completions", chat, settings(redacts), alphabet{"key": {cachedToo}, "fetch": {greeting, down}}),
		governedPost("redaction with an idempotency key", "/v1/chat/completions", chat, settings(redacts), alphabet{"admit": {admitted, running, mismatch}, "fetch": {greeting, down}},
			withHeaders(header("idempotency-key", "i1"))),
		governedPost("redaction in embeddings", "/v1/embeddings", bodyFor("vectors", `"input":"`+redactedMark+`"`), settings(redacts), alphabet{"fetch": {embedded, down}}, allow("vectors")),
		governedPost("redaction in a token count", "/v1/messages/count_tokens", bodyFor("poet", `"messages":[{"role":"user","content":"`+redactedMark+`"}]`), settings(redacts), alphabet{"fetch": {counted, down}}, allow("poet")),
		governedPost("review", "/v1/chat/completions", chat, settings(reviews), alphabet{"admit": {admitted, rateLimited, short.only(1)}, "grant": {granted, noMore}, "fetch": {openaiOK, down}}, violates(reviewedEmail), marksNothing),
		governedPost("blocked request", "/v1/chat/completions", chat, settings(blocksRequests), alphabet{"admit": {admitted, rateLimited, stale(both(plan, withPolicy(currentPolicy))).only(1), inactive, failed}},
			violates(blockedEmail), allow()),
		governedPost("from redaction to no Governor", "/v1/chat/completions", chat, settings(redacts), newPolicy(nil), marksNothing),
		governedPost("from no Governor to redaction", "/v1/chat/completions", chat, nil, newPolicy(settings(redacts)), marksNothing),
		governedPost("from block to redaction", "/v1/chat/completions", chat, settings(blocksRequests), newPolicy(settings(redacts))),
		governedPost("from redaction to block", "/v1/chat/completions", chat, settings(redacts), newPolicy(settings(blocksRequests))),
		governedPost("blocked response", "/v1/chat/completions", bodyFor("balanced", messages), settings(blocksAnswers), alphabet{"fetch": {openaiOK, answered(openaiOK, "200 with a marked word", blockedMark), down}}, allow("only", "spare"),
			withHeaders(header("idempotency-key", "i1"))),
		governedPost("blocked response, translated", "/v1/messages", bodyFor("only", messages), settings(blocksAnswers), alphabet{"fetch": {answered(openaiOK, "200 with a marked word", blockedMark)}}),
		governedPost("redacted stream", "/v1/chat/completions", streaming(bodyFor("only", messages)), settings(redactsAnswers), alphabet{"key": {cachedToo}, "stream": {streamed(marked)}}),
		governedPost("restored stream", "/v1/chat/completions", streaming(chat), settings(redacts), alphabet{"key": {cachedToo}, "stream": {streamed(placeholders), down}}),
		governedPost("restored stream, translated", "/v1/responses", streaming(bodyFor("only", `"input":"`+redactedMark+`"`)), settings(redacts), alphabet{"stream": {streamed(placeholders)}}),
		governedPost("blocked stream", "/v1/chat/completions", streaming(bodyFor("balanced", messages)), settings(blocksAnswers), alphabet{"stream": {streamed(marked), down}}, allow("only", "spare")),
		governedPost("blocked stream, translated", "/v1/messages", streaming(bodyFor("only", messages)), settings(blocksAnswers), alphabet{"stream": {streamed(marked)}}),
		governedPost("stream that is blocked at its end", "/v1/messages", streaming(bodyFor("poet", messages)), settings(blocksAnswers), alphabet{"key": {cachedToo}, "stream": {streamed(markedLast)}}, allow("poet")),
		governedPost("validation", "/api/governor/validate", `{"text":"`+redactedMark+`"}`, settings(redacts), alphabet{
			"admit": {admitted, rateLimited, stale(both(plan, withPolicy(currentPolicy))).only(1), inactive, failed},
		}),
		post("validation without a policy", "/api/governor/validate", `{"texts":["`+promptMark+`"]}`, alphabet{"key": {record(plan), record(nil).named("a record of another plan")}, "admit": {admitted, stale(plan).only(1)}}),
		post("invalid validation", "/api/governor/validate", `{"text":5}`, alphabet{"key": {record(plan)}, "admit": {admitted, rateLimited}}),
		governedPost("settings that cannot be decoded", "/v1/chat/completions", chat, func(p *doc.Policy) { p.Governor = []byte{255} }, nil, reject(503), allow()),
	}
}

// marksNothing turns off the checks of marked texts. It is for requests whose marked value may pass.
func marksNothing(s *scenario) { s.governed = false }

func (c choice) named(name string) choice {
	c.name = name
	return c
}

func judgment(name, text string) choice {
	return choice{name: name, event: abi.Event{Kind: abi.EventResponse, Code: 200, Headers: jsonType, Data: []byte(strings.Replace(openaiAnswer, completionMark, text, 1))}}
}

var (
	safe      = judgment("safe", `{\"risk\":10}`)
	unsafe    = judgment("unsafe", `{\"risk\":90}`)
	undecided = judgment("undecided", `I cannot say`)
)

func classified() []*scenario {
	beside := func(name, path, body string, more alphabet, changes ...func(*scenario)) *scenario {
		s := governedPost(name, path, body, settings(judgedBy("guard")), alphabet{"classify": {safe, unsafe, fault(abi.FaultTotal)}}.with(more), changes...)
		s.classifier = "guard"
		return s
	}
	before := func(name string, more alphabet, changes ...func(*governor.Settings)) *scenario {
		s := governedPost(name, "/v1/chat/completions", bodyFor("balanced", writeTo), settings(append([]func(*governor.Settings){redacts, judgedBy("guard"), strictly}, changes...)...),
			alphabet{"fetch": {greeting, down}}.with(more), allow("only", "spare"))
		s.classifier = "guard"
		return s
	}
	failures := []choice{safe, unsafe, undecided, down, notJSON, fault(abi.FaultConnect), fault(abi.FaultHead), fault(abi.FaultTooLarge)}
	return []*scenario{
		before("classifier before the request", alphabet{"classify": failures, "admit": {admitted, rateLimited, short.only(1)}}),
		before("classifier that must respond", alphabet{"classify": failures}, failClosed),
		before("classifier without credentials", nil, judgedBy("naked"), strictly),
		beside("classifier beside the request", "/v1/chat/completions", bodyFor("only", messages), alphabet{"fetch": {openaiOK, down, busy, fault(abi.FaultTotal)}}, in(patient)),
		beside("classifier beside a translated request", "/v1/messages", bodyFor("only", messages), alphabet{"fetch": {openaiOK, notJSON}}, withHeaders(header("idempotency-key", "i1"))),
		beside("classifier beside a stream", "/v1/chat/completions", streaming(bodyFor("only", messages)), alphabet{
			"key": {record(both(plan, withPolicy(currentPolicy), cached))}, "stream": {streamed(openaiBrief), down},
		}),
		beside("classifier beside the mock", "/api/ai/chat", strings.Replace(nativeTo("balanced"), `"quality":"balanced",`, "", 1), alphabet{"policy": {ok("the policy", policyOf(currentPolicy, mockFirst(settings(judgedBy("guard")))))}}, mayName("parrot"), in(paced), allow("parrot")),
		beside("classifier and a project provider key", "/v1/chat/completions", bodyFor("only", messages), alphabet{
			"policy": {ok("the policy", policyOf(currentPolicy, withKeyAnd(settings(judgedBy("guard")))))}, "unseal": {ok("open", []byte(projectOpenAIKey)), failed}, "fetch": {openaiOK, down},
		}, reject(503)),
	}
}

// mockFirst routes a tier to the mock.
func mockFirst(change func(*doc.Policy)) func(*doc.Policy) {
	return func(p *doc.Policy) {
		change(p)
		p.Routes = []doc.Route{{Tier: "balanced", Strategy: 1, Targets: []doc.RouteTarget{{Model: "parrot"}}}}
	}
}

func withKeyAnd(change func(*doc.Policy)) func(*doc.Policy) {
	return func(p *doc.Policy) {
		change(p)
		withOpenAIKey(p)
	}
}
