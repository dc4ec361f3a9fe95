package responses

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

// call writes the fields of a tool call that depend on its type. Their values come from the function's arguments. If
// the arguments have an unexpected shape, the field that fits best contains all of them. An item in progress has no
// arguments yet.
func call(b *jsontext.Builder, args string, alias *chat.Alias) {
	if alias.Kind != chat.Function {
		args = chat.Unwrapped(args) // not for functions: their complete arguments must equal the streamed pieces
	}
	root := gjson.Result{}
	if jsontext.Check([]byte(args)) == jsontext.OK && gjson.Parse(args).IsObject() {
		root = gjson.Parse(args)
	}
	switch alias.Kind {
	case chat.Custom:
		named(b, alias)
		b.Key("input")
		b.Text(chat.Input(args))
	case chat.LocalShell, chat.Shell:
		shell(b, alias.Kind, root, args)
	case chat.ApplyPatch:
		operation(b, root, args)
	case chat.ToolSearch:
		b.Member("execution", `"client"`)
		b.Key("arguments")
		if root.IsObject() {
			b.Raw(oneLine(root.Raw))
		} else {
			b.Open('{')
			b.StringMember("query", args)
			b.Close('}')
		}
	default:
		named(b, alias)
		b.Key("arguments")
		b.String(args)
	}
}

func shell(b *jsontext.Builder, kind chat.ToolKind, root gjson.Result, args string) {
	if kind == chat.Shell {
		b.Member("environment", `{"type":"local"}`)
	}
	b.Key("action")
	b.Open('{')
	if kind == chat.Shell {
		texts(b, "commands", root, args)
		optional(b, root, "max_output_length", "timeout_ms")
	} else {
		b.Member("type", `"exec"`)
		texts(b, "command", root, args)
		env := "{}"
		if v := jsonvalue.Get(root.Raw, "env"); v.IsObject() {
			env = oneLine(v.Raw)
		}
		b.Member("env", env)
		optional(b, root, "timeout_ms", "user", "working_directory")
	}
	b.Close('}')
}

func named(b *jsontext.Builder, alias *chat.Alias) {
	b.Key("name")
	b.Text(alias.Name)
	b.TextMember("namespace", alias.Space)
}

// texts writes a list of strings from the field name of the arguments. The field may also be a single string. If the
// field is missing, texts writes the complete arguments as one string.
func texts(b *jsontext.Builder, name string, root gjson.Result, args string) {
	v := jsonvalue.Get(root.Raw, name)
	b.Key(name)
	b.Open('[')
	switch {
	case v.IsArray():
		v.ForEach(func(_, element gjson.Result) bool {
			b.String(element.String())
			return true
		})
	case v.Type == gjson.String:
		b.Raw(v.Raw)
	case args != "":
		b.String(args)
	}
	b.Close(']')
}

// optional writes fields that may be null in the API.
func optional(b *jsontext.Builder, root gjson.Result, names ...string) {
	for _, name := range names {
		if v := jsonvalue.Get(root.Raw, name); v.Exists() {
			b.Member(name, oneLine(v.Raw))
		} else {
			b.Member(name, "null")
		}
	}
}

// operation writes the operation of an apply_patch_call. If the arguments have no operation, they are the diff of an
// update.
func operation(b *jsontext.Builder, root gjson.Result, args string) {
	b.Key("operation")
	for _, v := range [...]gjson.Result{jsonvalue.Get(root.Raw, "operation"), root} {
		if v.IsObject() && jsonvalue.Get(v.Raw, "type").Type == gjson.String && jsonvalue.Get(v.Raw, "path").Type == gjson.String {
			b.Raw(oneLine(v.Raw))
			return
		}
	}
	b.Open('{')
	b.Member("type", `"update_file"`)
	b.Member("path", `""`)
	b.Key("diff")
	b.String(args)
	b.Close('}')
}

// oneLine replaces line breaks in checked JSON with spaces. In JSON, they are only whitespace. In an event, they
// would end the data.
func oneLine(json string) string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\r' {
			return ' '
		}
		return c
	}, json)
}
