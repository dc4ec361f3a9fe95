package bedrock

import (
	"strings"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/wire"
)

// minBudget is the smallest budget_tokens that Claude takes.
const minBudget = 1024

// thinking is what is asked of the model's reasoning.
type thinking struct {
	vendor    vendor
	kind      string // of Claude's thinking or Nova's reasoningConfig; empty: neither is written
	budget    uint64 // Claude's budget_tokens
	level     string // Nova's maxReasoningEffort
	effort    string // outputConfig.effort
	maxTokens uint64 // of the request: there has to be room for the budget; 0: not written
}

// alone says that parameters of sampling are refused beside it.
func (t *thinking) alone() bool {
	return t.vendor == anthropic && (t.kind == "enabled" || t.kind == "adaptive") || t.level == "high"
}

// thinkingOf decides. Claude before 4.6 takes a budget of tokens, since then an effort; Nova since 2 takes a
// level; what others take is not the same from model to model, and left out.
func thinkingOf(c *wire.Call, v vendor) thinking {
	r := c.Request
	t := thinking{vendor: v, maxTokens: r.MaxTokens}
	reasoning := r.Reasoning
	reasoning.Visible = false // it always is
	switch {
	case reasoning == chat.Reasoning{}:
	case v == nova:
		t.nova(&reasoning)
	case v == anthropic:
		t.claude(c, &reasoning)
	}
	return t
}

// nova's highest level is refused with a limit on tokens.
func (t *thinking) nova(r *chat.Reasoning) {
	if r.Off || r.Effort == "none" {
		t.kind = "disabled"
		return
	}
	t.kind, t.level = "enabled", levelOf(r)
	switch t.level {
	case "":
		t.level = "medium"
	case "xhigh", "max":
		t.level = "high"
	}
	if t.level == "high" {
		t.maxTokens = 0
	}
}

// claude leaves thinking out where it would be refused: with a tool that must be called, and, for a budget,
// after a tool call whose thinking another provider did, or kept to itself.
func (t *thinking) claude(c *wire.Call, r *chat.Reasoning) {
	major, minor, versioned := modelVersion(c.Model.Upstream)
	old := versioned && (major < 4 || major == 4 && minor < 6)
	switch {
	case r.Off || r.Effort == "none":
		if !onlyThinks(c.Model.Upstream) {
			t.kind = "disabled"
		}
	case !old:
		t.effort = levelOf(r)
		if t.effort == "xhigh" && versioned && major == 4 && minor < 7 {
			t.effort = "high"
		}
		if !forced(c.Request) {
			t.kind = "adaptive"
		} else if t.effort == "xhigh" || t.effort == "max" {
			t.effort = "high" // more is refused without thinking
		}
	case !forced(c.Request) && !unsignedCall(c.Request.Messages):
		t.kind, t.budget = "enabled", budgetOf(r)
		t.fit(c.Model.MaxOutput)
	}
}

// onlyThinks tells the models whose thinking cannot be switched off.
func onlyThinks(name string) bool {
	return strings.Contains(name, "claude-fable") || strings.Contains(name, "claude-mythos")
}

// fit makes room: the answer keeps what it was to have, if the model has that much. Without a limit in the
// request there is the model's, which Bedrock knows.
func (t *thinking) fit(maxOutput uint64) {
	if t.maxTokens == 0 || t.budget < t.maxTokens {
		return
	}
	t.maxTokens += t.budget
	if maxOutput == 0 || t.maxTokens <= maxOutput {
		return
	}
	t.maxTokens = maxOutput
	if t.budget >= maxOutput {
		t.budget = maxOutput / 2
	}
	if t.budget < minBudget {
		t.kind, t.budget = "", 0
	}
}

func (t *thinking) write(b *jsontext.Builder, v vendor) {
	if t.kind == "" {
		return
	}
	if v == nova {
		b.Key("reasoningConfig")
	} else {
		b.Key("thinking")
	}
	b.Open('{')
	b.Key("type")
	b.String(t.kind)
	if t.budget > 0 {
		b.Key("budget_tokens")
		b.Uint(t.budget)
	}
	if t.level != "" {
		b.Key("maxReasoningEffort")
		b.String(t.level)
	}
	b.Close('}')
}

// levelOf is an effort of those that there are: low, medium, high, xhigh, max; empty leaves it to the model. A
// budget of tokens becomes the level that Anthropic's and Google's own compatibility tables put it next to.
func levelOf(r *chat.Reasoning) string {
	switch r.Effort {
	case "minimal", "low":
		return "low"
	case "medium", "high", "xhigh", "max":
		return r.Effort
	}
	switch {
	case r.Budget > 16384:
		return "high"
	case r.Budget > 4096:
		return "medium"
	case r.Budget > 0:
		return "low"
	}
	return ""
}

// budgetOf is how many tokens an effort is worth, by the same tables.
func budgetOf(r *chat.Reasoning) uint64 {
	switch r.Effort {
	case "minimal", "low":
		return minBudget
	case "high":
		return 24576
	case "xhigh", "max":
		return 32768
	}
	if r.Effort == "" && r.Budget > 0 {
		return max(r.Budget, minBudget)
	}
	return 8192
}

func forced(r *chat.Request) bool {
	return len(r.Tools) > 0 && (r.ToolChoice.Choice == chat.ChoiceAny || r.ToolChoice.Choice == chat.ChoiceTool)
}

// unsignedCall says whether the last turn of the model calls tools without thinking that Claude accepts.
func unsignedCall(messages []chat.Message) bool {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != chat.Assistant {
			continue
		}
		called := false
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			if p.Kind == chat.Redacted || p.Kind == chat.Thinking && p.Signature != "" {
				return false
			}
			called = called || p.Kind == chat.ToolCall
		}
		return called
	}
	return false
}

// modelVersion reads Claude's version off a model's id: 4.5 off us.anthropic.claude-sonnet-4-5-20250929-v1:0,
// 3.7 off anthropic.claude-3-7-sonnet-20250219-v1:0. Dates are no versions; an id without one is of a model
// that is newer than the scheme.
func modelVersion(id string) (major, minor uint64, ok bool) {
	at := strings.Index(id, "claude")
	if at < 0 {
		return 0, 0, false
	}
	id = id[at:]
	if end := strings.Index(id, "-v"); end >= 0 {
		id = id[:end] // the revision's number is none either
	}
	for i := 0; i < len(id); i++ {
		n, digits := digitsAt(id, i)
		switch {
		case digits == 1 || digits == 2:
			if m, more := digitsAt(id, i+digits+1); more == 1 || more == 2 {
				minor = m
			}
			return n, minor, true
		case digits > 2:
			i += digits
		}
	}
	return 0, 0, false
}

// digitsAt reads a number of few digits, and how many there are.
func digitsAt(s string, at int) (n uint64, digits int) {
	for i := at; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		if digits < 3 {
			n = n*10 + uint64(s[i]-'0')
		}
		digits++
	}
	return n, digits
}
