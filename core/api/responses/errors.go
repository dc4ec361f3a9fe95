package responses

import (
	"strconv"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/openai"
)

// Error is like openai.Error. An error about a spent limit or budget has the type usage_limit_reached and the field
// resets_at, in Unix seconds. With status 429, this type and field make Codex stop and show when the limit resets.
// Source: github.com/openai/codex, codex-rs/codex-api/src/api_bridge.rs, read in November 2026.
func Error(dst []byte, e *api.Error) []byte {
	if !e.Spent() {
		return openai.Error(dst, e)
	}
	open := len(dst) + len(`{"error":{`)
	body := openai.AppendError(dst, e, "usage_limit_reached")
	if e.Limit.ResetMs == 0 { // a prepaid budget
		return body
	}
	member := `"resets_at":` + strconv.FormatUint(e.Limit.ResetMs/1000, 10) + ","
	return append(append(body[:open:open], member...), body[open:]...)
}
