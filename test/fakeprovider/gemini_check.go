package fakeprovider

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

const (
	geminiMembers = "contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent labels model serviceTier store"
	geminiConfig  = "stopSequences responseMimeType responseSchema responseJsonSchema responseModalities candidateCount " +
		"maxOutputTokens temperature topP topK seed presencePenalty frequencyPenalty responseLogprobs logprobs " +
		"enableEnhancedCivicAnswers speechConfig thinkingConfig imageConfig mediaResolution responseFormat"
	geminiSchema = "anyOf default description enum example format items maxItems maxLength maxProperties maximum minItems " +
		"minLength minProperties minimum nullable pattern properties propertyOrdering required title type"
)

func refuseGemini(q *request) *refusal {
	v := q.root
	if q.r.Header.Get("X-Goog-Api-Key") == "" && q.r.URL.Query().Get("key") == "" && !q.bearer() {
		return &refusal{status: 403, message: "Method doesn't allow unregistered callers (callers without established identity)."}
	}
	if !v.IsObject() {
		return bad("Invalid JSON payload received. Unexpected end of string.")
	}
	if q.op != "chat" {
		return refuseGeminiOther(q)
	}
	config := field(v, "generationConfig")
	for _, check := range []struct {
		v     gjson.Result
		known string
		at    string
	}{{v, geminiMembers, ""}, {config, geminiConfig, " at 'generation_config'"}} {
		if name := unknown(check.v, bothSpellings(check.known)); name != "" {
			return bad("Invalid JSON payload received. Unknown name \"" + name + "\"" + check.at + ": Cannot find field.")
		}
	}
	if len(v.Get("contents").Array()) == 0 {
		return bad("* GenerateContentRequest.contents: contents is not specified\n")
	}
	if field(config, "responseSchema").Exists() && field(config, "responseMimeType").Str != "application/json" {
		return bad("* GenerateContentRequest.generation_config.response_schema: only allowed with response_mime_type application/json")
	}
	if f := refuseGeminiTools(v.Get("tools")); f != nil {
		return f
	}
	return refuseContents(v.Get("contents"))
}

func refuseGeminiOther(q *request) *refusal {
	switch {
	case q.method == "batchEmbedContents" && len(q.root.Get("requests").Array()) == 0:
		return bad("* BatchEmbedContentsRequest.requests: requests is empty")
	case q.method == "batchEmbedContents" && len(q.root.Get("requests").Array()) > 100:
		return bad("* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch")
	}
	for i, one := range q.root.Get("requests").Array() {
		at := "* BatchEmbedContentsRequest.requests[" + strconv.Itoa(i) + "]"
		if model := one.Get("model").Str; model != "models/"+q.model {
			return bad(at + ".model: unexpected model name format or a different model: " + model)
		}
		if len(one.Get("content.parts").Array()) == 0 {
			return bad(at + ".content: contents is not specified")
		}
	}
	return nil
}

// bothSpellings returns the camel-case names, and then the same names in snake case.
func bothSpellings(names string) string {
	all := names
	for _, name := range strings.Fields(names) {
		all += " " + snake(name)
	}
	return all
}

func refuseGeminiTools(tools gjson.Result) *refusal {
	for i, t := range tools.Array() {
		for n, f := range field(t, "functionDeclarations").Array() {
			at := "tools[" + strconv.Itoa(i) + "].function_declarations[" + strconv.Itoa(n) + "]"
			if f.Get("name").Str == "" {
				return bad("* GenerateContentRequest." + at + ".name: Invalid function name.")
			}
			if name := unknownInSchema(f.Get("parameters"), 0); name != "" {
				return bad("Invalid JSON payload received. Unknown name \"" + name + "\" at '" + at + ".parameters': Cannot find field.")
			}
		}
	}
	return nil
}

// unknownInSchema returns the first field that Google's Schema type does not have, such as additionalProperties.
// Complete JSON Schemas belong in another field, parametersJsonSchema.
func unknownInSchema(schema gjson.Result, depth int) string {
	if !schema.IsObject() || depth > maxSchemaDepth {
		return ""
	}
	if name := unknown(schema, bothSpellings(geminiSchema)); name != "" {
		return name
	}
	inner := append(schema.Get("anyOf").Array(), schema.Get("items"))
	schema.Get("properties").ForEach(func(_, v gjson.Result) bool {
		inner = append(inner, v)
		return true
	})
	for _, s := range inner {
		if name := unknownInSchema(s, depth+1); name != "" {
			return name
		}
	}
	return ""
}

// refuseContents checks roles and parts. It also checks that the turn after function calls has as many results.
func refuseContents(contents gjson.Result) *refusal {
	calls := 0
	for i, c := range contents.Array() {
		at := "* GenerateContentRequest.contents[" + strconv.Itoa(i) + "]"
		switch role := c.Get("role").Str; role {
		case "", "user", "model", "function":
		default:
			return bad("Please use a valid role: user, model.")
		}
		parts := c.Get("parts").Array()
		if len(parts) == 0 {
			return bad(at + ".parts: contents.parts must not be empty.")
		}
		newCalls, results := 0, 0
		for _, part := range parts {
			if field(part, "functionCall").Exists() {
				newCalls++
			}
			if field(part, "functionResponse").Exists() {
				results++
			}
		}
		if results != calls {
			return bad("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
		}
		calls = newCalls
	}
	return nil
}
