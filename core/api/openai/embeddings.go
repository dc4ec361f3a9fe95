package openai

import (
	"math"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/base64"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

const (
	maxInputs     = 2048
	maxDimensions = 65536
)

// Embeddings is the body of POST /v1/embeddings. It has Inputs or Tokens.
// Source: OpenAI's API reference, "Create embeddings" (platform.openai.com/docs/api-reference/embeddings).
type Embeddings struct {
	Model      string
	Inputs     []jsontext.Escaped
	Tokens     []string // each a JSON array of token IDs
	Dimensions uint64   // 0: not set
	User       jsontext.Escaped
	Base64     bool          // the caller wants the vectors in base64
	Unknown    []chat.Member // not sent
}

// ParseEmbeddings reads a body. Of a native body, it reads only model, input and dimensions. It adds problems to the
// Parser. If there are any, the result must not be used.
func ParseEmbeddings(p *api.Parser, root gjson.Result, native bool) (e Embeddings) {
	haveInput := false
	root.ForEach(func(key, v gjson.Result) bool {
		name := key.String()
		known := name
		if native && (name == "user" || name == "encoding_format") {
			known = ""
		}
		switch known {
		case "model":
			e.Model = p.Model(v)
		case "input":
			haveInput = true
			e.input(p, v)
		case "dimensions":
			e.Dimensions = p.Integer(name, v, 1, maxDimensions)
		case "encoding_format":
			if e.Base64 = v.Str == "base64"; !e.Base64 && v.Str != "float" && v.Type != gjson.Null {
				p.WrongValue(name, "float or base64", v)
			}
		case "user":
			e.User = p.Text(name, v)
		default:
			e.Unknown = p.Ignore(e.Unknown, name, "is not a parameter of embeddings; omit it")
		}
		return true
	})
	if e.Model == "" && len(p.Details) == 0 {
		p.Wrong("model", "is required")
	}
	if !haveInput {
		p.Wrong("input", "is required")
	}
	return e
}

const onlyOneForm = "must contain only strings or only arrays of token IDs"

// Count returns the number of inputs in either form.
func (e *Embeddings) Count() uint64 { return uint64(len(e.Inputs) + len(e.Tokens)) }

func (e *Embeddings) input(p *api.Parser, v gjson.Result) {
	switch {
	case v.Type == gjson.String:
		e.Inputs = []jsontext.Escaped{jsontext.Inside(v.Raw)}
	case v.IsArray() && jsonvalue.Get(v.Raw, "0").Type == gjson.Number:
		e.tokens(p, v)
	case v.IsArray():
		i := 0
		v.ForEach(func(_, item gjson.Result) bool {
			if item.IsArray() {
				e.tokens(p, item)
			} else {
				e.Inputs = append(e.Inputs, p.Text(api.At("input", i, ""), item))
			}
			i++
			return !p.Full() && e.Count() <= maxInputs
		})
	default:
		p.WrongType("input", "a string, an array of strings or an array of token IDs", v)
	}
	if n := e.Count(); len(p.Details) == 0 && (n == 0 || n > maxInputs) {
		p.Wrong("input", "must have 1 to 2048 elements, got "+strconv.Itoa(api.Length(v)))
	}
	if len(e.Inputs) > 0 && len(e.Tokens) > 0 {
		p.Wrong("input", onlyOneForm)
	}
}

func (e *Embeddings) tokens(p *api.Parser, v gjson.Result) {
	v.ForEach(func(_, id gjson.Result) bool {
		if id.Type != gjson.Number {
			p.Wrong("input", onlyOneForm)
		}
		return id.Type == gjson.Number
	})
	e.Tokens = append(e.Tokens, v.Raw)
}

// PromptTokens estimates the number of tokens in all inputs.
func (e *Embeddings) PromptTokens() (n uint64) {
	for _, text := range e.Inputs {
		n += chat.EstimateTokens(text)
	}
	for _, ids := range e.Tokens {
		n += uint64(len(ids))/4 + 1
	}
	return n
}

// AppendEmbeddings appends the response with the given vectors, each of which is a JSON array of numbers. If inBase64
// is set, the vectors are written in base64.
func AppendEmbeddings(dst []byte, vectors []string, model string, promptTokens uint64, inBase64 bool) []byte {
	b := jsontext.Builder{B: dst}
	b.Open('{')
	b.Member("object", `"list"`)
	b.Key("data")
	b.Open('[')
	for i, vector := range vectors {
		b.Open('{')
		b.Member("object", `"embedding"`)
		b.Key("index")
		b.Uint(uint64(i))
		b.Key("embedding")
		if inBase64 {
			b.Raw(`"`)
			b.B = append(base64.Append(b.B, floats(vector)), '"')
		} else {
			b.Raw(vector)
		}
		b.Close('}')
	}
	b.Close(']')
	b.Key("model")
	b.String(model)
	b.Key("usage")
	tokens := strconv.FormatUint(promptTokens, 10)
	b.Raw(`{"prompt_tokens":` + tokens + `,"total_tokens":` + tokens + `}`)
	b.Close('}')
	return b.B
}

// floats packs a vector for base64 in OpenAI's format: little-endian 32-bit floats.
func floats(vector string) (packed []byte) {
	gjson.Parse(vector).ForEach(func(_, v gjson.Result) bool {
		bits := math.Float32bits(float32(v.Num))
		packed = append(packed, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
		return true
	})
	return packed
}
