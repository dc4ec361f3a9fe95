package bedrock

import (
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// tools writes {"tools":[{"toolSpec":{"name","description","inputSchema":{"json":{…}}}}],"toolChoice":{…}}.
// Converse has no tool choice "none", so the tools are omitted instead. A conversation that contains tool calls
// must name at least one tool.
func (w *writer) tools(r *chat.Request) {
	given := r.ToolChoice.Choice != chat.ChoiceNone && functions(r.Tools) > 0
	if !given && !w.calls {
		return
	}
	b := &w.b
	b.Key("toolConfig")
	b.Open('{')
	b.Key("tools")
	b.Open('[')
	for i := range r.Tools {
		if t := &r.Tools[i]; t.Raw == "" {
			w.tool(t)
		}
	}
	if functions(r.Tools) == 0 {
		b.Raw(`{"toolSpec":{"name":"none","description":"There is no tool.","inputSchema":{"json":{"type":"object"}}}}`)
	}
	b.Close(']')
	if given {
		toolChoice(b, &r.ToolChoice)
	}
	b.Close('}')
}

// functions counts the functions among the tools. All other tools are server tools of another provider.
func functions(tools []chat.Tool) (n int) {
	for i := range tools {
		if tools[i].Raw == "" {
			n++
		}
	}
	return n
}

func (w *writer) tool(t *chat.Tool) {
	b := &w.b
	b.Open('{')
	b.Key("toolSpec")
	b.Open('{')
	b.Key("name")
	b.Text(t.Name)
	b.TextMember("description", t.Description)
	b.Key("inputSchema")
	b.Open('{')
	b.Key("json")
	b.Raw(orEmptyObject(t.Schema))
	b.Close('}')
	b.Close('}')
	b.Close('}')
	w.cachePoint(t.Cache)
}

func toolChoice(b *jsontext.Builder, c *chat.ToolChoice) {
	switch c.Choice {
	case chat.ChoiceAuto:
		b.Member("toolChoice", `{"auto":{}}`)
	case chat.ChoiceAny:
		b.Member("toolChoice", `{"any":{}}`)
	case chat.ChoiceTool:
		b.Key("toolChoice")
		b.Raw(`{"tool":{"name":"` + string(c.Name) + `"}}`)
	}
}
