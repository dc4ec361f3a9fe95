package mock_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/provider/mock"
)

func user() chat.Message {
	return chat.Message{Role: chat.User, Parts: []chat.Part{{Kind: chat.Text, Text: "x"}, {Kind: chat.Text, Text: "y"}}}
}

// schemas are typical schemas that SDKs generate.
var schemas = []string{
	`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":3},"unit":{"enum":["c","f"]}},"required":["city","days","unit"],"additionalProperties":false}`,
	`{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"on":{"type":"boolean"},"n":{"type":["number","null"]}},"required":["on","n"]},"minItems":2}},"required":["list"]}`,
	`{"$defs":{"step":{"type":"object","properties":{"text":{"type":"string","minLength":20}},"required":["text"]}},"type":"object","properties":{"steps":{"type":"array","items":{"$ref":"#/$defs/step"}},"kind":{"const":"plan"}},"required":["steps","kind"]}`,
	`{"type":"object","properties":{"either":{"anyOf":[{"type":"string"},{"type":"number"}]}},"required":["either"]}`,
	`{"type":"string"}`, `{"type":"array","items":{"type":"number"}}`, `{"type":"null"}`,
}

func TestInstancesAreValid(t *testing.T) {
	for _, text := range schemas {
		var document any
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("s.json", document); err != nil {
			t.Fatal(err)
		}
		schema := compiler.MustCompile("s.json")
		var instance any
		got := mock.Instance(nil, gjson.Parse(text))
		if err := json.Unmarshal(got, &instance); err != nil {
			t.Fatalf("%s: %s", text, got)
		}
		if err := schema.Validate(instance); err != nil {
			t.Errorf("%s: %s: %v", text, got, err)
		}
	}
}

// TestHostileSchemas checks that any schema gives a valid and short JSON value.
func TestHostileSchemas(t *testing.T) {
	for _, text := range []string{
		`{"$ref":"#"}`, `{"type":"array","items":{"$ref":"#"}}`, `{"anyOf":[]}`, `{"enum":[]}`, `{"properties":7}`, `{"minLength":1e15,"type":"string"}`,
		`{"type":"array","minItems":1e15}`, `7`, `[]`, `{"$ref":"#/$defs/none"}`, `{"$ref":"https://x.example"}`, `{"type":"object","properties":{"a\"b":{"type":"string"}}}`,
	} {
		if got := mock.Instance(nil, gjson.Parse(text)); !json.Valid(got) || len(got) > 100_000 {
			t.Errorf("%s: %.200s", text, got)
		}
	}
}

func TestTools(t *testing.T) {
	r := &chat.Request{Messages: []chat.Message{user()}, Tools: []chat.Tool{{Raw: `{"type":"web_search"}`}, {Name: "f", Schema: schemas[0]}, {Name: "g"}}}
	call := mock.Answer(r).Choices[0]
	if call.Finish != chat.FinishTools || call.Parts[0].Name != "f" || gjson.Get(call.Parts[0].Args, "days").Int() != 3 {
		t.Errorf("%+v", call)
	}
	r.ToolChoice = chat.ToolChoice{Choice: chat.ChoiceTool, Name: "g"}
	if call := mock.Answer(r).Choices[0].Parts[0]; call.Name != "g" || call.Args != "{}" {
		t.Errorf("%+v", call)
	}
	r.ToolChoice = chat.ToolChoice{Choice: chat.ChoiceNone}
	if a := mock.Answer(r).Choices[0]; a.Parts[0].Kind != chat.Text {
		t.Errorf("%+v", a)
	}
	r.ToolChoice = chat.ToolChoice{}
	result := chat.Part{Kind: chat.ToolResult, ID: "c", Parts: []chat.Part{{Kind: chat.Text, Text: "21 degrees"}}}
	r.Messages = append(r.Messages, chat.Message{Role: chat.ToolRole, Parts: []chat.Part{result}})
	if a := mock.Answer(r).Choices[0]; !strings.HasSuffix(string(a.Parts[0].Text), "You said: 21 degrees") || a.Finish != chat.FinishStop {
		t.Errorf("%+v", a)
	}
}

func TestTextFormatsAndTruncation(t *testing.T) {
	r := &chat.Request{Messages: []chat.Message{user()}, N: 3}
	if all := mock.Answer(r).Choices; len(all) != 3 || all[0].Parts[0].Text != "This is Postern's test mode. You said: xy" {
		t.Errorf("%+v", all)
	}
	r = &chat.Request{Messages: []chat.Message{user()}, MaxTokens: 2}
	if a := mock.Answer(r).Choices[0]; a.Parts[0].Text != "This is " || a.Finish != chat.FinishLength {
		t.Errorf("%+v", a)
	}
	r.Format = chat.Format{Kind: chat.FormatJSON}
	if a := mock.Answer(r).Choices[0]; !json.Valid([]byte(a.Parts[0].Text.Plain())) || a.Finish != chat.FinishStop {
		t.Errorf("%+v", a)
	}
}

func TestVector(t *testing.T) {
	for _, dimensions := range []uint64{1, 7, 1536} {
		var vector []float64
		if err := json.Unmarshal([]byte(mock.Vector("text", dimensions)), &vector); err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, v := range vector {
			sum += v * v
		}
		if uint64(len(vector)) != dimensions || sum < 0.99 || sum > 1.01 {
			t.Errorf("%d numbers, squared norm %f", len(vector), sum)
		}
	}
	a, again, b := mock.Vector("a", 8), mock.Vector("a", 8), mock.Vector("b", 8)
	if a == b || a != again {
		t.Error("a vector must depend only on the text")
	}
}
