package native

import "github.com/postern-ai/postern/core/api"

// Error appends {"error","code","requestId"}, and "details" if there are any.
func Error(dst []byte, e *api.Error) []byte { return e.Append(dst, e.RequestID, e.Details) }
