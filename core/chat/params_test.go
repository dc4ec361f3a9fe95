package chat_test

import (
	"reflect"
	"testing"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsontext"
)

// full is a request that uses every feature.
func full() *chat.Request {
	return &chat.Request{
		Messages: []chat.Message{
			{Role: chat.User, Name: "eve", Parts: []chat.Part{
				{Kind: chat.Text, Text: "Hi", Cache: `{"type":"ephemeral"}`}, {Kind: chat.Image, URL: "https://x.example/i.png"},
				{Kind: chat.File, Data: "AA=="}, {Kind: chat.Audio, Data: "AA=="}, {Kind: chat.Foreign},
			}},
			{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: "hm", Signature: "gemini:x"}}},
		},
		Tools: []chat.Tool{{Name: "f"}}, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceAny}, ParallelTools: "false",
		Temperature: "1", TopP: "1", TopK: "1", FrequencyPenalty: "1", PresencePenalty: "1", Seed: "1", N: 2, LogProbs: "true", TopLogProbs: "1",
		Stop: []jsontext.Escaped{"x"}, Format: chat.Format{Kind: chat.FormatSchema, Schema: "{}"}, Reasoning: chat.Reasoning{Effort: "low"}, User: "u",
	}
}

// TestDrop: after Drop a request uses no feature that the target lacks, except content.
func TestDrop(t *testing.T) {
	all := full().Params()
	if all != (chat.All|chat.ParamForeign|chat.ParamMarkedThinking)&^(chat.ParamFormatJSON|chat.ParamAlienThinking) {
		t.Errorf("a request with every feature has %s", all.AppendNames(nil))
	}
	for bit := chat.Params(1); bit <= chat.ParamForeign; bit <<= 1 {
		r := full()
		r.Drop(^bit)
		left := r.Params()
		if bit&chat.Content == 0 && bit != chat.ParamMarkedThinking && left&bit != 0 {
			t.Errorf("%s was not dropped", bit.AppendNames(nil))
		}
		if bit&chat.Content != 0 && left != all {
			t.Errorf("without support for %s, %s was dropped", bit.AppendNames(nil), (all &^ left).AppendNames(nil))
		}
	}
}

func TestSchemaBecomesJSON(t *testing.T) {
	r := full()
	r.Drop(chat.All &^ chat.ParamFormatSchema)
	if r.Format.Kind != chat.FormatJSON {
		t.Errorf("%+v", r.Format)
	}
	r.Drop(chat.All &^ (chat.ParamFormatSchema | chat.ParamFormatJSON))
	if !reflect.DeepEqual(r.Format, chat.Format{}) {
		t.Errorf("%+v", r.Format)
	}
}

func TestNames(t *testing.T) {
	for bit := chat.Params(1); bit <= chat.ParamForeign; bit <<= 1 {
		if name := string(bit.AppendNames(nil)); chat.ParamByName(name) != bit {
			t.Errorf("ParamByName(%q) does not return its parameter", name)
		}
	}
	if chat.ParamByName("nonsense") != 0 {
		t.Error("ParamByName accepts an unknown name")
	}
	if got := string((chat.ParamTopK | chat.ParamTemperature).AppendNames([]byte("x"))); got != "x,temperature,top_k" {
		t.Error(got)
	}
}
