package responses

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Call reads an item that calls a client tool. It returns a call of the function that replaces the tool, with the
// tool's own name and namespace. For other items, ok is false.
func Call(item gjson.Result) (p chat.Part, ok bool) {
	name, ok := strings.CutSuffix(jsonvalue.String(item.Raw, "type"), "_call")
	p = chat.Part{Kind: chat.ToolCall, ID: wire.Text(CallID(item)), Name: jsontext.Escaped(name), Space: jsonvalue.Text(item.Raw, "namespace")}
	switch name {
	case "function":
		p.Name, p.Args = jsonvalue.Text(item.Raw, "name"), openai.Arguments(jsonvalue.Get(item.Raw, "arguments"))
	case "custom_tool":
		p.Name, p.Args = jsonvalue.Text(item.Raw, "name"), chat.InputArgs(jsonvalue.Text(item.Raw, "input"))
	case "apply_patch":
		p.Args = `{"operation":` + orEmpty(jsonvalue.Get(item.Raw, "operation")) + `}`
	case "tool_search":
		p.Args = openai.Arguments(jsonvalue.Get(item.Raw, "arguments"))
	case "local_shell", "shell":
		p.Args = orEmpty(jsonvalue.Get(item.Raw, "action"))
	default:
		return p, false
	}
	return p, ok
}

// ownCall is like Call, for an item in a response. If the provider itself runs the tool, ok is false.
func ownCall(item gjson.Result) (p chat.Part, ok bool) {
	if where := jsonvalue.String(item.Raw, "environment.type"); where != "" && where != "local" || jsonvalue.String(item.Raw, "execution") == "server" {
		return p, false
	}
	return Call(item)
}

func orEmpty(v gjson.Result) string {
	if !v.IsObject() {
		return "{}"
	}
	return v.Raw
}

// CallID returns the ID of a call. The result of a local shell call has this ID as its own.
func CallID(v gjson.Result) gjson.Result {
	if id := jsonvalue.Get(v.Raw, "call_id"); id.Type == gjson.String {
		return id
	}
	return jsonvalue.Get(v.Raw, "id")
}
