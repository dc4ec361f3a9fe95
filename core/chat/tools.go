package chat

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsontext"
)

// ToolKind is the type of a client tool: a tool whose calls the caller runs. Targets with other dialects get a
// function instead. The caller gets the function's calls as calls of the tool.
type ToolKind uint8

const (
	Function   ToolKind = iota
	Custom              // OpenAI's custom tool, whose input is text. The function has one string, "input"
	LocalShell          // OpenAI's local_shell. The function has the fields of a local_shell_call's action
	Shell               // OpenAI's shell in the caller's environment. The function has the fields of a shell_call's action
	ApplyPatch          // OpenAI's apply_patch. The function has the field "operation" of an apply_patch_call
	ToolSearch          // OpenAI's tool_search, run by the client. The function has the tool's parameters
	toolKinds
)

// Object returns a call's arguments as a JSON object, which some APIs need. If the model wrote something else, it
// returns {"_invalid":"…"}.
func Object(args string) string {
	switch {
	case args == "":
		return "{}"
	case strings.HasPrefix(strings.TrimLeft(args, " \t\r\n"), "{") && jsontext.Check([]byte(args)) == jsontext.OK:
		return args
	}
	return `{"_invalid":` + string(jsontext.AppendString(nil, args)) + "}"
}

// IsPlain reports whether a tool reaches every target under its own name and type.
func (t *Tool) IsPlain() bool { return t.Kind == Function && t.Space == "" && isName(t.Name) }

// MaxName is the maximum length of a function's name that all targets accept. Sources: OpenAI's "Function calling"
// (platform.openai.com/docs/guides/function-calling), Anthropic's "Tool use" and Amazon Bedrock's ToolSpecification,
// all ^[a-zA-Z0-9_-]{1,64}$ as of 2026-11.
const MaxName = 64

// isName reports whether every target accepts a function's name.
func isName(name jsontext.Escaped) bool {
	for i := 0; i < len(name); i++ {
		if !isNameByte(name[i]) {
			return false
		}
	}
	return name != "" && len(name) <= MaxName
}

func isNameByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// hashDigits is the number of hexadecimal digits in a function name with a hash.
const hashDigits = 8

// flat returns the name of the function that replaces a tool. The name depends only on the tool, so it is the same in
// each turn. If NAMESPACE__NAME is valid, it is the name. Otherwise, it is shortened and ends with a hash. If again
// is set, it always ends with a hash.
func flat(space, name jsontext.Escaped, again bool) jsontext.Escaped {
	full := space + name
	if space != "" && !strings.HasSuffix(string(space), "_") {
		full = space + "__" + name
	}
	if !again && isName(full) {
		return full
	}
	const digits = "0123456789abcdef"
	sum := sha256.Sum256([]byte(string(space) + "\x00" + string(name)))
	kept := []byte(full.Plain())
	kept = kept[:min(len(kept), MaxName-hashDigits-1)]
	for i, c := range kept {
		if !isNameByte(c) {
			kept[i] = '_'
		}
	}
	kept = append(kept, '_')
	for _, c := range sum[:hashDigits/2] {
		kept = append(kept, digits[c>>4], digits[c&15])
	}
	return jsontext.Escaped(kept)
}

// Aliases lists the functions that replace tools of a request, unless the tool is a function with the same name. Each
// entry consists of a one-digit kind, the function's name, the tool's name and its namespace. A NUL separates the
// names, and a line break ends the entry. Neither character occurs in escaped text. A request's state contains
// Aliases, so its size is limited.
type Aliases string

// maxAliases is the maximum size of Aliases in bytes, enough for about 500 tools.
const maxAliases = 32 << 10

// Alias is the tool that a function replaces.
type Alias struct {
	Kind        ToolKind
	Name, Space jsontext.Escaped
}

