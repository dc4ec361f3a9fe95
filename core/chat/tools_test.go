package chat_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

func checkNames(t *testing.T, r *chat.Request) {
	t.Helper()
	seen := map[jsontext.Escaped]bool{}
	for i := range r.Tools {
		name := r.Tools[i].Name
		if name == "" || len(name) > chat.MaxName || strings.Trim(string(name), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("%q is not the name of a function", name)
		}
		if seen[name] {
			t.Errorf("%s stands for two tools", name)
		}
		seen[name] = true
	}
}

func TestFlatten(t *testing.T) {
	long := jsontext.Escaped(strings.Repeat("l", 80))
	r := chat.Request{
		Tools: []chat.Tool{
			{Name: "plain"}, {Space: "a", Name: "b"}, {Name: "a__b"}, {Space: "a_", Name: "_b"}, {Space: "a__b", Name: "x"}, {Space: "a", Name: "b__x"},
			{Name: long}, {Name: long + "2"}, {Name: "dotted.name"}, {Name: "patch", Kind: chat.Custom}, {Space: "a", Name: "b"}, {Name: "é"},
		},
		ToolChoice: chat.ToolChoice{Choice: chat.ChoiceTool, Space: "a", Name: "b"},
		Messages: []chat.Message{{Role: chat.Assistant, Parts: []chat.Part{
			{Kind: chat.ToolCall, Space: "a", Name: "b"}, {Kind: chat.ToolCall, Name: "plain"}, {Kind: chat.ToolCall, Space: "gone", Name: "x"}, {Kind: chat.ToolCall, Name: long},
		}}},
	}
	given := append([]chat.Tool(nil), r.Tools...)
	aliases := r.Flatten()
	checkNames(t, &r)
	if len(r.Tools) != len(given)-1 { // one is declared twice
		t.Fatalf("%d tools are left", len(r.Tools))
	}
	for i := range r.Tools {
		if got := aliases.Find(r.Tools[i].Name); i < 10 && (got.Name != given[i].Name || got.Space != given[i].Space || got.Kind != given[i].Kind) {
			t.Errorf("%s stands for %+v, want %+v", r.Tools[i].Name, got, given[i])
		}
	}
	if r.Tools[0].Name != "plain" || r.Tools[2].Name != "a__b" || r.Tools[9].Name != "patch" {
		t.Errorf("names that all targets accept have changed: %+v", r.Tools)
	}
	calls := r.Messages[0].Parts
	if calls[0].Name != r.Tools[1].Name || calls[1].Name != "plain" || calls[2].Name != "gone__x" || calls[3].Name != r.Tools[6].Name || r.ToolChoice.Name != r.Tools[1].Name {
		t.Errorf("calls %+v, choice %+v", calls, r.ToolChoice)
	}
	if got := aliases.Find("invented"); got != (chat.Alias{Name: "invented"}) {
		t.Errorf("an unknown function is %+v", got)
	}
}

// TestFlattenManyTools: Aliases is part of a request's state, so its size is limited. Tools that do not fit are left
// out and named.
func TestFlattenManyTools(t *testing.T) {
	var r chat.Request
	for i := range 10_000 {
		r.Tools = append(r.Tools, chat.Tool{Space: "mcp__server", Name: jsontext.Escaped("tool_" + strconv.Itoa(i))}, chat.Tool{Name: jsontext.Escaped("plain" + strconv.Itoa(i))})
	}
	aliases := r.Flatten()
	checkNames(t, &r)
	if len(aliases) > 32<<10 || len(aliases) < 30<<10 {
		t.Errorf("%d bytes", len(aliases))
	}
	if len(r.Tools) < 10_500 || len(r.Omitted) == 0 || !strings.HasPrefix(r.Omitted[0].Name, "tools.tool_") || r.Params()&chat.ParamOwnTools == 0 {
		t.Errorf("%d tools are left, %v are named", len(r.Tools), r.Omitted)
	}
}

// TestFlattenIsStable: a tool keeps its function name when other tools come and go. The provider's prompt cache and
// earlier calls thus stay valid.
func TestFlattenIsStable(t *testing.T) {
	name := func(others ...chat.Tool) jsontext.Escaped {
		r := chat.Request{Tools: append(others, chat.Tool{Space: "a", Name: jsontext.Escaped(strings.Repeat("x", 70))})}
		r.Flatten()
		return r.Tools[len(r.Tools)-1].Name
	}
	if a, b := name(), name(chat.Tool{Name: "f"}, chat.Tool{Space: "a", Name: "g"}); a != b {
		t.Errorf("%s and %s", a, b)
	}
}
