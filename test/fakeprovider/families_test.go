package fakeprovider_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/sse"
	"github.com/postern-ai/postern/test/fakeprovider"
)

const signed = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261121/us-east-1/bedrock/aws4_request, " +
	"SignedHeaders=host;x-amz-date, Signature=0000000000000000000000000000000000000000000000000000000000000000"

// family has one provider's requests and response paths. In bodies, $TEXT is the user message.
type family struct {
	name          string
	whole         string // path
	stream        string // path
	headers       []string
	wholeBody     string
	streamBody    string
	tools         string // fields to add: the tools weather{city} and clock{zone}
	afterTool     string // a complete body whose last message is the tool result "12 degrees"
	schema        string // fields to add: {"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}
	image         string // a body with a PNG of 3 bytes
	wholeText     string // from here on: gjson paths
	wholeArgs     string
	wholeThinking string
	input         string // input tokens in a non-streaming response
	piece         string // a piece of text in an event
}

const (
	twoTools = `"tools":[{"type":"function","function":{"name":"weather","parameters":` + weather + `}},` +
		`{"type":"function","function":{"name":"clock","parameters":` + clock + `}}]`
	weather = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`
	clock   = `{"type":"object","properties":{"zone":{"type":"integer"}}}`
	nSchema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`
)

func chatFamily(name, path string, headers ...string) family {
	model := `"model":"m",`
	return family{
		name: name, whole: path, stream: path, headers: headers,
		wholeBody:  `{` + model + `"messages":[{"role":"user","content":"$TEXT"}]}`,
		streamBody: `{` + model + `"messages":[{"role":"user","content":"$TEXT"}],"stream":true,"stream_options":{"include_usage":true}}`,
		tools:      twoTools,
		afterTool: `{` + model + `"messages":[{"role":"user","content":"w?"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1",` +
			`"type":"function","function":{"name":"weather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"12 degrees"}],` + twoTools + `}`,
		schema: `"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":` + nSchema + `}}`,
		image: `{` + model + `"messages":[{"role":"user","content":[{"type":"text","text":"see"},` +
			`{"type":"image_url","image_url":{"url":"data:image/png;base64,AQID"}}]}]}`,
		wholeText: "choices.0.message.content", wholeArgs: "choices.0.message.tool_calls.#.function.arguments",
		wholeThinking: "choices.0.message.reasoning_content",
		input:         "usage.prompt_tokens", piece: "choices.0.delta.content",
	}
}

func families() []family {
	bearer := []string{"Authorization", "Bearer k"}
	mistral := chatFamily("mistral", "/mistral/v1/chat/completions", bearer...)
	mistral.streamBody = strings.ReplaceAll(mistral.streamBody, `,"stream_options":{"include_usage":true}`, "")
	mistral.wholeThinking = "choices.0.message.content.0.thinking.0.text"
	return []family{
		chatFamily("openai", "/v1/chat/completions", bearer...),
		chatFamily("azure", "/openai/deployments/d/chat/completions?api-version=2024-10-21", "api-key", "k"),
		chatFamily("workersai", "/client/v4/accounts/a/ai/v1/chat/completions", bearer...),
		chatFamily("deepseek", "/deepseek/v1/chat/completions", bearer...),
		mistral, responsesFamily(bearer), anthropicFamily(), geminiFamily(), bedrockFamily(), cohereFamily(bearer),
	}
}

func responsesFamily(headers []string) family {
	tools := `"tools":[{"type":"function","name":"weather","parameters":` + weather + `},{"type":"function","name":"clock","parameters":` + clock + `}]`
	return family{
		name: "responses", whole: "/v1/responses", stream: "/v1/responses", headers: headers,
		wholeBody: `{"model":"m","input":"$TEXT"}`, streamBody: `{"model":"m","input":"$TEXT","stream":true}`, tools: tools,
		afterTool: `{"model":"m","input":[{"role":"user","content":"w?"},{"type":"function_call","call_id":"c1","name":"weather","arguments":"{}"},` +
			`{"type":"function_call_output","call_id":"c1","output":"12 degrees"}],` + tools + `}`,
		schema: `"text":{"format":{"type":"json_schema","name":"n","schema":` + nSchema + `}}`,
		image: `{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"see"},` +
			`{"type":"input_image","image_url":"data:image/png;base64,AQID"}]}]}`,
		wholeText: `output.#(type=="message").content.0.text`, wholeArgs: `output.#(type=="function_call")#.arguments`,
		wholeThinking: `output.#(type=="reasoning").summary.0.text`, input: "usage.input_tokens", piece: "delta",
	}
}