// next returns the first alias, its function's name, and the remaining aliases.
func (a Aliases) next() (sent jsontext.Escaped, own Alias, rest Aliases) {
	line, others, _ := strings.Cut(string(a), "\n")
	function, named, _ := strings.Cut(line[1:], "\x00")
	name, space, _ := strings.Cut(named, "\x00")
	return jsontext.Escaped(function), Alias{ToolKind(line[0]-'0') % toolKinds, jsontext.Escaped(name), jsontext.Escaped(space)}, Aliases(others)
}

// Find returns the tool that a function replaces. If the function is not listed, Find returns the function itself.
//
//go:noinline
func (a Aliases) Find(function jsontext.Escaped) Alias {
	for a != "" {
		sent, own, rest := a.next()
		if sent == function {
			return own
		}
		a = rest
	}
	return Alias{Name: function}
}

// Function returns the function that replaces a tool. A tool that is not listed keeps its name.
func (a Aliases) Function(space, name jsontext.Escaped) jsontext.Escaped {
	for a != "" {
		sent, own, rest := a.next()
		if own.Name == name && own.Space == space {
			return sent
		}
		a = rest
	}
	return name
}

// Rename gives the calls in a response the functions' names. In responses in the caller's own dialect, calls have the
// tools' names.
func (a Aliases) Rename(r *Response) {
	for i := range r.Choices {
		for j := range r.Choices[i].Parts {
			if p := &r.Choices[i].Parts[j]; p.Kind == ToolCall {
				p.Name, p.Space = a.Function(p.Space, p.Name), ""
			}
		}
	}
}

type named struct {
	space, name, sent jsontext.Escaped
	kind              ToolKind
}

func compareNamed(a, b named) int {
	if c := strings.Compare(string(a.space), string(b.space)); c != 0 {
		return c
	}
	return strings.Compare(string(a.name), string(b.name))
}

// Flatten gives each client tool in the request a unique function name that all targets accept. It writes the names
// into the tools, the tool choice and the calls in earlier turns. If there is no room for a tool, it is left out. A
// tool that is declared twice counts once.
func (r *Request) Flatten() (a Aliases) {
	plain := true
	for i := range r.Tools {
		plain = plain && (r.Tools[i].Name == "" || r.Tools[i].IsPlain())
	}
	if plain {
		r.rename(nil)
		return ""
	}
	taken := make([]string, 0, len(r.Tools))
	for i := range r.Tools {
		if t := &r.Tools[i]; t.IsPlain() {
			taken = append(taken, string(t.Name))
		}
	}
	slices.Sort(taken)
	list := r.aliasable(taken)
	a = r.alias(list)
	r.rename(list)
	return a
}

func (r *Request) alias(list []named) Aliases {
	var written []byte
	kept := r.Tools[:0]
	for _, t := range r.Tools {
		if t.Name == "" || t.IsPlain() {
			kept = append(kept, t)
			continue
		}
		at, _ := slices.BinarySearchFunc(list, named{space: t.Space, name: t.Name}, compareNamed)
		n := &list[at]
		if n.sent != "" && n.kind != t.Kind {
			continue // declared before
		}
		line := string(rune('0'+n.kind)) + string(n.sent) + "\x00" + string(n.name) + "\x00" + string(n.space) + "\n"
		if n.sent == "" || len(written)+len(line) > maxAliases {
			n.sent = ""
			r.Omit("tools." + n.name.Plain())
			continue
		}
		written = append(written, line...)
		t.Name, n.kind = n.sent, toolKinds // a second declaration is ignored
		kept = append(kept, t)
	}
	r.Tools = kept
	return Aliases(written)
}

