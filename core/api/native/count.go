package native

import "github.com/postern-ai/postern/core/jsontext"

// AppendCount appends the response to POST /api/ai/count-tokens: {"promptTokens","estimated","provider","model"}.
func AppendCount(dst []byte, tokens uint64, estimated bool, provider, model string) []byte {
	b := jsontext.Builder{B: dst}
	b.Open('{')
	b.UintMember("promptTokens", tokens)
	b.Key("estimated")
	b.Bool(estimated)
	b.Key("provider")
	b.String(provider)
	b.Key("model")
	b.String(model)
	b.Close('}')
	return b.B
}
