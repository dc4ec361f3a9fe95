package gemini

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/chat"
)

// Budgets of thinking in tokens, and what Google's OpenAI-compatible endpoint takes an effort for
// (ai.google.dev/gemini-api/docs/openai, "Thinking").
const (
	budgetLow    = 1024
	budgetMedium = 8192
	budgetHigh   = 24576
)

// budget is thinkingBudget for the 2.5 models: tokens, 0 for none, -1 for as many as the model sees fit;
// empty if nothing was said about the amount.
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
	return strconv.FormatUint(within(model, tokens), 10)
}

// within keeps a budget in the model's range, outside of which it is refused: Pro thinks with 128 to 32768
// tokens and cannot be kept from it, Flash with up to 24576, Flash-Lite with 512 to 24576; both can be kept
// from it with 0.
func within(model string, tokens uint64) uint64 {
	switch {
	case strings.HasPrefix(model, "gemini-2.5-pro"):
		return min(max(tokens, 128), 32768)
	case tokens > 0 && strings.HasPrefix(model, "gemini-2.5-flash-lite"):
		tokens = max(tokens, 512)
	}
	return min(tokens, budgetHigh)
}

// level is thinkingLevel for the models since 3; empty if the model is to decide. None of them can be kept
// from thinking altogether. Minimal is refused by Pro and by the later Flash models, so that only Flash-Lite
// is asked for it.
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