func anthropicFamily() family {
	tools := `"tools":[{"name":"weather","input_schema":` + weather + `},{"name":"clock","input_schema":` + clock + `}]`
	return family{
		name: "anthropic", whole: "/v1/messages", stream: "/v1/messages",
		headers:    []string{"X-Api-Key", "k", "Anthropic-Version", "2023-06-01"},
		wholeBody:  `{"model":"m","max_tokens":64,"messages":[{"role":"user","content":"$TEXT"}]}`,
		streamBody: `{"model":"m","max_tokens":64,"messages":[{"role":"user","content":"$TEXT"}],"stream":true}`, tools: tools,
		afterTool: `{"model":"m","max_tokens":64,"messages":[{"role":"user","content":"w?"},{"role":"assistant","content":[{"type":"tool_use",` +
			`"id":"c1","name":"weather","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"12 degrees"}]}],` + tools + `}`,
		schema: `"output_config":{"format":{"type":"json_schema","schema":` + nSchema + `}}`,
		image: `{"model":"m","max_tokens":64,"messages":[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image",` +
			`"source":{"type":"base64","media_type":"image/png","data":"AQID"}}]}]}`,
		wholeText: `content.#(type=="text").text`, wholeArgs: `content.#(type=="tool_use")#.input`,
		wholeThinking: `content.#(type=="thinking").thinking`, input: "usage.input_tokens", piece: "delta.text",
	}
}

func geminiFamily() family {
	body := `{"contents":[{"role":"user","parts":[{"text":"$TEXT"}]}]}`
	tools := `"tools":[{"functionDeclarations":[{"name":"weather","parameters":` + weather + `},{"name":"clock","parametersJsonSchema":` + clock + `}]}]`
	return family{
		name: "gemini", whole: "/v1beta/models/m:generateContent", stream: "/v1beta/models/m:streamGenerateContent?alt=sse",
		headers: []string{"X-Goog-Api-Key", "k"}, wholeBody: body, streamBody: body, tools: tools,
		afterTool: `{"contents":[{"role":"user","parts":[{"text":"w?"}]},{"role":"model","parts":[{"functionCall":{"name":"weather","args":{}}}]},` +
			`{"role":"user","parts":[{"functionResponse":{"name":"weather","response":{"result":"12 degrees"}}}]}],` + tools + `}`,
		schema:    `"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":` + nSchema + `}`,
		image:     `{"contents":[{"role":"user","parts":[{"text":"see"},{"inlineData":{"mimeType":"image/png","data":"AQID"}}]}]}`,
		wholeText: `candidates.0.content.parts.#(thought==~false).text`, wholeArgs: `candidates.0.content.parts.#.functionCall.args`,
		wholeThinking: `candidates.0.content.parts.#(thought==true).text`, input: "usageMetadata.promptTokenCount",
		piece: "candidates.0.content.parts.#(thought==~false).text",
	}
}

func bedrockFamily() family {
	body := `{"messages":[{"role":"user","content":[{"text":"$TEXT"}]}]}`
	tools := `"toolConfig":{"tools":[{"toolSpec":{"name":"weather","inputSchema":{"json":` + weather + `}}},` +
		`{"toolSpec":{"name":"clock","inputSchema":{"json":` + clock + `}}}]}`
	return family{
		name: "bedrock", whole: "/model/m-v1%3A0/converse", stream: "/model/m-v1%3A0/converse-stream",
		headers: []string{"Authorization", signed, "X-Amz-Date", "20261121T040000Z"}, wholeBody: body, streamBody: body, tools: tools,
		afterTool: `{"messages":[{"role":"user","content":[{"text":"w?"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"c1","name":"weather",` +
			`"input":{}}}]},{"role":"user","content":[{"toolResult":{"toolUseId":"c1","content":[{"text":"12 degrees"}]}}]}],` + tools + `}`,
		schema: `"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"name":"n","schema":"` +
			strings.ReplaceAll(nSchema, `"`, `\"`) + `"}}}}`,
		image:     `{"messages":[{"role":"user","content":[{"text":"see"},{"image":{"format":"png","source":{"bytes":"AQID"}}}]}]}`,
		wholeText: `output.message.content.#.text|0`, wholeArgs: `output.message.content.#.toolUse.input`,
		wholeThinking: `output.message.content.0.reasoningContent.reasoningText.text`, input: "usage.inputTokens", piece: "delta.text",
	}
}

