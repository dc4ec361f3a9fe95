package exchange_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
)

// pricedOverlay has a model for each dialect. A million input tokens cost one dollar, and a million output tokens
// two.
const pricedOverlay = `{"providers":[{"name":"house","wire":"responses","baseUrl":"https://house.test/v1"}],"models":[
	{"name":"tiered","provider":"openai","input":"1","output":"2","context":128000,"maxOutput":1000,
	 "factors":{"service_tier=flex":"1/2","service_tier=priority":"5/3","service_tier=ultrafast":"6"}},
	{"name":"sage","provider":"house","input":"1","output":"2","write":"1.25","context":128000,"maxOutput":1000,"factors":{"service_tier=priority":"2"}},
	{"name":"opus","provider":"anthropic","input":"1","output":"2","write":"1.25","write1h":"2","context":128000,"maxOutput":1000,
	 "factors":{"speed=fast":"2","inference_geo=us":"1.1"}}],
	"tools":[{"name":"oracle","providers":["openai"],"price":"0.008","max":5}]}`

const (
	pricedTokens = 9*microDollar + 6*2*microDollar // of every response here
	milliDollar  = 1000 * microDollar
)

// purchase is a request with parameters that change its price. It has the provider's response and the expected cost.
type purchase struct {
	path, model, members string
	answer               string // fields of the provider's response
	usage                string // fields of its usage
	num, den             int64  // factor of the tokens
	fee                  int64
	estimated            bool
	dearer               bool // the response names something more expensive than the request asked for
}

func (p *purchase) run(t *testing.T, streams bool) *host {
	t.Helper()
	body, input := `{"model":"`+p.model+`"`, `"messages":[{"role":"user","content":"Hello"}],"max_tokens":6`
	if p.path == "/v1/responses" {
		input = `"input":"Hello","max_output_tokens":6`
	}
	whole, chunks := p.answers()
	r := request{path: p.path, overlay: pricedOverlay, body: body + "," + input + p.members + "}", provider: [][]abi.Event{wholeResponse(200, whole)}}
	if streams {
		r.body = body + `,"stream":true,` + input + p.members + "}"
		r.provider[0] = streamEvents(chunks)
	}
	return r.run(t)
}

