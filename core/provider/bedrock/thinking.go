package bedrock

import (
	"strings"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/provider/wire"
)

type thinking struct {
	vendor    vendor
	kind      string // type of Claude's thinking or Nova's reasoningConfig; empty: neither is written
	budget    uint64 // Claude's budget_tokens
	level     string // Nova's maxReasoningEffort
	effort    string // outputConfig.effort
	maxTokens uint64 // the request's maxTokens, which includes the budget; 0: not written
}

// excludesSampling reports whether the model rejects sampling parameters with this thinking.
func (t *thinking) excludesSampling() bool {
	return t.vendor == anthropic && (t.kind == "enabled" || t.kind == "adaptive") || t.level == "high"
}

// thinkingOf chooses the reasoning parameters. Claude takes a token budget before version 4.6 and an effort since
// then. Nova 2 and later take a level. Other vendors' models have no common parameter, so they get none.
func thinkingOf(c *wire.Call, v vendor) thinking {
	r := c.Request
	t := thinking{vendor: v, maxTokens: r.MaxTokens}
	reasoning := r.Reasoning
	reasoning.Visible = false // Bedrock always returns thinking
	switch {
	case reasoning == chat.Reasoning{}:
	case v == nova:
		if t.nova(&reasoning); t.kind == "enabled" {
			c.Effort(t.level)
		}
	case v == anthropic:
		t.claude(c, &reasoning)
	default:
		c.Unsent |= chat.ParamReasoning
	}
	return t
}

// For the highest level, nova omits maxTokens, which that level rejects.
func (t *thinking) nova(r *chat.Reasoning) {
	if r.Off || r.Effort == "none" {
		t.kind = "disabled"
		return
	}
	t.kind, t.level = "enabled", wire.Level(r)
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

// claude omits thinking that Claude would reject. Claude rejects thinking with a forced tool call. It also rejects a
// budget after a tool call whose thinking is missing or from another provider.
func (t *thinking) claude(c *wire.Call, r *chat.Reasoning) {
	major, minor, versioned := modelVersion(c.Model.Upstream)
	takesBudget := versioned && (major < 4 || major == 4 && minor < 6)
	switch {
	case r.Off || r.Effort == "none":
		if !alwaysThinks(c.Model.Upstream) {
			t.kind = "disabled"
		}
	case !takesBudget:
		t.effort = wire.Level(r)
		if t.effort == "xhigh" && versioned && major == 4 && minor < 7 {
			t.effort = "high"
		}
		if !c.ForcesTool() {
			t.kind = "adaptive"
		} else if t.effort == "xhigh" || t.effort == "max" {
			t.effort = "high" // Claude rejects a higher effort without thinking
		}
		c.Effort(t.effort)
	case !c.ForcesTool() && !c.Unsigned():
		t.kind, t.budget = "enabled", wire.Budget(r)
		t.fit(c.Model.MaxOutput)
	}
	if t.kind == "" && t.effort == "" {
		c.Unsent |= chat.ParamReasoning
	}
}

// alwaysThinks reports whether the model's thinking cannot be disabled.
func alwaysThinks(name string) bool {
	return strings.Contains(name, "claude-fable") || strings.Contains(name, "claude-mythos")
}

// fit makes room for a budget that is not below maxTokens. It adds the budget to maxTokens so that the text keeps its
// limit. It clamps the sum to the model's maximum. If less than the minimum budget remains, fit drops thinking. If
// the request has no maxTokens, fit changes nothing: Bedrock applies the model's maximum.
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
	if t.budget < wire.MinBudget {
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

// modelVersion parses Claude's version in a model ID: 4.5 from us.anthropic.claude-sonnet-4-5-20250929-v1:0, 3.7 from
// anthropic.claude-3-7-sonnet-20250219-v1:0. Dates are not versions. If an ID has no version, its model is newer than
// this naming scheme.
func modelVersion(id string) (major, minor uint64, ok bool) {
	at := strings.Index(id, "claude")
	if at < 0 {
		return 0, 0, false
	}
	id = id[at:]
	if end := strings.Index(id, "-v"); end >= 0 {
		id = id[:end] // the revision is not a version either
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

// digitsAt parses the digits at an index and counts them. n is valid for up to three digits.
func digitsAt(s string, at int) (n uint64, digits int) {
	for i := at; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		if digits < 3 {
			n = n*10 + uint64(s[i]-'0')
		}
		digits++
	}
	return n, digits
}
