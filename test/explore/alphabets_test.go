package explore_test

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

func ok(name string, data []byte) choice { return choice{name: name, event: abi.Event{Data: data}} }

func code(name string, code uint64) choice { return choice{name: name, event: abi.Event{Code: code}} }

var (
	absent     = code("absent", abi.OutcomeAbsent)
	failed     = code("failed", abi.OutcomeFailed)
	overloaded = code("overloaded", abi.OutcomeOverloaded)
	damaged    = ok("damaged", []byte{0xff, 0xff})
	done       = ok("done", nil)
)

var windows = []keymeter.Window{{WindowMs: calendar.SecondMs, Limit: 10, Remaining: 9, ResetMs: 1000}, {WindowMs: calendar.DayMs, Limit: 1000, Remaining: 999, ResetMs: 1000}}

func verdict(name string, reply keymeter.AdmitReply) choice {
	reply.Windows = windows
	return ok(name, reply.Encode())
}

var period = (&doc.Record{}).Period(calendar.Day(startMs))

var (
	admitted           = choice{name: "admitted", reply: reserving(false)}
	admittedLess       = choice{name: "admitted with less", reply: reserving(true)}
	overOwn            = ownBudget("over the key's own budget", 0)
	overLentOwn        = ownBudget("over the key's own budget, of which a part is lent", 2600)
	short              = verdict("short", keymeter.AdmitReply{Verdict: keymeter.Short, Period: period, Epoch: 3, HeldPico: 500, NeedPico: 1000, LeastPico: 100})
	rateLimited        = verdict("rate limited", keymeter.AdmitReply{Verdict: keymeter.RateLimited, RetryMs: 500})
	inactive           = verdict("inactive", keymeter.AdmitReply{Verdict: keymeter.Inactive})
	unknown            = verdict("unknown", keymeter.AdmitReply{Verdict: keymeter.Unknown})
	concurrencyLimited = verdict("concurrency limited", keymeter.AdmitReply{Verdict: keymeter.ConcurrencyLimited})
	running            = verdict("running", keymeter.AdmitReply{Verdict: keymeter.Running})
	mismatch           = verdict("mismatch", keymeter.AdmitReply{Verdict: keymeter.Mismatch})
	outcomeUnknown     = verdict("outcome unknown", keymeter.AdmitReply{Verdict: keymeter.OutcomeUnknown})
	unreplayable       = verdict("unreplayable", keymeter.AdmitReply{Verdict: keymeter.Unreplayable})
)

// reserving admits a request, with its full reservation or with its smallest one.
func reserving(less bool) func(any) []byte {
	return func(command any) []byte {
		reply := keymeter.AdmitReply{Verdict: keymeter.Admitted, Windows: windows}
		switch c := command.(type) {
		case *keymeter.Admit:
			reply.ReservedPico = c.AmountPico
			if less {
				reply.ReservedPico = c.LeastPico
			}
		case *keymeter.Extend:
			reply.ReservedPico = c.TotalPico
			if less {
				reply.ReservedPico = c.LeastPico
			}
		}
		return reply.Encode()
	}
}

func stale(change func(*doc.Record)) choice {
	return verdict("stale", keymeter.AdmitReply{Verdict: keymeter.Stale, Record: keyRecord(both(newer, change))})
}

func record(change func(*doc.Record)) choice { return ok("record", keyRecord(change)) }

// inMemory returns what host memory has under the key: the record alone, or with the policy beside it.
func inMemory(change func(*doc.Record), policy []byte) []choice {
	known := doc.Known{Record: keyRecord(change), Policy: policy}
	return []choice{record(change), ok("record with the policy", known.Encode())}
}

func grant(name string, reply ledger.GrantReply) choice {
	reply.Period, reply.Epoch = period, 3
	return ok(name, reply.Encode())
}

