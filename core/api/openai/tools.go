package openai

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsonvalue"
)

// Source for custom tools and allowed tools: OpenAI's guide "Function calling" and the types CustomTool,
// ChatCompletionCustomTool and ToolChoiceAllowed of its SDK, openai 7.55, as of 2026-11.

// Freeform reads a custom tool, {"name","description","format":{"type":"grammar","syntax","definition"}}, as a
// function with one string parameter. The grammar becomes part of the description.
func Freeform(v gjson.Result) chat.Tool {
	t := chat.Tool{Kind: chat.Custom, Name: jsonvalue.Text(v.Raw, "name"), Description: jsonvalue.Text(v.Raw, "description")}
	format := jsonvalue.Get(v.Raw, "format")
	if grammar := jsonvalue.Get(format.Raw, "grammar"); grammar.IsObject() { // in chat completions
		format = grammar
	}
	if definition := jsonvalue.Text(format.Raw, "definition"); definition != "" {
		t.Description += `\n\nThe input must match this ` + jsonvalue.Text(format.Raw, "syntax") + ` grammar:\n` + definition
	}
	t.Schema = `{"type":"object","properties":{"input":{"type":"string","description":"The whole input of the tool, as plain text."}},` +
		`"required":["input"],"additionalProperties":false}`
	return t
}

// AllowedMode returns the choice of {"type":"allowed_tools","mode"}.
func AllowedMode(v gjson.Result) chat.ToolChoice {
	if jsonvalue.String(v.Raw, "mode") == "required" {
		return chat.ToolChoice{Choice: chat.ChoiceAny}
	}
	return chat.ToolChoice{Choice: chat.ChoiceAuto}
}

// Allow bars tools that are not in a list of allowed tools. name returns the name of a list element. If an element
// has no name, its type identifies the tool.
func Allow(tools []chat.Tool, list gjson.Result, name func(gjson.Result) gjson.Result) {
	var allowed []string
	api.Each(list, func(t gjson.Result) {
		text := wireText(name(t))
		if text == "" {
			text = jsonvalue.Text(t.Raw, "type")
		}
		allowed = append(allowed, string(jsonvalue.Text(t.Raw, "namespace")+"\x00"+text))
	})
	slices.Sort(allowed)
	for i := range tools {
		t := &tools[i]
		_, found := slices.BinarySearch(allowed, string(t.Space+"\x00"+t.Name))
		t.Barred = !found
	}
}
