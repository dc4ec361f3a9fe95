package control

import (
	"encoding/json"
	"log"

	"github.com/postern-ai/postern/compliance"
)

// logLine is a line of the log, in the format of the gateway's log.
type logLine struct {
	Level     string `json:"level"`
	RequestID string `json:"requestId,omitempty"`
	Code      string `json:"code"`
	Message   string `json:"message"`
}

func (l logLine) write() {
	text, _ := json.Marshal(l) // strings are always encoded
	log.Print(string(text))
}

// LogFailure logs a failure in the format of the control plane. An empty request ID means that it is not about a request.
func LogFailure(requestID, code, message string) { logLine{"error", requestID, code, message}.write() }

// warnOnce logs a problem of the configuration when it is first noticed.
func (h *handler) warnOnce(message string) {
	if _, logged := h.warned.LoadOrStore(message, true); !logged {
		logLine{"warning", "", "misconfigured", message}.write()
	}
}

// logCheckpoint logs a checkpoint, so that it exists outside of the objects.
func logCheckpoint(c *compliance.Checkpoint) {
	text, _ := json.Marshal(struct {
		Level      string                 `json:"level"`
		Code       string                 `json:"code"`
		Checkpoint *compliance.Checkpoint `json:"checkpoint"`
	}{"info", "checkpoint", c}) // strings are always encoded
	log.Print(string(text))
}
