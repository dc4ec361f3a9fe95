package openai

import (
	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/jsontext"
)

// Error appends {"error":{"message","type","param","code"},"request_id"}. The error object also has the Governor's
// findings and the fields of the limit, if there are any. Source: OpenAI's guide "Error codes"
// (platform.openai.com/docs/guides/error-codes).
func Error(dst []byte, e *api.Error) []byte { return AppendError(dst, e, errorType(e)) }

// AppendError is like Error, but with the given type.
func AppendError(dst []byte, e *api.Error, kind string) []byte {
	b := jsontext.Builder{B: dst}
	b.B = append(b.B, '{')
	b.Key("error")
	b.Open('{')
	b.Key("message")
	b.Text(e.Summary())
	b.Key("type")
	b.String(kind)
	b.Key("param")
	if param := e.Param(); param != "" {
		b.String(param)
	} else {
		b.Raw("null")
	}
	b.Key("code")
	b.String(e.Code())
	e.WriteFindings(&b)
	e.WriteLimit(&b)
	b.Close('}')
	b.Key("request_id")
	b.String(e.RequestID)
	b.Close('}')
	return b.B
}

// errorType returns the type of an error. A spent limit has the type of a spent budget. This is the documented type
// for errors that waiting does not resolve.
func errorType(e *api.Error) string {
	switch status := e.Status(); {
	case e.Spent():
		return "insufficient_quota"
	case status == 401:
		return "authentication_error"
	case status == 403:
		return "permission_error"
	case status == 402:
		return "insufficient_quota"
	case status == 429:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}
