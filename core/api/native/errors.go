package native

import "github.com/postern-ai/postern/core/api"

// Error appends {"error","code","requestId"}, and "details" and "findings" if there are any.
func Error(dst []byte, e *api.Error) []byte {
	dst = e.Append(dst, e.RequestID, e.Details)
	if e.Findings == "" {
		return dst
	}
	dst = append(dst[:len(dst)-1], `,"findings":`...)
	return append(append(dst, e.Findings...), '}')
}
