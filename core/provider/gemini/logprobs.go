package gemini

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

// logProbs converts {"chosenCandidates":[{"token","logProbability"}],"topCandidates":[{"candidates":[…]}]} to
// OpenAI's {"content":[{"token","logprob","bytes":null,"top_logprobs":[…]}],"refusal":null}. Both lists have one
// element per decoding step.
func logProbs(v gjson.Result) string {
	var tops []gjson.Result
	jsonvalue.Get(v.Raw, "topCandidates").ForEach(func(_, top gjson.Result) bool {
		tops = append(tops, top)
		return true
	})
	b := jsontext.Builder{B: make([]byte, 0, 256)}
	b.Open('{')
	b.Key("content")
	b.Open('[')
	step := 0
	jsonvalue.Get(v.Raw, "chosenCandidates").ForEach(func(_, chosen gjson.Result) bool {
		b.Open('{')
		logProb(&b, chosen)
		b.Key("top_logprobs")
		b.Open('[')
		if step < len(tops) {
			jsonvalue.Get(tops[step].Raw, "candidates").ForEach(func(_, one gjson.Result) bool {
				b.Open('{')
				logProb(&b, one)
				b.Close('}')
				return true
			})
		}
		b.Close(']')
		b.Close('}')
		step++
		return true
	})
	b.Close(']')
	b.Member("refusal", "null")
	b.Close('}')
	return string(b.B)
}

func logProb(b *jsontext.Builder, v gjson.Result) {
	b.Key("token")
	b.Text(jsonvalue.Text(v.Raw, "token"))
	b.Key("logprob")
	if p := jsonvalue.Get(v.Raw, "logProbability"); p.Type == gjson.Number {
		b.Raw(p.Raw)
	} else {
		b.Raw("0") // Google's JSON omits zeros
	}
	b.Member("bytes", "null")
}
