package explore_test

import (
	"github.com/postern-ai/postern/core/abi"
)

const (
	nativeBody = `{"model":"only","prompt":"` + promptMark + `","maxTokens":8}`
	openaiBody = `{"model":"frontier","messages":[{"role":"user","content":"` + promptMark + `"}],"max_tokens":1,"stream":true}`
)

func completion(name, path, body string, more alphabet) *scenario {
	return &scenario{
		name: name, deploy: plain, headers: requestHead("POST", path, callerKey), body: body, alphabet: base.with(more),
		allowed: []string{"only"}, leaves: true,
	}
}

func scenarios() []*scenario {
	return []*scenario{
		completion("complete", "/api/ai/complete", nativeBody, alphabet{
			"fetch":  append([]choice{openaiOK, notJSON, busy, down, rejected, unpaid, tooLong}, everyFault...),
			"settle": {done, failed},
		}),
		extension(),
	}
}

func extension() *scenario {
	s := completion("a stream whose reservation is extended", "/v1/chat/completions", openaiBody, alphabet{
		"stream": {streamed(openaiStream), fault(abi.FaultHead)},
		"extend": {admitted, short, unknown, failed},
		"grant":  {granted, noMore(), noMore("meter-2"), failed},
	})
	s.allowed = []string{"only", "spare", "third"}
	return s
}
