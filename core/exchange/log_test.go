package exchange_test

import (
	"fmt"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

// TestLoggedRequests: POSTERN_LOG decides which lines are written. A host gets every line, for its metrics.
func TestLoggedRequests(t *testing.T) {
	usage := func(extra string) string {
		return `{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,` + extra + `}}`
	}
	for _, c := range []struct {
		name, body, answer string
		status             uint64 // of the provider's response
		all, errors        uint64 // the code with POSTERN_LOG=all and errors
	}{
		{"success", openaiRequest, usage(`"completion_tokens":1`), 200, abi.LogInfo, abi.LogNone},
		{"malformed request", "{", "", 0, abi.LogInfo, abi.LogNone},
		{"refusal by the provider", openaiRequest, "{}", 400, abi.LogInfo, abi.LogNone},
		{"failure", openaiRequest, "{}", 500, abi.LogError, abi.LogError},
		{"unknown usage", openaiRequest, usage(`"completion_tokens":1,"flux_units":7`), 200, abi.LogInfo, abi.LogInfo},
		{"overrun", openaiRequest, usage(`"completion_tokens":9000000`), 200, abi.LogInfo, abi.LogInfo},
	} {
		for logs, want := range map[config.Log]uint64{config.LogAll: c.all, config.LogErrors: c.errors, config.LogOff: abi.LogNone} {
			r := request{path: "/v1/chat/completions", body: c.body, logs: logs}
			for range 6 {
				r.provider = append(r.provider, wholeResponse(c.status, c.answer))
			}
			line := r.run(t).one(abi.ActionLog)
			equal(t, fmt.Sprintf("code of %s with %d", c.name, logs), line.Code, want)
			contains(t, "line", string(line.Data), `"route":"/v1/chat/completions"`)
		}
	}
}
