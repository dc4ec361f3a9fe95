// Package bedrock implements the client side of Amazon Bedrock's Converse API, and of InvokeModel for embeddings.
// Source: Amazon Bedrock API Reference, "Converse", "ConverseStream" and "InvokeModel"
// (docs.aws.amazon.com/bedrock/latest/APIReference), Amazon Bedrock User Guide, "Prompt caching", "Extended
// thinking", "Adaptive thinking" and "Inference request parameters", and the types of the SDK for JavaScript,
// @aws-sdk/client-bedrock-runtime 3.1162.
package bedrock

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Carries lists the parameters that Converse supports. Image URLs are not included: Converse accepts only S3 URLs.
// Some models do not support cache points, a schema or a forced tool call. The catalog lists these under drops.
const Carries = chat.ParamAlienThinking | chat.ParamTemperature | chat.ParamTopP | chat.ParamTopK | chat.ParamStop | chat.ParamToolChoice |
	chat.ParamFormatSchema | chat.ParamReasoning | chat.ParamCache | chat.ParamThinking | chat.ParamTools |
	chat.ParamImages | chat.ParamFiles

// The names of settings. The bearer setting is a Bedrock API key. If it is set, requests are not signed. Otherwise,
// Provider.Key is the secret access key.
const (
	settingRegion = "region"
	settingKeyID  = "accessKeyId"
	settingToken  = "sessionToken"
	settingBearer = "bearer"
)

// Request builds a Converse request from a conversation. If Converse does not support a part of the conversation, the
// Action's URL is empty.
func Request(c *wire.Call) abi.Action {
	operation := "/converse"
	if c.Request.Stream {
		operation = "/converse-stream"
	}
	b, ok := body(c)
	if !ok {
		return abi.Action{}
	}
	return post(c.Model, c.NowMs, operation, b)
}

func post(m *config.Model, nowMs uint64, operation string, body []byte) abi.Action {
	p := m.Provider
	url := p.BaseURL + "/model/" + escape(m.Upstream, false) + operation
	var auth []abi.Header
	if bearer := p.Setting(settingBearer); bearer != "" {
		auth = []abi.Header{{Name: "authorization", Value: "Bearer " + bearer}}
	} else if p.Key != "" {
		s := signer{
			accessKeyID: p.Setting(settingKeyID), secret: p.Key, token: p.Setting(settingToken),
			region: p.Setting(settingRegion), service: "bedrock", nowMs: nowMs,
		}
		auth = s.sign("POST", url, "application/json", body)
	}
	return wire.Post(url, []abi.Part{{Data: body}}, auth...)
}

// vendor is the model's maker. It determines the vendor-specific fields.
type vendor uint8

const (
	otherVendor vendor = iota
	anthropic
	nova
)

func vendorOf(m *config.Model) vendor {
	switch {
	case strings.Contains(m.Upstream, "anthropic"):
		return anthropic
	case strings.Contains(m.Upstream, "amazon.nova"):
		return nova
	}
	return otherVendor
}

func body(c *wire.Call) ([]byte, bool) {
	r := c.Request
	v := vendorOf(c.Model)
	t := thinkingOf(c, v)
	w := writer{b: jsontext.Builder{B: make([]byte, 0, 1024)}}
	b := &w.b
	b.Open('{')
	w.system(r)
	w.messages(r)
	inference(b, c, v, &t)
	w.tools(r)
	extraFields(b, r, v, &t)
	output(b, &r.Format, t.effort)
	if v == anthropic && len(r.Stop) > 0 {
		// Without this field, the response does not say which stop sequence matched.
		b.Member("additionalModelResponseFieldPaths", `["/stop_sequence"]`)
	}
	b.Close('}')
	return b.B, !w.failed
}

// inference writes {"maxTokens","temperature","topP","stopSequences"}. Claude rejects temperature and topP when
// thinking is on. Since version 4.1, Claude also rejects the two together. Callers of other APIs cannot know this, so
// the parameters that conflict are dropped.
func inference(b *jsontext.Builder, c *wire.Call, v vendor, t *thinking) {
	r := c.Request
	switch {
	case t.excludesSampling():
		c.Leave(wire.Sampling)
	case v == anthropic && r.Temperature != "":
		c.Leave(chat.ParamTopP)
	case v == otherVendor:
		c.Leave(chat.ParamTopK)
	}
	c.Clamp()
	if t.maxTokens == 0 && r.Temperature == "" && r.TopP == "" && len(r.Stop) == 0 {
		return
	}
	b.Key("inferenceConfig")
	b.Open('{')
	if t.maxTokens > 0 {
		b.Key("maxTokens")
		b.Uint(t.maxTokens)
	}
	b.Member("temperature", r.Temperature)
	b.Member("topP", r.TopP)
	c.Stop(b, "stopSequences")
	b.Close('}')
}

// extraFields writes the fields that Converse passes to the model unchanged.
func extraFields(b *jsontext.Builder, r *chat.Request, v vendor, t *thinking) {
	topK := r.TopK
	if topK == "" && t.kind == "" {
		return
	}
	b.Key("additionalModelRequestFields")
	b.Open('{')
	switch {
	case topK == "":
	case v == anthropic:
		b.Member("top_k", topK)
	default:
		b.Raw(`"inferenceConfig":{"topK":` + topK + `}`)
	}
	t.write(b, v)
	b.Close('}')
}

// output writes {"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"…"}}},"effort"}. The
// schema is JSON in a string.
func output(b *jsontext.Builder, f *chat.Format, effort string) {
	if f.Kind != chat.FormatSchema && effort == "" {
		return
	}
	b.Key("outputConfig")
	b.Open('{')
	if f.Kind == chat.FormatSchema {
		b.Key("textFormat")
		b.Open('{')
		b.Member("type", `"json_schema"`)
		b.Key("structure")
		b.Open('{')
		b.Key("jsonSchema")
		b.Open('{')
		b.Key("schema")
		b.String(orEmptyObject(f.Schema))
		b.TextMember("name", f.Name)
		b.TextMember("description", f.Description)
		b.Close('}')
		b.Close('}')
		b.Close('}')
	}
	if effort != "" {
		b.Key("effort")
		b.String(effort)
	}
	b.Close('}')
}

func orEmptyObject(json string) string {
	if json == "" {
		return `{"type":"object"}`
	}
	return json
}
