package kernel

import (
	"encoding/json"
	"log"

	"github.com/postern-ai/postern/compliance"
)

// LogLine is a log line in the gateway's format.
type LogLine struct {
	Level     string `json:"level"`
	RequestID string `json:"requestId,omitempty"`
	Code      string `json:"code"`
	Message   string `json:"message"`
}

// Write writes the line.
func (l LogLine) Write() {
	text, _ := json.Marshal(l) // encoding strings cannot fail
	log.Print(string(text))
}

// LogFailure logs a failure in the format of the control plane. requestID is empty if the failure does not belong to
// a request.
func LogFailure(requestID, code, message string) { LogLine{"error", requestID, code, message}.Write() }

// WarnOnce logs a configuration problem the first time that it is noticed.
func (cp *Plane) WarnOnce(message string) {
	if _, logged := cp.warned.LoadOrStore(message, true); !logged {
		LogLine{"warning", "", "misconfigured", message}.Write()
	}
}

// LogCheckpoint logs a checkpoint, so a copy of it exists outside the objects.
func LogCheckpoint(c *compliance.Checkpoint) {
	text, _ := json.Marshal(struct {
		Level      string                 `json:"level"`
		Code       string                 `json:"code"`
		Checkpoint *compliance.Checkpoint `json:"checkpoint"`
	}{"info", "checkpoint", c}) // encoding strings cannot fail
	log.Print(string(text))
}
