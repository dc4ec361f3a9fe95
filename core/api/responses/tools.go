package responses

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/openai"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

const (
	wireName = "responses"
	// maxToolCalls is the largest limit on calls of provider tools that a request may set.
	maxToolCalls = 1000
	// container is the catalog's name for a container that runs code. The memory follows after a dot if it is not 1
	// GB.
	container = "code_interpreter"
)

// client is a tool with its own type that the client runs.
type client struct {
	kind chat.ToolKind
	// name is the tool's type and its function's name. call is the type of its calls. result is the type of their
	// results.
	name, call, result string
	prefix             string // the prefix of an item's ID
	description        string
	schema             string
}

// clients lists the client tools. Their inputs are fixed, except that of tool_search, which the request defines.
// Sources: OpenAI's guides "Local shell", "Shell", "Apply patch" and "Tool search"
// (developers.openai.com/api/docs/guides), and the types LocalShellCall, ShellCall, ApplyPatchCall and ToolSearchCall
// of its SDK, openai 7.55; the items that Codex sends, codex-rs/protocol/src/models.rs and
// codex-rs/tools/src/tool_spec.rs in github.com/openai/codex; all as of 2026-11.
var clients = [...]client{
	{
		chat.LocalShell, "local_shell", "local_shell_call", "local_shell_call_output", "lsh_", "Runs a command on the user's machine.",
		`{"type":"object","properties":{"command":{"type":"array","items":{"type":"string"},"description":"The program and its arguments."},` +
			`"env":{"type":"object","additionalProperties":{"type":"string"},"description":"Environment variables."},` +
			`"timeout_ms":{"type":"integer"},"user":{"type":"string"},"working_directory":{"type":"string"}},"required":["command"]}`,
	},
	{
		chat.Shell, "shell", "shell_call", "shell_call_output", "sh_", "Runs shell commands on the user's machine.",
		`{"type":"object","properties":{"commands":{"type":"array","items":{"type":"string"},"description":"Shell commands, each run by itself."},` +
			`"max_output_length":{"type":"integer"},"timeout_ms":{"type":"integer"}},"required":["commands"]}`,
	},
	{
		chat.ApplyPatch, "apply_patch", "apply_patch_call", "apply_patch_call_output", "apc_", "Creates, updates or deletes a file.",
		`{"type":"object","properties":{"operation":{"type":"object","properties":{"type":{"type":"string","enum":["create_file","update_file","delete_file"]},` +
			`"path":{"type":"string"},"diff":{"type":"string","description":"A unified diff of the file in the V4A format, with + before added and - before removed lines. Not for delete_file."}},` +
			`"required":["type","path"]}},"required":["operation"]}`,
	},
	{chat.ToolSearch, "tool_search", "tool_search_call", "tool_search_output", "tsc_", "Finds more tools.", `{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`},
	{kind: chat.Custom, call: "custom_tool_call", result: "custom_tool_call_output", prefix: "ctc_"},
	{kind: chat.Function, call: "function_call", result: "function_call_output", prefix: "fc_"},
}

func clientOf(kind chat.ToolKind) *client {
	for i := range clients {
		if clients[i].kind == kind {
			return &clients[i]
		}
	}
	return &clients[len(clients)-1]
}

// clientTool reads a tool of the type name. If the provider runs the tool, ok is false.
func clientTool(v gjson.Result, name string) (t chat.Tool, ok bool) {
	for i := range clients {
		c := &clients[i]
		if c.name != name || name == "" {
			continue
		}
		t = chat.Tool{Kind: c.kind, Name: jsontext.Escaped(c.name), Description: jsontext.Escaped(c.description), Schema: c.schema}
		switch environment := jsonvalue.Get(v.Raw, "environment.type"); c.kind {
		case chat.Shell:
			return t, !environment.Exists() || environment.Str == "local"
		case chat.ToolSearch:
			if d := jsonvalue.Text(v.Raw, "description"); d != "" {
				t.Description = d
			}
			if schema := jsonvalue.Get(v.Raw, "parameters"); schema.IsObject() {
				t.Schema = schema.Raw
			}
			return t, jsonvalue.String(v.Raw, "execution") == "client"
		}
		return t, true
	}
	return t, false
}

type toolReader struct {
	*api.Parser
	all []chat.Tool
}

func (r *toolReader) list(field string, v gjson.Result, space jsontext.Escaped) {
	if !v.IsArray() {
		return
	}
	i := 0
	v.ForEach(func(_, t gjson.Result) bool {
		if !r.CountElement("tools") {
			return false
		}
		r.tool(api.At(field, i, ""), t, space)
		i++
		return !r.Full()
	})
}

