package fakeprovider

import (
	"strings"

	"github.com/tidwall/gjson"
)

// geminiWire speaks Gemini's generateContent and embedContent. Source: Gemini API reference, "Generating
// content", "Embeddings" and "Thought signatures" (ai.google.dev/api, ai.google.dev/gemini-api/docs), and the
// types of the npm package @google/genai.
var geminiWire = &wire{
	family: "gemini", framing: sseCRLF, refuse: refuseGemini, prompt: geminiPrompt, whole: geminiWhole, events: geminiEvents,
	otherOps: map[string]func(*request, *Behavior) raw{
		"embed": geminiEmbed,
		"count": func(*request, *Behavior) raw { return object("totalTokens", InputTokens) },
	},
	failure: geminiFailure,
	streamError: func() []event {
		body, _ := geminiFailure(&refusal{status: 503, message: "The model is overloaded. Please try again later."})
		return []event{{data: body}}
	},
}

// field returns a field by its camel-case or snake-case name, because Google accepts both.
func field(v gjson.Result, name string) gjson.Result {
	if found := v.Get(name); found.Exists() {
		return found
	}
	return v.Get(snake(name))
}

func snake(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

func geminiPrompt(q *request) prompt {
	v := q.root
	p := prompt{model: q.model, stream: q.method == "streamGenerateContent" && q.r.URL.Query().Get("alt") == "sse"}
	for _, content := range v.Get("contents").Array() {
		p.geminiContent(content)
	}
	for _, t := range v.Get("tools").Array() {
		for _, f := range field(t, "functionDeclarations").Array() {
			schema := f.Get("parameters")
			if !schema.Exists() {
				schema = field(f, "parametersJsonSchema")
			}
			p.tools = append(p.tools, tool{name: f.Get("name").Str, schema: schema})
		}
	}
	p.geminiToolChoice(field(field(v, "toolConfig"), "functionCallingConfig"))
	config := field(v, "generationConfig")
	p.json = field(config, "responseMimeType").Str == "application/json"
	if p.schema = field(config, "responseJsonSchema"); !p.schema.Exists() {
		p.schema = field(config, "responseSchema")
	}
	return p
}

func (p *prompt) geminiToolChoice(config gjson.Result) {
	switch config.Get("mode").Str {
	case "NONE":
		p.toolChoice = "none"
	case "ANY":
		p.toolChoice = "any"
		if names := field(config, "allowedFunctionNames").Array(); len(names) == 1 {
			p.toolChoice, p.forcedTool = "tool", names[0].Str
		}
	}
}

func (p *prompt) geminiContent(content gjson.Result) {
	fromUser := content.Get("role").Str != "model"
	results := strings.Contains(content.Raw, `"functionResponse"`) || strings.Contains(content.Raw, `"function_response"`)
	p.startMessage(fromUser && !results)
	if !fromUser {
		return
	}
	for _, part := range content.Get("parts").Array() {
		if r := field(part, "functionResponse"); r.Exists() {
			p.addResult(geminiResult(r.Get("response")))
		}
		if data := field(part, "inlineData"); data.Exists() {
			media := field(data, "mimeType").Str
			p.addMedia(mediaNoun(media), media, data.Get("data").Str)
		}
		if file := field(part, "fileData"); file.Exists() {
			p.addMediaURL(mediaNoun(field(file, "mimeType").Str), field(file, "fileUri").Str)
		}
		if text := part.Get("text").Str; text != "" {
			p.addText(text)
		}
	}
}

// geminiResult returns a function's result. If the object has only one field and it is a string, the result is that
// string. Otherwise, it is the object.
func geminiResult(response gjson.Result) string {
	text, members := response.Raw, 0
	response.ForEach(func(_, v gjson.Result) bool {
		members++
		if v.Type == gjson.String {
			text = v.Str
		}
		return true
	})
	if members != 1 {
		return response.Raw
	}
	return text
}

func mediaNoun(media string) string {
	switch {
	case strings.HasPrefix(media, "image/"), media == "":
		return "an image"
	case strings.HasPrefix(media, "audio/"):
		return "a recording"
	}
	return "a file"
}

func geminiFinish(finish string) string {
	return map[string]string{"stop": "STOP", "tools": "STOP", "length": "MAX_TOKENS", "filter": "SAFETY"}[finish]
}

// geminiUsage returns the usage after a number of output tokens and thinking tokens. During a stream, the usage
// grows. candidatesTokenCount does not include the thinking tokens.
func geminiUsage(a *answer, output, thoughts int) any {
	return only(a.hasUsage, object("promptTokenCount", a.input(),
		"candidatesTokenCount", only(output > 0, output), "totalTokenCount", a.input()+output+thoughts,
		"cachedContentTokenCount", only(a.cached > 0, a.cached),
		"promptTokensDetails", array(object("modality", "TEXT", "tokenCount", a.input())),
		"cacheTokensDetails", only(a.cached > 0, array(object("modality", "TEXT", "tokenCount", a.cached))),
		"thoughtsTokenCount", only(thoughts > 0, thoughts)))
}

func geminiAnswer(a *answer, parts []raw, finish string, usageObject any) raw {
	return object("candidates", array(object("content", object("parts", array(parts...), "role", "model"),
		"finishReason", only(finish != "", finish), "index", 0)),
		"usageMetadata", usageObject, "modelVersion", a.model, "responseId", "resp-1")
}

// geminiCall returns a function call. The first call has the signature of the thinking. Gemini 3 and later models
// send IDs.
func geminiCall(a *answer, n int) raw {
	c := a.calls[n]
	return object("functionCall", object("name", c.name, "args", raw(c.args),
		"id", only(strings.HasPrefix(a.model, "gemini-3"), id("fc-", n))),
		"thoughtSignature", only(n == 0 && len(a.thinking) > 0, signature))
}

func geminiWhole(a *answer) raw {
	var parts []raw
	if len(a.thinking) > 0 {
		parts = append(parts, object("text", a.fullThinking(), "thought", true))
	}
	if len(a.text) > 0 {
		parts = append(parts, object("text", a.fullText(), "thoughtSignature", only(len(a.thinking) > 0, signature)))
	}
	for i := range a.calls {
		parts = append(parts, geminiCall(a, i))
	}
	return geminiAnswer(a, parts, geminiFinish(a.finish), geminiUsage(a, a.output()-a.reasoning, a.reasoning))
}

func geminiEvents(a *answer) (events []event) {
	add := func(kind eventKind, part raw, output, thoughts int) {
		events = append(events, event{kind: kind, data: geminiAnswer(a, []raw{part}, "", geminiUsage(a, output, thoughts))})
	}
	for i, piece := range a.thinking {
		add(middle, object("text", piece, "thought", true), 0, a.reasoning*(i+1)/len(a.thinking))
	}
	output := a.output() - a.reasoning
	for i, piece := range a.text {
		add(text, object("text", piece), output*(i+1)/(len(a.text)+1), a.reasoning)
	}
	for i := range a.calls {
		add(middle, geminiCall(a, i), output*(i+1)/(len(a.calls)+1), a.reasoning)
	}
	last := object("text", "", "thoughtSignature", only(len(a.thinking) > 0 && len(a.calls) == 0, signature))
	return append(events, event{data: geminiAnswer(a, []raw{last}, geminiFinish(a.finish), geminiUsage(a, output, a.reasoning))})
}

// geminiEmbed returns {"embeddings":[{"values"}]}, or {"embedding":{"values"}} for a single text.
func geminiEmbed(q *request, _ *Behavior) raw {
	if q.method == "embedContent" {
		return object("embedding", geminiVector(q.root))
	}
	var list []raw
	for _, one := range q.root.Get("requests").Array() {
		list = append(list, geminiVector(one))
	}
	return object("embeddings", list)
}

func geminiVector(v gjson.Result) raw {
	text := ""
	for _, part := range v.Get("content.parts").Array() {
		text += part.Get("text").Str
	}
	return object("values", Vector(text, int(field(v, "outputDimensionality").Int())))
}

var geminiErrors = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 408: "DEADLINE_EXCEEDED",
	413: "INVALID_ARGUMENT", 422: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 502: "UNAVAILABLE",
	503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED", 529: "UNAVAILABLE",
}

// geminiFailure returns {"error":{"code","message","status","details"}}. Source: Google Cloud API design guide,
// "Errors" (google.rpc.Status).
func geminiFailure(f *refusal) (raw, map[string]string) {
	status := geminiErrors[f.status]
	if f.kind != "" {
		status = f.kind
	}
	var details any = absent{}
	if f.code != "" {
		details = array(object("@type", "type.googleapis.com/google.rpc.ErrorInfo", "reason", f.code,
			"domain", "googleapis.com", "metadata", object("service", "generativelanguage.googleapis.com")))
	}
	return object("error", object("code", f.status, "message", f.message, "status", status, "details", details)), nil
}