var (
	granted     = grant("granted", ledger.GrantReply{Granted: true, TotalPico: 1 << 40})
	grantedLast = grant("granted the last", ledger.GrantReply{Granted: true, Final: true, TotalPico: 1 << 20})
	noMore      = grant("no more", ledger.GrantReply{})
	nextPage    = grant("next page of meters", ledger.GrantReply{Next: "meter-9"}).given(afterMeter("meter-3"))
	recall      = grant("recall", ledger.GrantReply{Recall: []string{"meter-2", "meter-3"}, Next: "meter-3"}).given(afterMeter(""))
	recallOne   = grant("recall one", ledger.GrantReply{Recall: []string{"meter-2"}, Next: "meter-3"}).given(afterMeter(""))
)

// afterMeter accepts only a Grant that continues after the given meter. If meter is "", it accepts only the first
// Grant. The Ledger never names a meter twice.
func afterMeter(meter string) func(any) bool {
	return func(command any) bool {
		g, ok := command.(*ledger.Grant)
		return ok && g.After == meter
	}
}

func (c choice) only(times int) choice {
	c.times = times
	return c
}

func (c choice) given(when func(any) bool) choice {
	c.when = when
	return c
}

var (
	someUsage = ok("usage", (&keymeter.FlushReply{Absorbs: [][]byte{{1}}}).Encode())
	openUsage = ok("usage, and reservations still open", (&keymeter.FlushReply{Absorbs: [][]byte{{1}}, Open: 1}).Encode())
	noUsage   = ok("no usage", (&keymeter.FlushReply{}).Encode())
)

func fault(code uint64) choice {
	return choice{name: faultName(code), event: abi.Event{Kind: abi.EventFault, Code: code}}
}

func response(name string, status uint64, body string) choice {
	return choice{name: name, event: abi.Event{Kind: abi.EventResponse, Code: status, Headers: jsonType, Data: []byte(body)}}
}

func streamed(s *script) choice {
	return choice{name: s.name, script: s, event: abi.Event{Kind: abi.EventHead, Code: 200, Headers: eventStreamType}}
}

var (
	jsonType        = []abi.Header{{Name: "content-type", Value: "application/json"}}
	eventStreamType = []abi.Header{{Name: "content-type", Value: "text/event-stream"}}
)

const openaiAnswer = `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` + completionMark +
	`"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`

