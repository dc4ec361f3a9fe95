package mistral

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Failure parses {"object":"error","message","type","param","code","raw_status_code"}. Mistral's frontend sends
// {"message","request_id"} or {"detail":"Unauthorized"}. A 422 lists invalid fields in
// {"detail":[{"type","loc","msg"}]}. This object can also be the message.
func Failure(status uint64, root gjson.Result) wire.Failure {
	f := wire.Failure{Kind: wire.ByStatus(status), Message: message(root)}
	switch {
	case status == 400 && jsonvalue.String(root.Raw, "type") == "invalid_model":
		f.Kind = wire.FailTarget
	case status == 400 && strings.Contains(string(f.Message), "too large for model with"):
		f.Kind = wire.FailTooLong
	}
	return f
}

func message(root gjson.Result) jsontext.Escaped {
	v := jsonvalue.Get(root.Raw, "message")
	if text := wire.Text(v); text != "" {
		return text
	}
	detail := jsonvalue.Get(root.Raw, "detail")
	if v.IsObject() {
		detail = jsonvalue.Get(v.Raw, "detail")
	}
	if text := wire.Text(detail); text != "" {
		return text
	}
	return jsonvalue.Text(detail.Raw, "0.msg")
}