func (r *toolReader) tool(field string, v gjson.Result, space jsontext.Escaped) {
	kind := jsonvalue.Get(v.Raw, "type")
	switch {
	case kind.Str == "function":
		tool := chat.Tool{Space: space, Name: jsonvalue.Text(v.Raw, "name"), Description: jsonvalue.Text(v.Raw, "description")}
		tool.Schema = r.Object(field+".parameters", jsonvalue.Get(v.Raw, "parameters"))
		tool.Strict = r.Bool(field+".strict", jsonvalue.Get(v.Raw, "strict"))
		r.named(field, tool)
		return
	case kind.Str == "namespace" && space == "":
		r.namespace(field, v)
		return
	}
	r.use(field, v)
	if kind.Str == "custom" {
		tool := openai.Freeform(v)
		tool.Space = space
		r.named(field, tool)
		return
	}
	if tool, ok := clientTool(v, kind.Str); ok {
		r.all = append(r.all, tool)
		return
	}
	r.NoteOwn(field+".type", kind)
	r.all = append(r.all, chat.Tool{Raw: v.Raw})
}

func (r *toolReader) named(field string, t chat.Tool) {
	if t.Name == "" {
		r.Wrong(field+".name", "is required")
		return
	}
	r.all = append(r.all, t)
}

// namespace reads a namespace's tools. Its description is added to the first of them.
func (r *toolReader) namespace(field string, v gjson.Result) {
	r.Use(wireName, field+".type", "namespace", gjson.Result{})
	space, first := jsonvalue.Text(v.Raw, "name"), len(r.all)
	if space == "" {
		r.Wrong(field+".name", "is required")
		return
	}
	r.list(field+".tools", jsonvalue.Get(v.Raw, "tools"), space)
	if about := jsonvalue.Text(v.Raw, "description"); about != "" && len(r.all) > first {
		r.all[first].Description = space + ": " + about + `\n\n` + r.all[first].Description
	}
}

// use records a tool that is not a function, because the tool may affect the price.
func (r *toolReader) use(field string, v gjson.Result) {
	kind := jsonvalue.Get(v.Raw, "type")
	if kind.Type != gjson.String || kind.Str == "" {
		r.WrongType(field+".type", "a non-empty string", kind)
		return
	}
	name := chat.ToolName(kind.Str)
	switch environment := jsonvalue.Get(v.Raw, "environment"); {
	case name == container:
		name = containerName(jsonvalue.Get(v.Raw, "container"))
	case name == "shell" && jsonvalue.Get(environment.Raw, "type").Exists() && jsonvalue.String(environment.Raw, "type") != "local":
		name = containerName(environment)
	}
	r.Use(wireName, field+".type", name, gjson.Result{})
}

// containerName returns the catalog's name for a container. The size of an existing container, which has an ID, is
// unknown, so such a container has no price.
func containerName(v gjson.Result) string {
	if !v.IsObject() || jsonvalue.Get(v.Raw, "container_id").Exists() {
		return container + ".id"
	}
	switch memory := jsonvalue.Get(v.Raw, "memory_limit"); {
	case memory.Type == gjson.Null, memory.Str == "1g":
		return container
	default:
		return container + "." + memory.String()
	}
}

// toolChoice reads a word or a tool. If the provider runs the tool, the name is empty.
func toolChoice(p *api.Parser, v gjson.Result) chat.ToolChoice {
	if v.IsObject() {
		return chosen(v)
	}
	switch {
	case v.Type == gjson.Null:
	case v.Str == "auto":
		return chat.ToolChoice{Choice: chat.ChoiceAuto}
	case v.Str == "none":
		return chat.ToolChoice{Choice: chat.ChoiceNone}
	case v.Str == "required":
		return chat.ToolChoice{Choice: chat.ChoiceAny}
	default:
		p.WrongValue("tool_choice", "auto, none, required or a tool", v)
	}
	return chat.ToolChoice{}
}

func chosen(v gjson.Result) chat.ToolChoice {
	c := chat.ToolChoice{Choice: chat.ChoiceTool, Space: jsonvalue.Text(v.Raw, "namespace")}
	switch kind := jsonvalue.String(v.Raw, "type"); kind {
	case "function", "custom":
		c.Name = jsonvalue.Text(v.Raw, "name")
	case "allowed_tools":
		return openai.AllowedMode(v)
	default:
		for i := range clients {
			if kind != "" && clients[i].name == kind {
				c.Name = jsontext.Escaped(kind)
			}
		}
	}
	return c
}