var (
	openaiOK     = choice{name: "200", clean: true, event: abi.Event{Kind: abi.EventResponse, Code: 200, Headers: jsonType, Data: []byte(openaiAnswer)}}
	notJSON      = response("200 that is not JSON", 200, "<html>")
	busy         = response("429", 429, `{"error":{"message":"slow down, `+openaiKey+`"}}`)
	down         = response("500", 500, `{"error":{"message":"oops"}}`)
	rejected     = response("400", 400, `{"error":{"message":"no `+promptMark+`"}}`)
	unauthorized = response("401", 401, `{"error":{"message":"invalid key `+openaiKey+`"}}`)
	tooLong      = response("400 too long", 400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`)
	everyFault   = []choice{
		fault(abi.FaultConnect), fault(abi.FaultHead), fault(abi.FaultFirstByte), fault(abi.FaultIdle), fault(abi.FaultTotal), fault(abi.FaultBroken),
		fault(abi.FaultTooLarge), fault(abi.FaultUndelivered),
	}
	streamFaults = []uint64{abi.FaultFirstByte, abi.FaultIdle, abi.FaultTotal, abi.FaultBroken}
)

func chunkOf(delta, finish string) string {
	return `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}` + "\n\n"
}

func text(name, data string) piece { return piece{name: name, data: []byte(data)} }

func last(name, data string) piece { return piece{name: name, data: []byte(data), ends: true} }

const openaiEnd = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}` +
	"\n\ndata: [DONE]\n\n"

var (
	openaiStart  = chunkOf(`{"role":"assistant","content":""}`, "null")
	openaiText   = chunkOf(`{"content":"`+completionMark+` and so on, word for word for word"}`, "null")
	openaiFinish = chunkOf(`{}`, `"stop"`)

	openaiStream = &script{name: "a stream", faults: streamFaults, pieces: []piece{
		text("start", openaiStart), text("text", openaiText), last("finish", openaiFinish+openaiEnd),
	}}
	openaiSplit = &script{name: "a split stream", faults: streamFaults[1:2], pieces: []piece{
		text("half an event", openaiText[:40]), text("the other half", openaiText[40:]), last("finish", openaiFinish+openaiEnd),
	}}
	openaiError = &script{name: "an error", bad: true, faults: streamFaults[1:2], pieces: []piece{
		text("start", openaiStart), text("error", `data: {"error":{"message":"overloaded `+openaiKey+`"}}`+"\n\n"),
	}}
	openaiInvalid = &script{name: "invalid JSON", bad: true, noEnd: true, pieces: []piece{text("invalid JSON", "data: {\n\n")}}
	openaiNoMark  = &script{name: "no end marker", pieces: []piece{text("text", openaiText), last("finish", openaiFinish)}}
)

// base is the alphabet of most requests, without failures.
var base = alphabet{
	"body":   {ok("whole", nil)},
	"key":    {record(nil)},
	"admit":  {admitted},
	"grant":  {granted},
	"extend": {admitted},
	"flush":  {noUsage},
	"absorb": {done},
	"tally":  {done},
	"cache":  {absent},
	"policy": {absent},
	"settle": {done},
}

// A stream in Anthropic's Messages format.
const (
	anthropicStart = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
	anthropicText = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" + completionMark + "\"}}\n\n"
	anthropicEnd  = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":2}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	anthropicAnswer = `{"id":"m1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"` + completionMark +
		`"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":2}}`
)

var (
	anthropicStream = &script{name: "messages", faults: streamFaults[1:2], pieces: []piece{
		text("start", anthropicStart), text("text", anthropicText), last("stop", anthropicEnd),
	}}
	anthropicError = &script{name: "messages with an error", bad: true, noEnd: true, pieces: []piece{
		text("start", anthropicStart), text("error", "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"later\"}}\n\n"),
	}}
	anthropicOK = choice{name: "200", clean: true, event: abi.Event{Kind: abi.EventResponse, Code: 200, Headers: jsonType, Data: []byte(anthropicAnswer)}}
)

// A stream in OpenAI's Responses format.
const (
	responsesStart  = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r1\",\"model\":\"m\"}}\n\n"
	responsesText   = "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"" + completionMark + "\"}\n\n"
	responsesWhole  = `{"id":"r1","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"message","id":"i1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"` + completionMark + `","annotations":[]}]}],"usage":{"input_tokens":5,"output_tokens":2,"total_tokens":7}}`
	responsesEnd    = "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":" + responsesWhole + "}\n\n"
	responsesFailed = "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\",\"message\":\"no\"}}}\n\n"
)

var (
	responsesStream = &script{name: "response", faults: streamFaults[1:2], pieces: []piece{
		text("start", responsesStart), text("text", responsesText), last("completed", responsesEnd),
	}}
	responsesError = &script{name: "response that fails", bad: true, noEnd: true, pieces: []piece{text("start", responsesStart), text("failed", responsesFailed)}}
	responsesOK    = choice{name: "200", clean: true, event: abi.Event{Kind: abi.EventResponse, Code: 200, Headers: jsonType, Data: []byte(responsesWhole)}}
)

