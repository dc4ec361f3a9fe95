package fakeprovider

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

const (
	titanMembers       = "inputText dimensions normalize embeddingTypes"
	cohereEmbedMembers = "texts images input_type truncate embedding_types output_dimension max_tokens inputs"
)

func refuseBedrock(q *request) *refusal {
	if f := refuseSignature(q); f != nil {
		return f
	}
	if !q.root.IsObject() {
		return &refusal{status: 400, kind: "SerializationException", message: "The request body is not valid JSON."}
	}
	if q.op == "embed" {
		return refuseInvoke(q)
	}
	return refuseConverse(q.root)
}

func refuseInvoke(q *request) *refusal {
	v, known, needed := q.root, titanMembers, []string{"inputText"}
	if strings.Contains(q.model, "cohere") {
		known, needed = cohereEmbedMembers, []string{"texts", "input_type"}
	}
	if name := unknown(v, known); name != "" {
		return bad("Malformed input request: #: extraneous key [" + name + "] is not permitted, please reformat your input and try again.")
	}
	for _, name := range needed {
		if !v.Get(name).Exists() {
			return bad("Malformed input request: #: required key [" + name + "] not found, please reformat your input and try again.")
		}
	}
	if len(v.Get("texts").Array()) > 96 {
		return bad("Malformed input request: #/texts: expected maximum item count: 96, please reformat your input and try again.")
	}
	return nil
}

// refuseConverse checks that roles alternate, that no text is blank, and that tool calls and results match.
func refuseConverse(v gjson.Result) *refusal {
	list := v.Get("messages").Array()
	if len(list) == 0 {
		return bad("The messages field is required.")
	}
	before, calls := "assistant", map[string]bool{}
	for i, m := range list {
		role := m.Get("role").Str
		if i == 0 && role != "user" {
			return bad("A conversation must start with a user message. Try again with a conversation that starts with a user message.")
		}
		if role == before || role != "user" && role != "assistant" {
			return bad("A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.")
		}
		before = role
		if f := refuseBlocks("messages."+strconv.Itoa(i), m.Get("content")); f != nil {
			return f
		}
		if f := refuseResults(m.Get("content"), calls); f != nil {
			return f
		}
	}
	tools := strings.Contains(v.Get("messages").Raw, `"toolUse"`) || strings.Contains(v.Get("messages").Raw, `"toolResult"`)
	if tools && len(v.Get("toolConfig.tools").Array()) == 0 {
		return bad("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
	}
	return refuseToolConfig(v.Get("toolConfig"))
}

func refuseBlocks(at string, content gjson.Result) *refusal {
	if !content.IsArray() || len(content.Array()) == 0 {
		return bad("The content field in the Message object at " + at + " is empty. Add a ContentBlock object to the content field and try again.")
	}
	for n, block := range content.Array() {
		if text := block.Get("text"); text.Exists() && strings.TrimSpace(text.Str) == "" {
			return bad("The text field in the ContentBlock object at " + at + ".content." + strconv.Itoa(n) + " is blank. Add text to the text field, and try again.")
		}
	}
	return nil
}

// refuseResults matches results with earlier calls, then records new calls.
func refuseResults(content gjson.Result, calls map[string]bool) *refusal {
	for _, block := range content.Array() {
		name := block.Get("toolResult.toolUseId").Str
		if name != "" && !calls[name] {
			return bad("The number of toolResult blocks exceeds the number of toolUse blocks of previous turn.")
		}
		delete(calls, name)
	}
	if len(calls) > 0 {
		return bad("Expected toolResult blocks for the toolUse blocks of the previous turn.")
	}
	for _, block := range content.Array() {
		if name := block.Get("toolUse.toolUseId").Str; name != "" {
			calls[name] = true
		}
	}
	return nil
}

func refuseToolConfig(config gjson.Result) *refusal {
	for i, t := range config.Get("tools").Array() {
		at := "toolConfig.tools." + strconv.Itoa(i) + ".member.toolSpec"
		if t.Get("cachePoint").Exists() || t.Get("systemTool").Exists() {
			continue
		}
		if !toolName.MatchString(t.Get("toolSpec.name").Str) {
			return bad("1 validation error detected: Value at '" + at + ".name' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+")
		}
		if t.Get("toolSpec.inputSchema.json.type").Str != "object" {
			return bad("The value at " + at + ".inputSchema.json.type must be one of the following: object.")
		}
	}
	return nil
}
