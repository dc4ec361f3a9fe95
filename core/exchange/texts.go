package exchange

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	legacy "github.com/postern-ai/postern/core/api/completions"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/mock"
)

// parseTexts parses the body of a legacy completion. All of its fields are forwarded, so no parameter is dropped. The
// cache's format cannot represent this API's log probabilities, so a response that has any is not cached.
func (x *exchange) parseTexts(p *api.Parser, root gjson.Result) {
	x.parseCompletion(p, root)
	x.s.request.params = 0
	if jsonvalue.Get(root.Raw, "logprobs").Type == gjson.Number {
		x.s.cacheControl.noStore = true
	}
}

// mockTexts responds to each prompt of a legacy completion as to a message.
func (x *exchange) mockTexts(body []byte) {
	request := x.reparse(body, false)
	n, echo := legacy.Repeats(gjson.ParseBytes(body))
	r := chat.Response{ID: "mock-1", Model: jsontext.Escape(request.Model)}
	for i := range request.Messages {
		prompt := request.Messages[i : i+1]
		one := mock.Answer(&chat.Request{Messages: prompt, MaxTokens: request.MaxTokens, N: n})
		for j := range one.Choices {
			if part := &one.Choices[j].Parts[0]; echo {
				part.Text = jsontext.Escape(mock.Quote(prompt[0].Parts[0].Text.Plain())) + part.Text
			}
		}
		r.Choices = append(r.Choices, one.Choices...)
	}
	x.answerMock(&r)
}
