package anthropic

import (
	"strings"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/wire"
)

// thinking contains the request's reasoning parameters. kind is the type in the field thinking. If there is no such
// field, kind is empty. effort is output_config.effort.
type thinking struct {
	kind      string
	budget    uint64
	effort    string
	visible   bool
	maxTokens uint64 // the request's max_tokens, which includes the budget
}

func (t *thinking) on() bool { return t.kind == "enabled" || t.kind == "adaptive" }

func (t *thinking) write(b *jsontext.Builder) {
	if t.kind == "" {
		return
	}
	b.Key("thinking")
	b.Open('{')
	b.Key("type")
	b.String(t.kind)
	if t.kind == "enabled" {
		b.Key("budget_tokens")
		b.Uint(t.budget)
	}
	if t.on() && t.visible {
		b.Member("display", `"summarized"`)
	}
	b.Close('}')
}

// thinkingOf chooses the reasoning parameters. If the caller has this dialect, they are unchanged. Otherwise, they
// depend on the model: before 4.6, thinking takes a token budget. From 4.6 on, it takes an effort, and the model
// decides.
func thinkingOf(c *wire.Call) thinking {
	r := c.Request
	t := thinking{maxTokens: maxTokens(c), visible: r.Reasoning.Visible}
	if native(r) {
		t.copyFrom(&r.Reasoning)
	} else {
		t.translate(c)
	}
	if t.kind == "enabled" && t.budget >= t.maxTokens {
		t.fit(c)
	}
	return t
}

func (t *thinking) copyFrom(r *chat.Reasoning) {
	t.effort, t.budget = r.Effort, r.Budget
	switch {
	case r.Off:
		t.kind = "disabled"
	case r.Adaptive:
		t.kind = "adaptive"
	case r.Budget > 0:
		t.kind = "enabled"
	}
}

// translate omits thinking that the API would reject. The API rejects thinking with a forced tool call. It also
// rejects a budget after a tool call whose thinking is missing or from another provider.
func (t *thinking) translate(c *wire.Call) {
	r := &c.Request.Reasoning
	major, minor, versioned := modelVersion(c.Model.Upstream)
	takesBudget := versioned && (major < 4 || major == 4 && minor < 6)
	switch {
	case *r == chat.Reasoning{} || *r == chat.Reasoning{Visible: true}:
	case r.Off || r.Effort == "none":
		t.kind = "disabled"
	case takesBudget && !c.ForcesTool() && !c.Unsigned():
		t.kind, t.budget = "enabled", wire.Budget(r)
	case !takesBudget:
		if t.effort = wire.Level(r); t.effort == "xhigh" && versioned && major == 4 && minor < 7 {
			t.effort = "high" // xhigh exists from 4.7 on
		}
		c.Effort(t.effort)
		if !c.ForcesTool() {
			t.kind = "adaptive"
		}
	default:
		c.Unsent |= chat.ParamReasoning
	}
}

// fit adds the budget to max_tokens so that the text keeps its limit. It clamps the sum to the model's maximum. If
// less than the minimum budget remains, fit drops thinking.
func (t *thinking) fit(c *wire.Call) {
	room, maxOutput := t.maxTokens, c.Model.MaxOutput
	t.maxTokens += t.budget
	if maxOutput == 0 || t.maxTokens <= maxOutput {
		return
	}
	t.maxTokens = maxOutput
	t.budget = min(t.budget, maxOutput/2)
	if t.budget < wire.MinBudget {
		t.kind, t.budget, t.maxTokens = "", 0, room
		c.Unsent |= chat.ParamReasoning
	}
}

// modelVersion parses the version in a model's name. For example, claude-opus-4-6, claude-sonnet-5 and
// claude-3-7-sonnet-20250219 are 4.6, 5.0 and 3.7. Dates are not versions. If a name has no version, its model is
// newer than this naming scheme.
func modelVersion(name string) (major, minor int, ok bool) {
	if i := strings.Index(name, "claude"); i >= 0 {
		name = name[i:]
	}
	for i := 0; i < len(name); {
		n, end := smallNumber(name, i)
		if end == i {
			i++
			continue
		}
		if n >= 0 {
			if end < len(name) && (name[end] == '-' || name[end] == '.') {
				if m, _ := smallNumber(name, end+1); m > 0 {
					minor = m
				}
			}
			return n, minor, true
		}
		i = end
	}
	return 0, 0, false
}

// smallNumber parses the digits at i. end is the index after them. If there are none or more than two, n is -1.
func smallNumber(s string, i int) (n, end int) {
	end = i
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		if end-i < 2 {
			n = n*10 + int(s[end]-'0')
		}
		end++
	}
	if end == i || end-i > 2 {
		return -1, end
	}
	return n, end
}
