package responses

import (
	"strconv"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/openai"
)

// Error is openai.Error. A limit or budget that is spent has the type usage_limit_reached and the member resets_at, in Unix seconds:
// on these, with status 429, Codex stops and shows when the limit resets. Source: github.com/openai/codex,
// codex-rs/codex-api/src/api_bridge.rs, read in November 2026.
func Error(dst []byte, e *api.Error) []byte {
	if !e.Spent() {
		return openai.Error(dst, e)
	}
	open := len(dst) + len(`{"error":{`)
	body := openai.AppendError(dst, e, "usage_limit_reached")
	member := `"resets_at":` + strconv.FormatUint(e.Limit.ResetMs/1000, 10) + ","
	return append(append(body[:open:open], member...), body[open:]...)
}
