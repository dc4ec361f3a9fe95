package native

import "github.com/postern-ai/postern/core/api"

// Error writes {"error","code","requestId"} and, if there are any, details.
func Error(dst []byte, e *api.Error) []byte { return e.Append(dst, e.RequestID, e.Details) }
