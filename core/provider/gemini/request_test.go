package gemini_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/gemini"
	"github.com/postern-ai/postern/core/provider/wire"
)

func model(upstream string) *config.Model {
	return &config.Model{
		Upstream: upstream,
		Provider: &config.Provider{BaseURL: "https://generativelanguage.googleapis.com/v1beta", Key: "AIza-test"},
	}
}

// sameJSON compares two JSON values. Their numbers must have the same spelling.
func sameJSON(t *testing.T, got []byte, want string) {
	t.Helper()
	decode := func(text string) (v any) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return v
	}
	if !reflect.DeepEqual(decode(string(got)), decode(want)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func text(s string) chat.Part { return chat.Part{Kind: chat.Text, Text: jsontext.Escaped(s)} }

func newMessage(role chat.Role, parts ...chat.Part) chat.Message {
	return chat.Message{Role: role, Parts: parts}
}

func TestURLAndHeaders(t *testing.T) {
	for stream, want := range map[bool]string{
		false: "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
		true:  "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
	} {
		a := gemini.Request(&wire.Call{Model: model("gemini-2.5-flash"), Request: &chat.Request{Stream: stream}})
		headers := []abi.Header{{Name: "content-type", Value: "application/json"}, {Name: "x-goog-api-key", Value: "AIza-test"}}
		if a.Method != "POST" || a.URL != want || !reflect.DeepEqual(a.Headers, headers) {
			t.Errorf("stream %v: %s %s %v", stream, a.Method, a.URL, a.Headers)
		}
	}
}

var requests = []struct {
	name, model string
	request     chat.Request
	want        string
}{
	{
		"system messages apart, consecutive messages of one role merged", "gemini-2.5-flash",
		chat.Request{Messages: []chat.Message{
			newMessage(chat.System, text("Be brief.")), newMessage(chat.User, text(`Say \"hi\"`), text("")), newMessage(chat.User, text("twice")),
			newMessage(chat.System, text("In French.")), newMessage(chat.Assistant, text("salut")), newMessage(chat.User, text("again")),
		}},
		`{"systemInstruction":{"parts":[{"text":"Be brief."},{"text":"In French."}]},
		  "contents":[{"role":"user","parts":[{"text":"Say \"hi\""},{"text":"twice"}]},
		   {"role":"model","parts":[{"text":"salut"}]},{"role":"user","parts":[{"text":"again"}]}],
		  "generationConfig":{}}`,
	},
	{
		"only system messages", "gemini-2.5-flash",
		chat.Request{Messages: []chat.Message{newMessage(chat.System, text("a")), newMessage(chat.System, text("b"))}},
		`{"contents":[{"role":"user","parts":[{"text":"a"},{"text":"b"}]}],"generationConfig":{}}`,
	},
	{
		"images, files and audio", "gemini-2.5-flash",
		chat.Request{Messages: []chat.Message{newMessage(chat.User,
			chat.Part{Kind: chat.Image, Media: "image/png", Data: "iVBO", Detail: "low"},
			chat.Part{Kind: chat.Image, URL: "https://example.com/cat.JPG?size=2.png"},
			chat.Part{Kind: chat.Image, URL: "https://example.com/cat"},
			chat.Part{Kind: chat.File, Data: "JVBE", Name: "a.pdf"},
			chat.Part{Kind: chat.Audio, Media: "wav", Data: "UklG"})}},
		`{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"iVBO"}},
		   {"fileData":{"mimeType":"image/jpeg","fileUri":"https://example.com/cat.JPG?size=2.png"}},
		   {"fileData":{"fileUri":"https://example.com/cat"}},
		   {"inlineData":{"mimeType":"application/pdf","data":"JVBE"}},
		   {"inlineData":{"mimeType":"audio/wav","data":"UklG"}}]}],"generationConfig":{}}`,
	},
	{
		"all parameters", "gemini-2.5-flash",
		chat.Request{
			Messages:    []chat.Message{newMessage(chat.User, text("x"))},
			Temperature: "0.50", TopP: "0.9", TopK: "40", MaxTokens: 256, Stop: []jsontext.Escaped{"END", `\n\n`}, Seed: "7",
			PresencePenalty: "0.1", FrequencyPenalty: "-0.2", N: 2, LogProbs: "true", TopLogProbs: "3",
			Format: chat.Format{Kind: chat.FormatSchema, Name: "n", Schema: `{"type":"object"}`, Strict: "true"},
			User:   "u", ParallelTools: "false",
		},
		`{"contents":[{"role":"user","parts":[{"text":"x"}]}],"generationConfig":{"temperature":0.50,"topP":0.9,"topK":40,
		  "maxOutputTokens":256,"stopSequences":["END","\n\n"],"seed":7,"presencePenalty":0.1,"frequencyPenalty":-0.2,
		  "candidateCount":2,"responseLogprobs":true,"logprobs":3,"responseMimeType":"application/json",
		  "responseJsonSchema":{"type":"object"}}}`,
	},
	{
		"tools and a forced tool", "gemini-2.5-flash",
		chat.Request{
			Messages: []chat.Message{newMessage(chat.User, text("x"))},
			Tools: []chat.Tool{{Raw: `{"type":"web_search"}`},
				{Name: "now", Description: "The time."}, {Name: "find", Schema: `{"type":"object","properties":{}}`, Strict: "true"}},
			ToolChoice: chat.ToolChoice{Choice: chat.ChoiceTool, Name: "find"}, Format: chat.Format{Kind: chat.FormatJSON},
		},
		`{"contents":[{"role":"user","parts":[{"text":"x"}]}],
		  "tools":[{"functionDeclarations":[{"name":"now","description":"The time."},
		   {"name":"find","parametersJsonSchema":{"type":"object","properties":{}}}]}],
		  "toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["find"]}},
		  "generationConfig":{"responseMimeType":"application/json"}}`,
	},
	{
		"function calls and results of a 2.5 model", "gemini-2.5-pro",
		chat.Request{Messages: []chat.Message{
			newMessage(chat.User, text("x")),
			newMessage(chat.Assistant, chat.Part{Kind: chat.Thinking, Text: "Hm.", Signature: "ErUBforeign"}, chat.Part{Kind: chat.Redacted, Data: "Zm9v"}, text("I look."),
				chat.Part{Kind: chat.ToolCall, ID: "a", Name: "find", Args: `{"q":"cats"}`},
				chat.Part{Kind: chat.ToolCall, ID: "b", Name: "now", Args: "[1]"}),
			newMessage(chat.ToolRole, chat.Part{Kind: chat.ToolResult, ID: "b", Parts: []chat.Part{text(`{\"time\": \"noon\"}\n`)}}),
			newMessage(chat.ToolRole, chat.Part{Kind: chat.ToolResult, ID: "a", Parts: []chat.Part{
				text("two "), text("cats"), {Kind: chat.Image, Media: "image/png", Data: "iVBO"}}}),
			newMessage(chat.Assistant, chat.Part{Kind: chat.ToolCall, ID: "a", Name: "again"}),
			newMessage(chat.ToolRole, chat.Part{Kind: chat.ToolResult, ID: "a", Failed: true, Parts: []chat.Part{text(`{\"x\":1}`)}},
				chat.Part{Kind: chat.ToolResult, ID: "zz", Parts: []chat.Part{text("{no")}}),
		}},
		`{"contents":[{"role":"user","parts":[{"text":"x"}]},
		   {"role":"model","parts":[{"text":"I look."},{"functionCall":{"id":"a","name":"find","args":{"q":"cats"}}},
		    {"functionCall":{"id":"b","name":"now","args":{"value":[1]}}}]},
		   {"role":"user","parts":[{"functionResponse":{"id":"b","name":"now","response":{"time":"noon"}}},
		    {"functionResponse":{"id":"a","name":"find","response":{"output":"two cats"}}},
		    {"inlineData":{"mimeType":"image/png","data":"iVBO"}}]},
		   {"role":"model","parts":[{"functionCall":{"id":"a","name":"again","args":{}}}]},
		   {"role":"user","parts":[{"functionResponse":{"id":"a","name":"again","response":{"error":"{\"x\":1}"}}},
		    {"functionResponse":{"id":"zz","name":"zz","response":{"output":"{no"}}}]}],"generationConfig":{}}`,
	},
	{
		"signatures with the call after the thinking, or the value that skips validation", "gemini-3.1-pro-preview",
		chat.Request{Messages: []chat.Message{
			newMessage(chat.User, text("x")),
			newMessage(chat.Assistant, chat.Part{Kind: chat.Thinking, Text: "Hm.", Signature: "gemini:c2lnMQ=="},
				chat.Part{Kind: chat.ToolCall, ID: "a", Name: "f", Args: "{}"}, chat.Part{Kind: chat.ToolCall, ID: "b", Name: "g", Args: "{}"}),
			newMessage(chat.User, chat.Part{Kind: chat.ToolResult, ID: "a", Parts: []chat.Part{
				text(`{\"n\":1}\n`), {Kind: chat.Image, Media: "image/png", Data: "iVBO"}, {Kind: chat.Image, URL: "https://example.com/a.png"}}},
				chat.Part{Kind: chat.ToolResult, ID: "b"}),
			newMessage(chat.Assistant, chat.Part{Kind: chat.Thinking, Signature: "ErUBforeign"},
				chat.Part{Kind: chat.ToolCall, ID: "c", Name: "f", Args: "{}"}, chat.Part{Kind: chat.ToolCall, ID: "d", Name: "g", Args: "{}"}),
			newMessage(chat.User, text("go on")),
			newMessage(chat.Assistant, chat.Part{Kind: chat.ToolCall, ID: "e", Name: "f", Args: "{}", Signature: "gemini:c2lnMg=="}),
		}},
		`{"contents":[{"role":"user","parts":[{"text":"x"}]},
		   {"role":"model","parts":[{"functionCall":{"id":"a","name":"f","args":{}},"thoughtSignature":"c2lnMQ=="},
		    {"functionCall":{"id":"b","name":"g","args":{}}}]},
		   {"role":"user","parts":[{"functionResponse":{"id":"a","name":"f","response":{"n":1},
		     "parts":[{"inlineData":{"mimeType":"image/png","data":"iVBO"}}]}},
		    {"fileData":{"mimeType":"image/png","fileUri":"https://example.com/a.png"}},
		    {"functionResponse":{"id":"b","name":"g","response":{"output":""}}}]},
		   {"role":"model","parts":[{"functionCall":{"id":"c","name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"},
		    {"functionCall":{"id":"d","name":"g","args":{}}}]},
		   {"role":"user","parts":[{"text":"go on"}]},
		   {"role":"model","parts":[{"functionCall":{"id":"e","name":"f","args":{}},"thoughtSignature":"c2lnMg=="}]}],
		  "generationConfig":{}}`,
	},
}

func TestRequests(t *testing.T) {
	for _, c := range requests {
		t.Run(c.name, func(t *testing.T) {
			sameJSON(t, gemini.Body(&wire.Call{Model: model(c.model), Request: &c.request}), c.want)
		})
	}
}

func TestToolChoices(t *testing.T) {
	for choice, want := range map[chat.Choice]string{
		chat.ChoiceUnset: "", chat.ChoiceAuto: `{"mode":"AUTO"}`, chat.ChoiceNone: `{"mode":"NONE"}`, chat.ChoiceAny: `{"mode":"ANY"}`,
	} {
		r := chat.Request{Tools: []chat.Tool{{Name: "f"}}, ToolChoice: chat.ToolChoice{Choice: choice}}
		if want != "" {
			want = `"toolConfig":{"functionCallingConfig":` + want + `},`
		}
		sameJSON(t, gemini.Body(&wire.Call{Model: model("gemini-2.5-pro"), Request: &r}),
			`{"contents":[],"tools":[{"functionDeclarations":[{"name":"f"}]}],`+want+`"generationConfig":{}}`)
	}
}

func TestThinking(t *testing.T) {
	for _, c := range []struct {
		model     string
		reasoning chat.Reasoning
		want      string
	}{
		{"gemini-2.5-flash", chat.Reasoning{Effort: "none"}, `{"thinkingBudget":0}`},
		{"gemini-2.5-pro", chat.Reasoning{Off: true}, `{"thinkingBudget":128}`},
		{"gemini-2.5-flash", chat.Reasoning{Effort: "minimal"}, `{"thinkingBudget":1024}`},
		{"gemini-2.5-flash", chat.Reasoning{Effort: "medium", Visible: true}, `{"thinkingBudget":8192,"includeThoughts":true}`},
		{"gemini-2.5-pro", chat.Reasoning{Effort: "xhigh"}, `{"thinkingBudget":24576}`},
		{"gemini-2.5-pro", chat.Reasoning{Budget: 60000}, `{"thinkingBudget":32768}`},
		{"gemini-2.5-flash", chat.Reasoning{Budget: 60000}, `{"thinkingBudget":24576}`},
		{"gemini-2.5-flash-lite", chat.Reasoning{Budget: 100}, `{"thinkingBudget":512}`},
		{"gemini-2.5-flash-lite", chat.Reasoning{Off: true}, `{"thinkingBudget":0}`},
		{"gemini-2.5-flash", chat.Reasoning{Adaptive: true}, `{"thinkingBudget":-1}`},
		{"gemini-2.5-flash", chat.Reasoning{Visible: true}, `{"includeThoughts":true}`},
		{"gemini-3.1-pro-preview", chat.Reasoning{Effort: "none"}, `{"thinkingLevel":"low"}`},
		{"gemini-3.1-flash-lite", chat.Reasoning{Effort: "minimal"}, `{"thinkingLevel":"minimal"}`},
		{"gemini-3.8-flash", chat.Reasoning{Effort: "medium"}, `{"thinkingLevel":"medium"}`},
		{"gemini-3.8-flash", chat.Reasoning{Effort: "max"}, `{"thinkingLevel":"high"}`},
		{"gemini-3.8-flash", chat.Reasoning{Budget: 1024, Visible: true}, `{"thinkingLevel":"low","includeThoughts":true}`},
		{"gemini-3.8-flash", chat.Reasoning{Budget: 8192}, `{"thinkingLevel":"medium"}`},
		{"gemini-3.8-flash", chat.Reasoning{Budget: 30000}, `{"thinkingLevel":"high"}`},
		{"gemini-3.8-flash", chat.Reasoning{Adaptive: true}, `{}`},
	} {
		r := chat.Request{Reasoning: c.reasoning}
		sameJSON(t, gemini.Body(&wire.Call{Model: model(c.model), Request: &r}),
			`{"contents":[],"generationConfig":{"thinkingConfig":`+c.want+`}}`)
	}
}

// TestManyResults: a request with many results that belong to no call is built in a reasonable time.
func TestManyResults(t *testing.T) {
	var r chat.Request
	for range 20_000 {
		r.Messages = append(r.Messages, newMessage(chat.ToolRole, chat.Part{Kind: chat.ToolResult, ID: "none", Parts: []chat.Part{text("a"), text("b")}}))
	}
	if !json.Valid(gemini.Body(&wire.Call{Model: model("gemini-2.5-pro"), Request: &r})) {
		t.Error("invalid JSON")
	}
}

func TestEmbedRequests(t *testing.T) {
	a := gemini.EmbedRequest(&wire.EmbedCall{Model: model("gemini-embedding-001"), Inputs: []jsontext.Escaped{"a", `\"b\"`}, Dimensions: 768})
	if a.URL != "https://generativelanguage.googleapis.com/v1beta/models/gemini-embedding-001:batchEmbedContents" {
		t.Error(a.URL)
	}
	sameJSON(t, a.Body[0].Data, `{"requests":[
	  {"model":"models/gemini-embedding-001","content":{"parts":[{"text":"a"}]},"outputDimensionality":768},
	  {"model":"models/gemini-embedding-001","content":{"parts":[{"text":"\"b\""}]},"outputDimensionality":768}]}`)
}
