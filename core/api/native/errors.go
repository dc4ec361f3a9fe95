package native

import (
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/jsontext"
)

// Error appends {"error","code","requestId"}. If there are details, findings or a limit, their fields follow.
func Error(dst []byte, e *api.Error) []byte {
	dst = e.Append(dst, e.RequestID, e.Details)
	b := jsontext.Builder{B: dst[:len(dst)-1]}
	e.WriteFindings(&b)
	e.WriteLimit(&b)
	b.Close('}')
	return b.B
}
