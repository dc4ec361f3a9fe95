package openai

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
)

// defaultModeration is the model for requests that do not name one.
const defaultModeration = "omni-moderation-latest"

// Moderations is the body of POST /v1/moderations. Its input is a string, a list of strings, or a list of content
// parts that make up one input. Images are URLs, which the gateway does not open. Source: OpenAI's API reference,
// "Create moderation" (platform.openai.com/docs/api-reference/moderations/create).
type Moderations struct {
	Model        string
	Members      []byte        // the fields of the body, without model
	Inputs       []string      // JSON; each gets a result
	PromptTokens uint64        // an estimate for the texts
	Params       chat.Params   // ParamImages
	Unknown      []chat.Member // not sent
}

// ParseModerations reads a body. It adds problems to the Parser. If there are any, the result must not be used.
func ParseModerations(p *api.Parser, root gjson.Result) (m Moderations) {
	m.Model = defaultModeration
	root.ForEach(func(key, v gjson.Result) bool {
		switch name := key.String(); {
		case name == "input":
			m.Members = api.AppendMember(nil, key, v)
			m.input(p, v)
		case name != "model":
			m.Unknown = p.Ignore(m.Unknown, name, "is not a parameter of moderations; omit it")
		case v.Type != gjson.Null:
			m.Model = p.Model(v)
		}
		return true
	})
	if m.Members == nil {
		p.Wrong("input", "is required")
	}
	return m
}

func (m *Moderations) input(p *api.Parser, v gjson.Result) {
	n, parts := 0, jsonvalue.Get(v.Raw, "0").IsObject()
	m.Inputs = nil
	switch {
	case v.IsArray():
		v.ForEach(func(_, item gjson.Result) bool {
			m.item(p, api.At("input", n, ""), item, parts)
			n++
			return !p.Full() && n <= maxInputs
		})
		if len(p.Details) == 0 && (n == 0 || n > maxInputs) {
			p.Wrong("input", "must have 1 to 2048 elements, got "+strconv.Itoa(api.Length(v)))
		}
	case v.Type == gjson.String:
		m.item(p, "input", v, false)
	default:
		p.WrongType("input", "a string, an array of strings or an array of content parts", v)
	}
	if parts {
		m.Inputs = []string{v.Raw}
	}
}

// item reads a string or a part: {"type":"text","text"} or {"type":"image_url","image_url":{"url"}}.
func (m *Moderations) item(p *api.Parser, field string, v gjson.Result, part bool) {
	kind := "text"
	if part {
		if kind = jsonvalue.String(v.Raw, "type"); kind != "text" && kind != "image_url" {
			p.Wrong(field, "must have the type text or image_url")
			return
		}
		field += "." + kind
		v = jsonvalue.Get(v.Raw, kind)
	}
	if kind == "text" {
		m.PromptTokens += chat.EstimateTokens(p.Text(field, v))
	} else {
		p.Text(field+".url", jsonvalue.Get(v.Raw, "url"))
		m.Params = chat.ParamImages
	}
	m.Inputs = append(m.Inputs, v.Raw)
}

// AppendModerations appends the response with the given results, each of which is a JSON object. If id is empty, the
// response has a made-up ID.
func AppendModerations(dst []byte, id jsontext.Escaped, model string, results []string) []byte {
	if id == "" {
		id = "modr-1"
	}
	dst = append(append(dst, `{"id":"`+string(id)+`","model":`...), jsontext.AppendString(nil, model)...)
	return append(dst, `,"results":[`+strings.Join(results, ",")+"]}"...)
}
