package gemini

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/chat"
)

// The token budgets that Google's OpenAI-compatible endpoint uses for effort levels
// (ai.google.dev/gemini-api/docs/openai, "Thinking").
const (
	budgetLow    = 1024
	budgetMedium = 8192
	budgetHigh   = 24576
)

// budget returns thinkingBudget for the 2.5 models: a number of tokens, 0 for no thinking, or -1 to let the model
// decide. If the request does not set an amount, it returns "".
func budget(model string, r *chat.Reasoning) string {
	tokens := uint64(0)
	switch {
	case r.Off || r.Effort == "none":
	case r.Budget > 0:
		tokens = r.Budget
	case r.Adaptive:
		return "-1"
	case r.Effort == "":
		return ""
	case r.Effort == "minimal" || r.Effort == "low":
		tokens = budgetLow
	case r.Effort == "medium":
		tokens = budgetMedium
	default:
		tokens = budgetHigh
	}
	return strconv.FormatUint(clampBudget(model, tokens), 10)
}

// clampBudget clamps a budget to the model's range, in tokens. The API rejects other budgets. Pro takes 128 to 32768
// tokens and cannot disable thinking. Flash takes up to 24576. Flash-Lite takes 512 to 24576. A budget of 0 disables
// the thinking of Flash and Flash-Lite.
func clampBudget(model string, tokens uint64) uint64 {
	switch {
	case strings.HasPrefix(model, "gemini-2.5-pro"):
		return min(max(tokens, 128), 32768)
	case tokens > 0 && strings.HasPrefix(model, "gemini-2.5-flash-lite"):
		tokens = max(tokens, 512)
	}
	return min(tokens, budgetHigh)
}

// level returns thinkingLevel for models from version 3 on. None of them can disable thinking. Pro and later Flash
// models reject minimal, so only Flash-Lite gets it. If the model decides, level returns "".
func level(model string, r *chat.Reasoning) string {
	switch {
	case r.Off || r.Effort == "none" || r.Effort == "minimal":
		if strings.Contains(model, "flash-lite") {
			return "minimal"
		}
		return "low"
	case r.Effort == "low" || r.Effort == "medium":
		return r.Effort
	case r.Effort != "" || r.Budget > 2*budgetMedium:
		return "high"
	case r.Budget > 4*budgetLow:
		return "medium"
	case r.Budget > 0:
		return "low"
	}
	return ""
}