// aliasable returns the tools that need an alias, and the names of their functions. The tools are sorted and
// distinct. taken contains the sorted names of all other tools. If all possible names of a tool are taken, it gets no
// name.
func (r *Request) aliasable(taken []string) []named {
	list := make([]named, 0, len(r.Tools))
	for i := range r.Tools {
		if t := &r.Tools[i]; t.Name != "" && !t.IsPlain() {
			list = append(list, named{space: t.Space, name: t.Name, kind: t.Kind})
		}
	}
	slices.SortStableFunc(list, compareNamed)
	list = slices.CompactFunc(list, func(a, b named) bool { return compareNamed(a, b) == 0 })
	// Two tools may want the same name. The names without a hash are therefore counted first.
	wanted := make([]string, 0, len(list))
	for i := range list {
		list[i].sent = flat(list[i].space, list[i].name, false)
		wanted = append(wanted, string(list[i].sent))
	}
	slices.Sort(wanted)
	for i := range list {
		n := &list[i]
		if has(taken, string(n.sent)) || isTwice(wanted, string(n.sent)) {
			if n.sent = flat(n.space, n.name, true); has(taken, string(n.sent)) || has(wanted, string(n.sent)) {
				n.sent = ""
			}
		}
	}
	return list
}

func has(sorted []string, name string) bool {
	_, found := slices.BinarySearch(sorted, name)
	return found
}

func isTwice(sorted []string, name string) bool {
	at, found := slices.BinarySearch(sorted, name)
	return found && at+1 < len(sorted) && sorted[at+1] == name
}

// rename writes the function names into the tool choice and the calls in earlier turns. If a tool is not listed, its
// calls get the name that the tool would have.
func (r *Request) rename(list []named) {
	name := func(space, name jsontext.Escaped) jsontext.Escaped {
		if at, found := slices.BinarySearchFunc(list, named{space: space, name: name}, compareNamed); found {
			return list[at].sent
		}
		if space == "" && isName(name) {
			return name
		}
		return flat(space, name, false)
	}
	if c := &r.ToolChoice; c.Choice == ChoiceTool && c.Name != "" {
		c.Name, c.Space = name(c.Space, c.Name), ""
	}
	for i := range r.Messages {
		for j := range r.Messages[i].Parts {
			if p := &r.Messages[i].Parts[j]; p.Kind == ToolCall && p.Name != "" {
				p.Name, p.Space = name(p.Space, p.Name), ""
			}
		}
	}
}

// keepChosen removes a tool choice whose tools the target does not get.
func (r *Request) keepChosen() {
	c := &r.ToolChoice
	if c.Choice == ChoiceUnset || c.Choice == ChoiceAuto {
		return
	}
	offered := 0
	for i := range r.Tools {
		if t := &r.Tools[i]; t.Name != "" && (c.Choice != ChoiceTool || t.Name == c.Name) {
			offered++
		}
	}
	if offered == 0 {
		if c.Choice != ChoiceNone {
			r.Omit("tool_choice")
		}
		*c = ToolChoice{}
	}
}

// Translate leaves out tools and items that only the caller's dialect has, and tools that the tool choice does not
// allow.
func (r *Request) Translate() {
	kept := r.Tools[:0]
	for _, t := range r.Tools {
		switch {
		case t.Name == "" && t.Raw != "":
			r.Omit("tools." + gjson.Get(t.Raw, "type").String())
		case !t.Barred:
			t.Raw = ""
			kept = append(kept, t)
		}
	}
	r.Tools = kept
	messages := r.Messages[:0]
	for _, m := range r.Messages {
		before := len(m.Parts)
		if m.Parts = r.withoutOwn(m.Parts); len(m.Parts) > 0 || before == 0 {
			messages = append(messages, m)
		}
	}
	r.Messages = messages
	r.keepChosen()
}

func (r *Request) withoutOwn(parts []Part) []Part {
	kept := parts[:0]
	for _, p := range parts {
		if p.Kind == Own {
			r.Omit(p.Name.Plain())
			continue
		}
		p.Parts = r.withoutOwn(p.Parts)
		kept = append(kept, p)
	}
	return kept
}

const maxOmitted = 16

// Omit notes a tool, item or part that targets with other dialects do not get.
func (r *Request) Omit(name string) {
	for i := range r.Omitted {
		if r.Omitted[i].Name == name {
			return
		}
	}
	if len(r.Omitted) < maxOmitted {
		r.Omitted = append(r.Omitted, Member{Name: name})
	}
}
