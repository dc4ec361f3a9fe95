package exchange_test

import (
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// textOnly is a catalog overlay with models that support no images, files or image URLs. Their providers use the
// callers' own APIs.
const textOnly = `{"providers":[
	{"name":"openai","wire":"openai","baseUrl":"https://openai.test/v1","keyEnv":"OPENAI_API_KEY"},
	{"name":"items","wire":"responses","baseUrl":"https://items.test/v1","keyEnv":"OPENAI_API_KEY"}],
	"models":[{"name":"item","provider":"items","input":"1","output":"1","drops":["images","files"],"source":"made up","date":"2026-11"},
	{"name":"plain","provider":"openai","input":"1","output":"1","drops":["images","files"],"source":"made up","date":"2026-11"},
	{"name":"inline","provider":"items","input":"1","output":"1","drops":["image_urls"],"source":"made up","date":"2026-11"}]}`

// TestPartsLeftOutOfTheCallersOwnAPI: a note replaces each part that the model does not support. The rest of the
// request stays unchanged. In strict mode, the request is refused.
func TestPartsLeftOutOfTheCallersOwnAPI(t *testing.T) {
	const image, url, file = `{"type":"input_image","image_url":"data:image/png;base64,AAAA"}`, `{"type":"input_image","image_url":"https://x.example/i.png"}`,
		`{"type":"input_file","file_data":"data:application/pdf;base64,AAAA"}`
	note := func(what string) string {
		return `{"type":"input_text","text":"` + string(chat.LeftOut(jsontext.Escaped(what))) + `"}`
	}
	input := func(parts, output string) string {
		return `[{"role":"user","content":[{"type":"input_text","text":"Hi","x":1}` + parts + `]},{"type":"custom_tool_call","call_id":"c","name":"f","input":"a"},` +
			`{"type":"custom_tool_call_output","call_id":"c","output":[` + output + `]}]`
	}
	for _, c := range []struct{ model, sent, want, dropped string }{
		{"item", input(","+image+","+file, url), input(","+note("image")+","+note("file"), note("image")), "images,files"},
		{"inline", input(","+image+","+file, url), input(","+image+","+file, note("image")), "image_urls"},
	} {
		response := wholeResponse(200, `{"id":"r1","status":"completed","output":[],"usage":{"input_tokens":9,"output_tokens":3}}`)
		r := request{path: "/v1/responses", overlay: textOnly, provider: [][]abi.Event{response},
			body: `{"model":"` + c.model + `","input":` + c.sent + `,"tools":[{"type":"custom","name":"f"}]}`}
		h := r.run(t)
		if got := gjson.Get(h.bodyText(h.one(abi.ActionFetch).Body), "input").Raw; got != c.want {
			t.Errorf("%s got  %s\nwant %s", c.model, got, c.want)
		}
		equal(t, c.model+": named", h.dropped(), c.dropped)
		r.headers = []abi.Header{{Name: "x-postern-strict", Value: "true"}}
		equal(t, "status under strict", r.run(t).status(), 400)
	}
	h := request{path: "/v1/chat/completions", overlay: textOnly, provider: [][]abi.Event{wholeResponse(200, openaiResponse)},
		body: `{"model":"plain","messages":[{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`}.run(t)
	equal(t, "named", h.dropped(), "images")
	equal(t, "text", gjson.Get(h.bodyText(h.one(abi.ActionFetch).Body), "messages.0.content.1.text").Str, string(chat.LeftOut("image")))
}
