package bedrock

import (
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// tools writes {"tools":[{"toolSpec":{"name","description","inputSchema":{"json":{…}}}}],"toolChoice":{…}}. There
// is no choice of none, so that the tools are left out then; but a conversation with calls in it must name
// some tool.
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

// functions is how many of the tools are not another provider's own.
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