var (
	notAStream = choice{name: "a head of another type", script: openaiInvalid, event: abi.Event{Kind: abi.EventHead, Code: 200, Headers: jsonType}}
	counted    = response("200", 200, `{"input_tokens":7}`)
	embedded   = choice{name: "200", clean: true, event: abi.Event{Kind: abi.EventResponse, Code: 200, Headers: jsonType,
		Data: []byte(`{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5]}],"model":"m","usage":{"prompt_tokens":3,"total_tokens":3}}`)}}
	notJSONText = choice{name: "200 with a text that is not JSON", event: openaiOK.event}
	jsonText    = choice{name: "200 with JSON", clean: true, event: abi.Event{Kind: abi.EventResponse, Code: 200, Headers: jsonType,
		Data: []byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":"{}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`)}}
	silent = choice{name: "200 without usage", event: abi.Event{Kind: abi.EventResponse, Code: 200, Headers: jsonType,
		Data: []byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}`)}}
	cutOff = choice{name: "200 that is cut off", event: abi.Event{Kind: abi.EventResponse, Code: 200, Headers: jsonType,
		Data: []byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"length"}],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`)}}
)

func report(name string, reply ledger.ReportReply) choice {
	reply.Period = period
	return ok(name, reply.Encode())
}

var (
	figures    = report("figures", ledger.ReportReply{BudgetPico: 100, Models: []ledger.Usage{{Model: "only", Requests: 1}}})
	flushFirst = report("flush first", ledger.ReportReply{Flush: []string{"meter-2", "meter-3"}})
	waitFirst  = report("wait first", ledger.ReportReply{WaitMs: 100})
)

func policyOf(version uint64, change func(*doc.Policy)) []byte {
	p := doc.Policy{Version: version}
	if change != nil {
		change(&p)
	}
	return p.Encode()
}

func withOpenAIKey(p *doc.Policy) {
	p.ProviderKeys = []doc.ProviderKey{{Provider: "openai", KeyID: "m1", Sealed: []byte("sealed-openai-key-sealed-openai-key")}}
}

func spareModelFirst(p *doc.Policy) {
	p.Routes = []doc.Route{{Tier: "balanced", Strategy: 1, Targets: []doc.RouteTarget{{Model: "spare"}, {Model: "third"}}}}
	p.Models = []string{"balanced"}
}

func onlySpareModel(p *doc.Policy) { p.Models = []string{"spare"} }

var openaiLong = &script{name: "a long stream", faults: streamFaults[1:2], pieces: []piece{
	text("text", openaiText), text("more", openaiText), text("still more", openaiText), last("finish", openaiFinish+openaiEnd),
}}

// openaiBurst is a stream whose whole text arrives in one chunk, as it does after a proxy that buffers.
var openaiBurst = &script{name: "a burst", faults: streamFaults[1:2], pieces: []piece{
	text("start", openaiStart), text("burst", strings.Repeat(openaiText, 6)), last("more and the end", strings.Repeat(openaiText, 2)+openaiFinish+openaiEnd),
}}

// openaiBrief is a stream in three pieces: the part before the text, the text, and the part after it.
var openaiBrief = &script{name: "a brief stream", faults: streamFaults[1:2], noEnd: true, pieces: []piece{
	text("start", openaiStart), text("text", openaiText), last("finish", openaiFinish+openaiEnd),
}}

// withHeaders returns a copy of the choice with another name and additional headers.
func (c choice) withHeaders(name string, headers ...abi.Header) choice {
	c.name = name
	c.event.Headers = append(append([]abi.Header(nil), c.event.Headers...), headers...)
	return c
}

const geminiAnswer = `{"candidates":[{"content":{"role":"model","parts":[{"text":"` + completionMark + `"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":2,"totalTokenCount":7}}`

var (
	geminiOK     = choice{name: "200", clean: true, event: abi.Event{Kind: abi.EventResponse, Code: 200, Headers: jsonType, Data: []byte(geminiAnswer)}}
	geminiStream = &script{name: "candidates", faults: streamFaults[1:2], pieces: []piece{last("all", "data: "+geminiAnswer+"\n\n")}}

	negative = choice{name: "200 with invalid usage", event: abi.Event{Kind: abi.EventResponse, Code: 200, Headers: jsonType,
		Data: []byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":-5,"completion_tokens":2.5,"total_tokens":7e12}}`)}}
	soon   = busy.withHeaders("429, in a second", abi.Header{Name: "retry-after", Value: "1"})
	late   = busy.withHeaders("429, in a minute", abi.Header{Name: "retry-after", Value: "60"})
	onDate = busy.withHeaders("429, at a date", abi.Header{Name: "retry-after", Value: "Sat, 21 Nov 2026 12:00:01 GMT"})

	// openaiLongStart sends so much data before its text that the gateway cannot hold it back.
	openaiLongStart = &script{name: "a stream with a long start", faults: streamFaults[1:2], pieces: []piece{
		text("many starts", strings.Repeat(openaiStart, 20)), text("text", openaiText), last("finish", openaiFinish+openaiEnd),
	}}
	// openaiEndless never ends an event.
	openaiEndless = &script{name: "an event without an end", bad: true, pieces: []piece{
		text("a start", "data: "+strings.Repeat("x", 1<<19)), text("more", strings.Repeat("x", 1<<19)), text("still more", strings.Repeat("x", 1<<19)),
	}}
	openaiFiltered = &script{name: "a filtered stream", faults: streamFaults[1:2], pieces: []piece{
		text("start", openaiStart), text("filtered", chunkOf(`{}`, `"content_filter"`)), last("done", openaiEnd),
	}}
)

// openaiTrailing sends data after its end marker.
var openaiTrailing = &script{name: "a stream with trailing data", faults: streamFaults[1:2], pieces: []piece{
	text("text", openaiText), last("finish", openaiFinish+openaiEnd), text("trailing data", openaiText),
}}

var noChoices = response("200 without choices", 200, `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`)

var openaiOnePiece = &script{name: "a one-piece stream", faults: streamFaults[:2], noEnd: true, pieces: []piece{last("all", openaiText+openaiFinish+openaiEnd)}}

const ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n"

// anthropicPing and responsesPing send so much data before their text that the gateway cannot hold it back.
var (
	anthropicPing = &script{name: "messages that ping", faults: streamFaults[1:2], pieces: []piece{
		text("start and pings", anthropicStart+strings.Repeat(ping, 60)), text("text", anthropicText), last("stop", anthropicEnd),
	}}
	responsesPing = &script{name: "response with progress events", faults: streamFaults[1:2], pieces: []piece{
		text("start and more", responsesStart+strings.Repeat("event: response.in_progress\ndata: {\"type\":\"response.in_progress\"}\n\n", 40)),
		text("text", responsesText), last("completed", responsesEnd),
	}}
)

// openaiLines has an event with several data lines.
var openaiLines = &script{name: "a stream of several lines", faults: streamFaults[1:2], pieces: []piece{
	text("text", strings.Replace(openaiText, `,"choices"`, ",\ndata: \"choices\"", 1)), last("finish", openaiFinish+openaiEnd),
}}

var lateCount = response("500 with a count", 500, `{"input_tokens":9}`)

// manyWords returns a text of about n bytes.
func manyWords(n int) string { return strings.Repeat("many words ", n/11) }

// long returns a response with a text of about n bytes.
func long(n int) choice {
	c := openaiOK
	c.name = "a long response"
	c.event.Data = []byte(strings.Replace(openaiAnswer, completionMark, manyWords(n), 1))
	return c
}

// longStream returns a stream of n pieces of 50,000 bytes.
func longStream(n int) *script {
	s := &script{name: "a long stream", noEnd: true}
	for range n {
		s.pieces = append(s.pieces, text("more", chunkOf(`{"content":"`+manyWords(50_000)+`"}`, "null")))
	}
	s.pieces = append(s.pieces, last("finish", openaiFinish+openaiEnd))
	return s
}

// ownBudget is a meter's reply that the key's own budget does not cover the request.
func ownBudget(name string, lentMs uint64) choice {
	own := keymeter.ShortLevel{Ledger: keymeter.OwnLevel, Period: period, Epoch: 1, HeldPico: 1000, UsedPico: 100, ReservedPico: 800, NeedPico: 950, LeastPico: 700}
	return verdict(name, keymeter.AdmitReply{Verdict: keymeter.OverOwn, LentMs: lentMs, Levels: []keymeter.ShortLevel{own}})
}
