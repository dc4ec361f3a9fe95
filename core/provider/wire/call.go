package wire

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/jsontext"
)

type Call struct {
	Model *config.Model
	// Request has only parameters that the target supports. The exchange has dropped the others.
	Request *chat.Request
	NowMs   uint64 // Unix time, for signatures
	// Unsent has the parameters that Family.Request has omitted or changed. The target does not accept their values,
	// or not in combination with others.
	Unsent chat.Params
}

// Leave removes parameters from the request. If the request had them, Leave adds them to Unsent.
func (c *Call) Leave(p chat.Params) {
	c.Unsent |= c.Request.Params() & p
	c.Request.Drop(^p)
}

// Effort returns level. If the request asks for another reasoning effort, Effort adds it to Unsent.
func (c *Call) Effort(level string) string {
	if asked := c.Request.Reasoning.Effort; asked != "" && asked != level {
		c.Unsent |= chat.ParamReasoning
	}
	return level
}

// Sampling is the set of parameters that Claude rejects with thinking.
const Sampling = chat.ParamTemperature | chat.ParamTopP | chat.ParamTopK

// Clamp limits the temperature to 1, which is Claude's maximum. Other models accept up to 2.
func (c *Call) Clamp() {
	if t := &c.Request.Temperature; *t != "" && gjson.Parse(*t).Num > 1 {
		c.Unsent |= chat.ParamTemperature
		*t = "1"
	}
}

// ForcesTool reports whether the model must call a tool.
func (c *Call) ForcesTool() bool {
	choice := c.Request.ToolChoice.Choice
	return len(c.Request.Tools) > 0 && (choice == chat.ChoiceAny || choice == chat.ChoiceTool)
}

// Unsigned reports whether the model's last turn calls tools and has no thinking that Claude accepts. Signatures of
// Claude's thinking have no mark.
func (c *Call) Unsigned() bool {
	messages := c.Request.Messages
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != chat.Assistant {
			continue
		}
		called := false
		for j := range messages[i].Parts {
			p := &messages[i].Parts[j]
			if p.Kind == chat.Redacted && p.Data != "" || p.Kind == chat.Thinking && p.Signature != "" && !strings.Contains(string(p.Signature), ":") {
				return false
			}
			called = called || p.Kind == chat.ToolCall
		}
		return called
	}
	return false
}

// MinBudget is Claude's minimum token budget for thinking.
const MinBudget = 1024

// Budget returns the token budget for an effort. Its numbers are those of Anthropic and Google for OpenAI's levels.
func Budget(r *chat.Reasoning) uint64 {
	switch r.Effort {
	case "minimal", "low":
		return MinBudget
	case "high":
		return 24576
	case "xhigh", "max":
		return 32768
	}
	if r.Effort == "" && r.Budget > 0 {
		return max(r.Budget, MinBudget)
	}
	return 8192
}

// Level returns the effort level: low, medium, high, xhigh or max. If the model decides, it returns "". A token
// budget becomes the nearest level of the same tables.
func Level(r *chat.Reasoning) string {
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

// Stop writes a field with the stop sequences, if there are any.
func (c *Call) Stop(b *jsontext.Builder, name string) {
	if len(c.Request.Stop) == 0 {
		return
	}
	b.Key(name)
	b.Open('[')
	for _, s := range c.Request.Stop {
		b.Text(s)
	}
	b.Close(']')
}