func cohereFamily(headers []string) family {
	f := chatFamily("cohere", "/v2/chat", headers...)
	f.streamBody = strings.ReplaceAll(f.streamBody, `,"stream_options":{"include_usage":true}`, "")
	f.schema = `"response_format":{"type":"json_object","json_schema":` + nSchema + `}`
	f.wholeText, f.wholeArgs = `message.content.#(type=="text").text`, "message.tool_calls.#.function.arguments"
	f.wholeThinking, f.input, f.piece = `message.content.#(type=="thinking").thinking`, "usage.tokens.input_tokens", "delta.message.content.text"
	return f
}

func fill(body, text string, members ...string) string {
	body = strings.ReplaceAll(body, "$TEXT", text)
	for _, m := range members {
		body = body[:len(body)-1] + "," + m + "}"
	}
	return body
}

func do(t *testing.T, s *fakeprovider.Server, path, body string, headers []string) *http.Response {
	t.Helper()
	r, err := http.NewRequest("POST", s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// post requests a non-streaming response and returns its status and body.
func post(t *testing.T, s *fakeprovider.Server, f family, body string) (int, string) {
	t.Helper()
	resp := do(t, s, f.whole, body, f.headers)
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

type streamed struct{ name, data string }

// stream reads a stream to its end and returns the error that ended it.
func stream(t *testing.T, s *fakeprovider.Server, f family, text string, members ...string) (events []streamed, err error) {
	t.Helper()
	resp := do(t, s, f.stream, fill(f.streamBody, text, members...), f.headers)
	data, err := io.ReadAll(resp.Body)
	return parse(t, f, data), err
}

func parse(t *testing.T, f family, data []byte) (events []streamed) {
	t.Helper()
	if f.name == "bedrock" {
		return frames(t, data)
	}
	var p sse.Parser
	read, _ := p.Feed(data, true)
	for _, e := range read {
		events = append(events, streamed{e.Name, string(e.Data)})
	}
	return events
}

// frames parses event stream frames. It sets the name of a frame with a wrong checksum to "wrong checksum".
func frames(t *testing.T, data []byte) (events []streamed) {
	t.Helper()
	for len(data) >= 16 {
		total, headers := binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])
		if binary.BigEndian.Uint32(data[8:]) != crc32.ChecksumIEEE(data[:8]) || int(total) > len(data) {
			t.Fatalf("invalid frame prelude: %x", data[:12])
		}
		e := streamed{eventName(data[12 : 12+headers]), string(data[12+headers : total-4])}
		if binary.BigEndian.Uint32(data[total-4:]) != crc32.ChecksumIEEE(data[:total-4]) {
			e.name = "wrong checksum"
		}
		events, data = append(events, e), data[total:]
	}
	if len(data) > 0 {
		t.Fatalf("%d bytes after the last frame", len(data))
	}
	return events
}

// eventName returns the value of :event-type or :exception-type. It searches the text, because no earlier header
// contains these names.
func eventName(headers []byte) string {
	for _, name := range []string{":event-type", ":exception-type"} {
		if _, rest, ok := bytes.Cut(headers, []byte(name)); ok {
			n := binary.BigEndian.Uint16(rest[1:])
			return string(rest[3 : 3+n])
		}
	}
	return ""
}

func textIn(f family, events []streamed) (text string) {
	for _, e := range events {
		if f.name == "responses" && e.name != "response.output_text.delta" {
			continue
		}
		if v := gjson.Get(e.data, f.piece); v.Type == gjson.String {
			text += v.Str
		}
	}
	return text
}

func TestWholeResponses(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	for _, f := range families() {
		for _, c := range []struct{ name, body, path, want string }{
			{"text", fill(f.wholeBody, "hi"), f.wholeText, "Hello from upstream"},
			{"usage", fill(f.wholeBody, "hi"), f.input, "100"},
			{"count", fill(f.wholeBody, "count to 4"), f.wholeText, "1 2 3 4"},
			{"think", fill(f.wholeBody, "think"), f.wholeThinking, "The user wants me to think. I shall say little."},
			{"tool result", f.afterTool, f.wholeText, "The tool said: 12 degrees"},
			{"schema", fill(f.wholeBody, "hi", f.schema), f.wholeText, `{"n":7}`},
			{"image", f.image, f.wholeText, "I see an image (image/png, 3 bytes)"},
		} {
			status, body := post(t, s, f, c.body)
			if got := gjson.Get(body, c.path).String(); status != 200 || got != c.want {
				t.Errorf("%s, %s: %d %q, want %q, in %s", f.name, c.name, status, got, c.want, body)
			}
		}
	}
}

func TestToolCalls(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	for _, f := range families() {
		for text, want := range map[string]string{"hi": `{"city":"Paris"}`, "in parallel": `{"city":"Paris"}{"zone":7}`} {
			_, body := post(t, s, f, fill(f.wholeBody, text, f.tools))
			got := ""
			for _, args := range gjson.Get(body, f.wholeArgs).Array() {
				got += args.String()
			}
			if got != want {
				t.Errorf("%s, %s: %q in %s", f.name, text, got, body)
			}
		}
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	for _, f := range families() {
		events, err := stream(t, s, f, "think, cached")
		if got := textIn(f, events); got != "Hello from upstream" || err != nil {
			t.Errorf("%s: %q, %v", f.name, got, err)
		}
		for _, e := range events {
			if e.data != "[DONE]" && !gjson.Valid(e.data) {
				t.Errorf("%s: not JSON: %s", f.name, e.data)
			}
		}
		seen := s.Seen()
		if last := seen[len(seen)-1]; last.Disconnected || !last.Done || last.EventsSent != len(events) || last.Family != f.name {
			t.Errorf("%s: %d events, seen %+v", f.name, len(events), last)
		}
	}
}

// TestOrder checks the order of each family's events for two tool calls.
func TestOrder(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	want := map[string]string{
		"anthropic": "message_start content_block_start content_block_delta ping content_block_stop content_block_start " +
			"content_block_delta ping content_block_stop message_delta message_stop",
		"responses": "response.created response.in_progress response.output_item.added response.function_call_arguments.delta " +
			"response.function_call_arguments.done response.output_item.done response.output_item.added " +
			"response.function_call_arguments.delta response.function_call_arguments.done response.output_item.done response.completed",
		"bedrock": "messageStart contentBlockStart contentBlockDelta contentBlockStop contentBlockStart contentBlockDelta " +
			"contentBlockStop messageStop metadata",
		"cohere": "message-start tool-plan-delta tool-call-start tool-call-delta tool-call-end tool-call-start " +
			"tool-call-delta tool-call-end message-end ",
	}
	for _, f := range families() {
		events, _ := stream(t, s, f, "in parallel", f.tools)
		var names []string
		for _, e := range events {
			repeated := len(names) > 0 && names[len(names)-1] == e.name ||
				strings.HasSuffix(e.name, "_delta") && len(names) > 1 && names[len(names)-1] == "ping" && names[len(names)-2] == e.name
			if !repeated {
				names = append(names, e.name)
			}
		}
		if got := strings.Join(names, " "); want[f.name] != "" && got != want[f.name] {
			t.Errorf("%s:\n%s", f.name, got)
		}
	}
}

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	s := fakeprovider.New()
	defer s.Close()
	bearer, aws := []string{"Authorization", "Bearer k"}, bedrockFamily().headers
	for _, c := range []struct {
		path, body, first, second string
		headers                   []string
	}{
		{"/v1/embeddings", `{"model":"m","input":["a","b"]}`, "data.0.embedding", "data.1.embedding", bearer},
		{"/v1beta/models/m:batchEmbedContents", `{"requests":[{"model":"models/m","content":{"parts":[{"text":"a"}]}},` +
			`{"model":"models/m","content":{"parts":[{"text":"b"}]}}]}`, "embeddings.0.values", "embeddings.1.values", geminiFamily().headers},
		{"/v2/embed", `{"model":"m","input_type":"search_query","texts":["a","b"]}`, "embeddings.float.0", "embeddings.float.1", bearer},
		{"/model/cohere.embed-english-v3/invoke", `{"input_type":"search_query","texts":["a","b"]}`, "embeddings.0", "embeddings.1", aws},
		{"/model/amazon.titan-embed-text-v2%3A0/invoke", `{"inputText":"a"}`, "embedding", "", aws},
	} {
		resp := do(t, s, c.path, c.body, c.headers)
		data, _ := io.ReadAll(resp.Body)
		for text, path := range map[string]string{"a": c.first, "b": c.second} {
			if path == "" {
				continue
			}
			for i, want := range fakeprovider.Vector(text, 0) {
				if got := gjson.GetBytes(data, path).Array(); len(got) != 8 || got[i].Num != want {
					t.Fatalf("%s: %s", c.path, data)
				}
			}
		}
	}
}
