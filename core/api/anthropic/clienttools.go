package anthropic

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

// clientTools are the tools in Anthropic's API that the caller runs and that Anthropic's models have been trained to
// use. Other models get functions with the same names and inputs, so their calls need no translation. The computer
// tools are not included, because other models are not trained to use them. Source: Anthropic's "Bash tool", "Text
// editor tool" and "Memory tool" (platform.claude.com/docs/en/agents-and-tools/tool-use), as of 2026-11.
var clientTools = [...]struct{ kind, description, schema string }{
	{
		"bash", "Runs a command in a bash session that persists on the user's machine.",
		`{"type":"object","properties":{"command":{"type":"string"},"restart":{"type":"boolean","description":"Starts a new session; without a command."}}}`,
	},
	{
		"text_editor", "Views, creates and edits text files on the user's machine.",
		`{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert"]},"path":{"type":"string"},` +
			`"view_range":{"type":"array","items":{"type":"integer"},"description":"For view: the first and the last line, from 1; -1 is the end."},` +
			`"file_text":{"type":"string","description":"For create: the content."},"old_str":{"type":"string","description":"For str_replace: a text that occurs once."},` +
			`"new_str":{"type":"string","description":"For str_replace: the new text."},"insert_line":{"type":"integer","description":"For insert: the line to insert after; 0 is the beginning."},` +
			`"insert_text":{"type":"string","description":"For insert: the text."}},"required":["command","path"]}`,
	},
	{
		"memory", "Keeps notes in files under /memories, beyond this conversation.",
		`{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert","delete","rename"]},"path":{"type":"string"},` +
			`"view_range":{"type":"array","items":{"type":"integer"}},"file_text":{"type":"string"},"old_str":{"type":"string"},"new_str":{"type":"string"},` +
			`"insert_line":{"type":"integer"},"insert_text":{"type":"string"},"old_path":{"type":"string"},"new_path":{"type":"string"}},"required":["command"]}`,
	},
}

func clientTool(t *chat.Tool, v gjson.Result, kind string) bool {
	for i := range clientTools {
		if c := &clientTools[i]; c.kind == kind {
			t.Name = jsontext.Inside(jsonvalue.Get(v.Raw, "name").Raw)
			t.Description, t.Schema = jsontext.Escape(c.description), c.schema
			return t.Name != ""
		}
	}
	return false
}

// ownBlock returns the part for a block of a provider tool, or for a block that a conversation can do without. For
// any other block from the user, ok is false.
func ownBlock(v gjson.Result, role chat.Role) (p chat.Part, ok bool) {
	switch kind := jsonvalue.Get(v.Raw, "type"); {
	case kind.Str == "tool_reference": // a tool that a tool search found; its name is enough, because all tools are declared
		return chat.Part{Kind: chat.Text, Text: jsontext.Inside(jsonvalue.Get(v.Raw, "tool_name").Raw)}, true
	case kind.Str == "search_result":
		p = chat.Part{Kind: chat.Text, Text: jsontext.Inside(jsonvalue.Get(v.Raw, "title").Raw) + `\n` + jsontext.Inside(jsonvalue.Get(v.Raw, "source").Raw)}
		api.Each(jsonvalue.Get(v.Raw, "content"), func(c gjson.Result) {
			p.Text += `\n` + jsontext.Inside(jsonvalue.Get(c.Raw, "text").Raw)
		})
		return p, true
	case role == chat.Assistant:
		return chat.Part{Kind: chat.Own, Name: "messages." + jsontext.Inside(kind.Raw)}, true
	}
	return p, false
}