// answers returns the provider's response, once complete and once as a stream.
func (p *purchase) answers() (whole, stream string) {
	event := func(data string) string { return "data: " + data + "\n\n" }
	switch p.path {
	case "/v1/chat/completions":
		usage := `"usage":{"prompt_tokens":9,"completion_tokens":6` + p.usage + `}` + p.answer
		return `{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"Hello!"},"finish_reason":"stop"}],` + usage + `}`,
			event(`{"id":"c1","choices":[{"index":0,"delta":{"content":"Hello!"}}]`+p.answer+`}`) +
				event(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`) + event(`{"choices":[],`+usage+`}`) + "data: [DONE]\n\n"
	case "/v1/responses":
		output := `{"type":"message","content":[{"type":"output_text","text":"Hello!"}]}`
		end := `{"id":"r1","status":"completed","usage":{"input_tokens":9,"output_tokens":6` + p.usage + `}` + strings.Replace(p.answer, `"output":[`, `"output":[`+output+`,`, 1)
		if !strings.Contains(p.answer, `"output"`) {
			end += `,"output":[` + output + `]`
		}
		return end + "}", event(`{"type":"response.created","response":{"id":"r1"}}`) +
			event(`{"type":"response.output_text.delta","delta":"Hello!"}`) + event(`{"type":"response.completed","response":`+end+`}}`)
	}
	content := `{"type":"text","text":"Hello!"}` + p.answer
	start := event(`{"type":"message_start","message":{"id":"m1","usage":{"input_tokens":9,"output_tokens":1}}}`)
	for i, block := range gjson.Parse("[" + content + "]").Array() {
		start += event(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, block.Raw)) + event(fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
	}
	return `{"id":"m1","type":"message","role":"assistant","content":[` + content + `],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":6` + p.usage + `}}`,
		start + event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":6`+p.usage+`}}`) + event(`{"type":"message_stop"}`)
}

// check compares the reservation and the settlement with the expected cost.
func (p *purchase) check(t *testing.T) {
	t.Helper()
	for _, streams := range []bool{false, true} {
		h := p.run(t, streams)
		what := fmt.Sprintf("%s %s answered with %s%s, stream %t", p.model, p.members, p.answer, p.usage, streams)
		settles := sentCommands[*keymeter.Settle](h)
		if len(settles) != 1 || settles[0].Outcome != keymeter.Served {
			t.Errorf("%s: status %d, settled %+v: %s", what, h.status(), settles, h.responseBody())
			continue
		}
		cost := (pricedTokens*p.num+p.den-1)/p.den + p.fee
		equal(t, "cost of "+what, settles[0].CostPico, cost)
		equal(t, "estimated flag of "+what, settles[0].Estimated, p.estimated)
		reserved := sentCommands[*keymeter.Admit](h)[0].AmountPico
		if reserved < cost && !(p.dearer && settles[0].Estimated) {
			t.Errorf("%s: %d reserved, %d settled, estimated %t", what, reserved, cost, settles[0].Estimated)
		}
	}
}

// tier is a service tier. Its price factor is in thirtieths, so that all factors are whole numbers.
type tier struct {
	json   string // the field that names the tier in a request or a response
	factor int64
	known  bool
}

// TestServiceTiers combines every tier that a request can ask for with every tier that a response can name.
func TestServiceTiers(t *testing.T) {
	asked := []tier{{"", 30, true}, {`,"service_tier":null`, 30, true}, {`,"service_tier":"auto"`, 30, true}, {`,"service_tier":"default"`, 30, true},
		{`,"service_tier":"flex"`, 15, true}, {`,"service_tier":"priority"`, 50, true}, {`,"service_tier":"fast"`, 50, true}, {`,"service_tier":"ultrafast"`, 180, true}}
	named := append(asked[3:len(asked):len(asked)], tier{`,"service_tier":"warp"`, 180, false}, tier{`,"service_tier":"\u0000"`, 180, false}, tier{"", 0, true})
	for _, ask := range asked {
		for _, name := range named {
			p := purchase{path: "/v1/chat/completions", model: "tiered", members: ask.json, answer: name.json, num: name.factor, den: 30, estimated: !name.known}
			if name.json == "" { // the response names no tier, so the request's tier applies
				p.num, p.estimated = ask.factor, ask.factor != 30
			}
			if p.num > ask.factor {
				p.dearer, p.estimated = true, true
			}
			p.check(t)
			p.members += `,"web_search_options":{}`
			p.fee, p.estimated = 25*milliDollar, true // responses do not report the number of these searches
			p.check(t)
		}
	}
}

// TestPinnedTier: a request that asks for no tier gets the standard tier, whatever the settings of the provider's
// account.
func TestPinnedTier(t *testing.T) {
	for members, want := range map[string]string{
		"": "default", `,"service_tier":"auto"`: "default", `,"service_tier":"scale"`: "default", `,"service_tier":"flex"`: "flex",
		`,"service_tier":"fast"`: "priority", `,"service_tier":"priority"`: "priority",
	} {
		p := purchase{path: "/v1/chat/completions", model: "tiered", members: members}
		h := p.run(t, false)
		equal(t, "tier sent for "+members, gjson.Get(h.bodyText(h.one(abi.ActionFetch).Body), "service_tier").Str, want)
	}
	p := purchase{path: "/v1/chat/completions", model: "gpt", members: `,"service_tier":"auto"`}
	h := p.run(t, false)
	equal(t, "tier sent to a model without tiers", gjson.Get(h.bodyText(h.one(abi.ActionFetch).Body), "service_tier").Exists(), false)
}

// TestSpeedAndGeography combines speeds and places of inference. Standard values and omitted fields have the standard
// price.
func TestSpeedAndGeography(t *testing.T) {
	type choice struct {
		ask, name string
		num, den  int64
	}
	speeds := []choice{{"", "", 1, 1}, {`,"speed":"standard"`, `,"speed":"standard"`, 1, 1}, {`,"speed":"fast"`, `,"speed":"fast"`, 2, 1}, {`,"speed":"fast"`, `,"speed":"standard"`, 1, 1}}
	geos := []choice{{"", `,"inference_geo":"us"`, 11, 10}, {"", "", 1, 1}, {`,"inference_geo":"us"`, `,"inference_geo":"us"`, 11, 10}, {`,"inference_geo":"us"`, `,"inference_geo":"global"`, 1, 1},
		{`,"inference_geo":"global"`, `,"inference_geo":"us"`, 11, 10}, {"", `,"inference_geo":"not_available","service_tier":"priority"`, 1, 1}}
	for _, s := range speeds {
		for _, g := range geos {
			p := purchase{path: "/v1/messages", model: "opus", members: s.ask + g.ask, usage: s.name + g.name, num: s.num * g.num, den: s.den * g.den}
			p.check(t)
		}
	}
	for _, p := range []purchase{ // not named, and unknown
		{members: `,"speed":"fast"`, num: 2, den: 1}, {members: `,"inference_geo":"us"`, num: 11, den: 10},
		{usage: `,"speed":"warp"`, num: 2, den: 1, dearer: true}, {usage: `,"inference_geo":"moon"`, num: 11, den: 10}, {usage: `,"service_tier":"gold"`, num: 1, den: 1},
		{usage: `,"speed":"fast"`, num: 2, den: 1, dearer: true}, // the request did not ask for this speed
	} {
		p.path, p.model, p.estimated = "/v1/messages", "opus", true
		p.check(t)
	}
}

// TestMessagesTools: calls of Anthropic's tools are limited, and are charged according to the usage or the number of
// blocks.
func TestMessagesTools(t *testing.T) {
	const search = `{"type":"web_search_20250305","name":"web_search"`
	block := func(name string) string {
		return `,{"type":"server_tool_use","id":"s","name":"` + name + `","input":{}}`
	}
	counted := func(n int) string {
		return fmt.Sprintf(`,"server_tool_use":{"web_search_requests":%d,"web_fetch_requests":1}`, n)
	}
	for _, c := range []struct {
		tools, answer, usage string
		sent                 string // the limit of the first tool
		fee                  int64
		estimated, dearer    bool
	}{
		{tools: search + `}`, usage: counted(3), sent: "10", fee: 30 * milliDollar},
		{tools: search + `,"max_uses":null}`, answer: block("web_search"), sent: "10", fee: 10 * milliDollar},
		{tools: search + `,"max_uses":2}`, answer: block("web_search") + block("web_search"), usage: counted(1), sent: "2", fee: 10 * milliDollar},
		{tools: search + `,"max_uses":20}`, usage: counted(20), sent: "20", fee: 200 * milliDollar},
		{tools: search + `},` + search + `,"max_uses":1}`, usage: counted(11), sent: "10", fee: 110 * milliDollar},
		{tools: search + `},` + search + `,"max_uses":1}`, usage: counted(12), sent: "10", fee: 120 * milliDollar, estimated: true, dearer: true},
		{tools: search + `,"max_uses":2}`, usage: counted(3), sent: "2", fee: 30 * milliDollar, estimated: true, dearer: true},
		{tools: search + `}`, sent: "10"},
		{tools: `{"type":"code_execution_20250825","name":"code_execution"}`, answer: block("bash_code_execution") + block("code_execution"), fee: 4_166_666_667},
		{tools: `{"type":"code_execution_20250825","name":"code_execution"}`},
		{tools: `{"type":"web_fetch_20250910","name":"web_fetch"},{"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728","name":"e"},{"type":"memory_20250818","name":"memory"}`, answer: block("web_fetch")},
		{tools: `{"name":"f","input_schema":{}}`, usage: counted(2), fee: 20 * milliDollar, estimated: true, dearer: true}, // nobody asked for searches
	} {
		p := purchase{path: "/v1/messages", model: "opus", members: `,"tools":[` + c.tools + `]`, answer: c.answer, usage: c.usage, num: 1, den: 1, fee: c.fee, estimated: c.estimated, dearer: c.dearer}
		p.check(t)
		h := p.run(t, false)
		tools := gjson.Get(h.bodyText(h.one(abi.ActionFetch).Body), "tools")
		equal(t, "limit sent for "+c.tools, tools.Get("0.max_uses").Raw, c.sent)
		equal(t, "tools sent for "+c.tools, tools.Get("#").Int(), gjson.Get("["+c.tools+"]", "#").Int())
	}
}

// TestResponsesTools: one limit applies to the calls of all tools together. Each call is charged at its tool's price.
func TestResponsesTools(t *testing.T) {
	item := func(kinds ...string) string {
		return `,"output":[{"type":"` + strings.Join(kinds, `"},{"type":"`) + `"}]`
	}
	const search, files, images = `{"type":"web_search"}`, `{"type":"file_search","vector_store_ids":["v"]}`, `{"type":"image_generation"}`
	for _, c := range []struct {
		members, answer string
		sent            string
		fee             int64
		over            bool // more calls than the limit
	}{
		{`,"tools":[` + search + `]`, item("web_search_call", "web_search_call"), "10", 20 * milliDollar, false},
		{`,"tools":[` + search + `],"max_tool_calls":3`, item("web_search_call", "web_search_call", "web_search_call"), "3", 30 * milliDollar, false},
		{`,"tools":[{"type":"web_search_preview_2025_03_11"}]`, item("web_search_call") + `,"tool_usage":{"web_search":{"num_requests":4}}`, "10", 100 * milliDollar, false},
		{`,"tools":[` + search + `]`, `,"output":[{"type":"web_search_call","action":{"type":"open_page"}},{"type":"web_search_call","action":{"type":"search"}}]`, "10", 10 * milliDollar, false},
		{`,"tools":[` + files + `,` + search + `],"max_tool_calls":2`, item("file_search_call", "web_search_call"), "2", 12_500 * microDollar, false},
		{`,"tools":[` + images + `,` + search + `]`, item("image_generation_call", "web_search_call"), "4", 1010 * milliDollar, false},
		{`,"tools":[{"type":"code_interpreter","container":{"type":"auto","memory_limit":"4g"}}]`, item("code_interpreter_call", "code_interpreter_call"), "", 120 * milliDollar, false},
		{`,"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]`, "", "", 0, false},
		{`,"tools":[{"type":"shell","environment":{"type":"container_auto"}}]`, item("shell_call_output"), "", 30 * milliDollar, false},
		{`,"tools":[{"type":"shell"},{"type":"custom","name":"c"},{"type":"mcp","server_label":"m"},{"type":"apply_patch"}]`, "", "", 0, false},
		{`,"tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"},` + search + `]}]`, item("web_search_call"), "10", 10 * milliDollar, false},
		{`,"tools":[` + search + `],"max_tool_calls":3`, item("web_search_call") + `,"tool_usage":{"web_search":{"num_requests":4}}`, "3", 40 * milliDollar, true},
		{`,"tools":[` + files + `,` + search + `],"max_tool_calls":2`, item("file_search_call", "web_search_call", "web_search_call"), "2", 22_500 * microDollar, true},
		{`,"tools":[` + search + `]`, item() + `,"tool_usage":{"web_search":{"num_requests":11}}`, "10", 110 * milliDollar, true},
	} {
		p := purchase{path: "/v1/responses", model: "sage", members: c.members, answer: c.answer, num: 1, den: 1, fee: c.fee, estimated: c.over, dearer: c.over}
		p.check(t)
		h := p.run(t, false)
		equal(t, "limit sent for "+c.members, gjson.Get(h.bodyText(h.one(abi.ActionFetch).Body), "max_tool_calls").Raw, c.sent)
	}
}

// TestProviderTool: a tool of a single provider is charged for as many calls as its catalog entry says.
func TestProviderTool(t *testing.T) {
	p := purchase{path: "/v1/chat/completions", model: "tiered", members: `,"tools":[{"type":"oracle"}]`, num: 1, den: 1, fee: 40 * milliDollar, estimated: true}
	p.check(t)
}

// TestUnpricedParameters: a request with a parameter that has no price is refused before anything is sent. The error
// says what to do.
func TestUnpricedParameters(t *testing.T) {
	for _, c := range []struct{ path, model, members, want string }{
		{"/v1/chat/completions", "gpt", `,"service_tier":"priority"`, `service_tier \"priority\" has no price for gpt; omit it, use another model, or add \"service_tier=priority\" to the model's factors`},
		{"/v1/chat/completions", "tiered", `,"service_tier":"warp"`, `service_tier \"warp\" has no price for tiered`},
		{"/v1/chat/completions", "tiered", `,"service_tier":"a b"`, "service_tier must be a word"},
		{"/v1/chat/completions", "tiered", `,"service_tier":7`, "service_tier must be a string"},
		{"/v1/chat/completions", "tiered", `,"modalities":["text","audio"],"audio":{"voice":"a","format":"mp3"}`, `modalities \"audio\" has no price`},
		{"/v1/chat/completions", "tiered", `,"prompt_cache_options":{"ttl":"12h"}`, `prompt_cache_options.ttl \"12h\" has no price`},
		{"/v1/chat/completions", "tiered", `,"tools":[{"type":"browser_search"}]`, `has the provider tool \"browser_search\", which has no price at openai`},
		{"/v1/responses", "sage", `,"service_tier":"flex"`, `service_tier \"flex\" has no price for sage`},
		{"/v1/responses", "sage", `,"max_tool_calls":1001`, "max_tool_calls must be an integer between 1 and 1000"},
		{"/v1/responses", "sage", `,"tools":[{"type":"code_interpreter","container":"cntr_1"}]`, `code_interpreter.id`},
		{"/v1/responses", "sage", `,"tools":[{"type":"code_interpreter","container":{"type":"auto","memory_limit":"1t"}}]`, `code_interpreter.1t`},
		{"/v1/messages", "opus", `,"speed":"warp"`, `speed \"warp\" has no price for opus`},
		{"/v1/messages", "claude", `,"speed":"fast"`, `speed \"fast\" has no price for claude`},
		{"/v1/messages", "opus", `,"inference_geo":"moon"`, `inference_geo \"moon\" has no price`},
		{"/v1/messages", "opus", `,"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":"1"}]`, "tools[0].max_uses must be an integer"},
		{"/v1/messages", "opus", `,"tools":[{"type":"advisor_20260301","name":"advisor","model":"claude-opus-5"}]`, `the provider tool \"advisor\"`},
	} {
		p := purchase{path: c.path, model: c.model, members: c.members}
		h := p.run(t, false)
		equal(t, "status with "+c.members, h.status(), 400)
		contains(t, "response to "+c.members, h.responseBody(), c.want)
		equal(t, "fetches with "+c.members, len(h.all(abi.ActionFetch)), 0)
	}
}

// TestCutStream: if a response breaks off, it is charged at the requested speed, with all tool calls that the request
// allowed.
func TestCutStream(t *testing.T) {
	h := request{
		path: "/v1/messages", overlay: pricedOverlay,
		body: `{"model":"opus","max_tokens":6,"stream":true,"speed":"fast","tools":[{"type":"web_search_20250305","name":"web_search","max_uses":4}],"messages":[{"role":"user","content":"Hello"}]}`,
		provider: [][]abi.Event{streamEvents("data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n"+
			"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Hello\"}}\n\n", "end")},
	}.run(t)
	settle := sentCommands[*keymeter.Settle](h)[0]
	equal(t, "cost", settle.CostPico, 2*(9+2*2)*microDollar+40*milliDollar)
	equal(t, "estimated flag", settle.Estimated, true)
}

// TestCacheLifetimeIsReserved: a prompt that the provider should cache may be charged as a cache write.
func TestCacheLifetimeIsReserved(t *testing.T) {
	prompt := func(members string) int64 {
		p := purchase{path: "/v1/messages", model: "opus", members: members}
		return sentCommands[*keymeter.Admit](p.run(t, false))[0].AmountPico*10/11 - 6*2*microDollar
	}
	plain := prompt("")
	equal(t, "prompt to cache", prompt(`,"cache_control":{"type":"ephemeral"}`), plain*5/4)
	equal(t, "prompt to cache for an hour", prompt(`,"cache_control":{"type":"ephemeral","ttl":"\u0031h"}`), plain*2)
}

// TestUnknownUsage: unknown usage fields do not change the cost, and are named in the log.
func TestUnknownUsage(t *testing.T) {
	p := purchase{path: "/v1/chat/completions", model: "tiered", usage: `,"flux_units":1e9,"completion_tokens_details":{"dark_tokens":7},"a b":1`, num: 1, den: 1}
	p.check(t)
	contains(t, "log", p.run(t, false).log(), `"unknownUsage":"flux_units,completion_tokens_details.dark_tokens,invalid"`)
	p.usage = ""
	equal(t, "log of a known usage names members", strings.Contains(p.run(t, false).log(), "unknownUsage"), false)
}

// TestPriceVersion: every change of a price changes the version. Nothing else changes it.
func TestPriceVersion(t *testing.T) {
	version := func(overlay string) string { return configured(t, overlay).PriceVersion }
	base := version(`{}`)
	for what, overlay := range map[string]string{
		"a label": `{"version":"8"}`, "a route": `{"tiers":[{"name":"cheap","targets":[{"model":"mini"}]}]}`,
		"a provider": `{"providers":[{"name":"more","wire":"openai","baseUrl":"https://more.test"}]}`,
	} {
		equal(t, "version with an overlay that changes "+what, version(overlay), base)
	}
	const gpt = `"name":"gpt","provider":"openai","input":"1","output":"10","context":128000,"maxOutput":32000`
	seen := map[string]string{base: "no overlay"}
	for _, overlay := range []string{
		`{"models":[{` + strings.Replace(gpt, `"10"`, `"11"`, 1) + `}]}`, `{"models":[{` + gpt + `,"factors":{"service_tier=flex":"1/2"}}]}`,
		`{"models":[{` + gpt + `,"factors":{"service_tier=flex":"1/3"}}]}`, `{"models":[{` + gpt + `,"cached":"0.5"}]}`,
		`{"tools":[{"name":"web_search","wires":["anthropic"],"price":"0.02","max":10,"limit":"max_uses","meter":"searches"}]}`,
		`{"models":[{` + strings.Replace(gpt, `"gpt"`, `"another"`, 1) + `}]}`,
	} {
		if other := seen[version(overlay)]; other != "" {
			t.Errorf("%s has the version of %s", overlay, other)
		}
		seen[version(overlay)] = overlay
	}
	p := purchase{path: "/v1/chat/completions", model: "tiered"}
	equal(t, "version of an answer", p.run(t, false).header("x-postern-price-version"), version(pricedOverlay))
}
