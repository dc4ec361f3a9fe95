package inspect

import (
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/schema"
	"github.com/postern-ai/postern/core/jsonvalue"
)

// matchAnswer checks the text of a non-streaming response against Check.Schema. In dialects with choices, it checks
// the text of each choice.
func (w *walker) matchAnswer() {
	if w.check.Schema == "" || w.dir != governor.Output {
		return
	}
	root := gjson.ParseBytes(w.body)
	switch w.kind {
	case NativeAnswer:
		w.match(jsonvalue.Get(root.Raw, "text").String(), "text")
	case OpenAIAnswer:
		i := 0
		jsonvalue.Get(root.Raw, "choices").ForEach(func(_, choice gjson.Result) bool {
			w.match(texts(jsonvalue.Get(choice.Raw, "message.content"), "text"), "choices["+strconv.Itoa(i)+"].message.content")
			i++
			return true
		})
	case AnthropicAnswer:
		w.match(texts(jsonvalue.Get(root.Raw, "content"), "text"), "content")
	case ResponsesAnswer:
		var text []byte
		jsonvalue.Get(root.Raw, "output").ForEach(func(_, item gjson.Result) bool {
			if jsonvalue.Get(item.Raw, "type").Str == "message" {
				text = append(text, texts(jsonvalue.Get(item.Raw, "content"), "output_text")...)
			}
			return true
		})
		w.match(string(text), "output")
	}
}

// texts returns content if it is a string. If it is an array, texts joins the text of the parts of the given type.
func texts(content gjson.Result, kind string) string {
	if content.Type == gjson.String {
		return content.Str
	}
	var text []byte
	content.ForEach(func(_, part gjson.Result) bool {
		if jsonvalue.Get(part.Raw, "type").Str == kind {
			text = append(text, jsonvalue.Get(part.Raw, "text").Str...)
		}
		return true
	})
	return string(text)
}

// matchResponse does the same as matchAnswer for a translated response.
func (w *collector) matchResponse(resp *chat.Response) {
	if w.check.Schema == "" {
		return
	}
	for i := range resp.Choices {
		w.match(chat.Join(resp.Choices[i].Parts, chat.Text).Plain(), "choices["+strconv.Itoa(i)+"].message.content")
	}
}

// match adds a finding if a text does not satisfy the schema. It ignores responses without text, such as tool calls
// and refusals.
func (in *inspector) match(text, path string) {
	if text == "" {
		return
	}
	if result := schema.Validate(in.check.Schema, text); !result.Valid() {
		n := len(in.result.Findings)
		in.whole(governor.Finding{Rule: governor.RuleSchema}, -1)
		in.setPaths(n, governor.RuleSchema, path)
	}
}

// setPaths sets the paths of findings about the whole text, and of their report.
func (in *inspector) setPaths(from int, rule governor.ID, path string) {
	for i := from; i < len(in.result.Findings); i++ {
		in.result.Findings[i].Path = path
	}
	for i := range in.result.Reports {
		if r := &in.result.Reports[i]; r.Rule == rule && r.Path == "" {
			r.Path = path
		}
	}
}
