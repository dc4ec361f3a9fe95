package native

import "github.com/postern-ai/postern/core/jsontext"

// AppendHealth appends the response to GET /api/health.
func AppendHealth(dst []byte, projectID string) []byte {
	dst = append(dst, `{"status":"ok","authenticated":true,"project_id":`...)
	return append(jsontext.AppendString(dst, projectID), '}')
}
