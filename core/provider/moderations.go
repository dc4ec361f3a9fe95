package provider

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/mistral"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Moderations returns the family for OpenAI's moderations API. name is that of a wire family in the catalog. The
// result has only Dialect, Carries, Direct and Failure. Mistral has the same API for text. Sources: OpenAI's API
// reference, "Create moderation" (platform.openai.com/docs/api-reference/moderations/create), and Mistral's API
// reference, "Moderations" (docs.mistral.ai/api/endpoint/classifiers).
func Moderations(name string) (f *wire.Family, ok bool) {
	f = &wire.Family{}
	switch name {
	case "openai":
		f.Carries, f.Failure = chat.ParamImages, openai.Failure
	case "mistral":
		f.Failure = mistral.Failure
	default:
		return f, false
	}
	f.Dialect, f.Direct = chat.OpenAI, moderate
	return f, true
}

func moderate(c *wire.Call, members abi.Part) abi.Action {
	head := append(jsontext.AppendString([]byte(`{"model":`), c.Model.Upstream), ',')
	return wire.Post(c.Model.Provider.BaseURL+"/moderations", []abi.Part{{Data: head}, members, {Data: []byte("}")}}, openai.Auth(c.Model)...)
}

// ModerationResults parses {"id","results":[{"categories":{NAME:true|false,…},"category_scores":{NAME:0…1,…}}]}. Each
// result is JSON with the provider's own categories. If "flagged" is missing, as in Mistral's responses,
// ModerationResults adds it. It is true if any category is true.
func ModerationResults(root gjson.Result) (id jsontext.Escaped, results []string, ok bool) {
	jsonvalue.Get(root.Raw, "results").ForEach(func(_, v gjson.Result) bool {
		categories := jsonvalue.Get(v.Raw, "categories")
		if ok = v.IsObject() && categories.IsObject(); !ok {
			return false
		}
		text := v.Raw
		if !jsonvalue.Get(text, "flagged").Exists() {
			text = `{"flagged":` + strconv.FormatBool(strings.Contains(categories.Raw, "true")) + "," + text[1:]
		}
		results = append(results, text)
		return true
	})
	return jsonvalue.Text(root.Raw, "id"), results, ok
}

// If an input contains mockMark, the mock flags it for violence.
const mockMark = "postern-flagged"

// mockCategories has OpenAI's other categories. Each @ is replaced with the value.
const mockCategories = `,"harassment":@,"harassment/threatening":@,"hate":@,"hate/threatening":@,"illicit":@,"illicit/violent":@,"self-harm":@,` +
	`"self-harm/instructions":@,"self-harm/intent":@,"sexual":@,"sexual/minors":@,"violence/graphic":@}`

// MockModeration returns the mock's result for an input, which is given as JSON. The result has OpenAI's format and
// categories.
func MockModeration(input string) string {
	hit, score := "false", "0"
	if strings.Contains(input, mockMark) {
		hit, score = "true", "1"
	}
	return `{"flagged":` + hit + `,"categories":{"violence":` + hit + strings.ReplaceAll(mockCategories, "@", "false") +
		`,"category_scores":{"violence":` + score + strings.ReplaceAll(mockCategories, "@", "0") +
		`,"category_applied_input_types":{"violence":["text"]` + strings.ReplaceAll(mockCategories, "@", `["text"]`) + "}"
}
