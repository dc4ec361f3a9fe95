package mock_test

import (
	"encoding/json"
	"fmt"
	"slices"
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
		got, cut := mock.Instance(gjson.Parse(text), 1000)
		if err := json.Unmarshal(got, &instance); err != nil || cut {
			t.Fatalf("%s: %s", text, got)
		}
		if err := schema.Validate(instance); err != nil {
			t.Errorf("%s: %s: %v", text, got, err)
		}
	}
}

func nest(n int, before, text, after string) string {
	return strings.Repeat(before, n) + text + strings.Repeat(after, n)
}

// wide returns the schema of an object with n required properties. Each property has the given schema.
func wide(n int, property string) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%q", fmt.Sprintf("name%d", i))
	}
	properties := strings.Join(names, ":"+property+",") + ":" + property
	return `{"type":"object","properties":{` + properties + `},"required":[` + strings.Join(names, ",") + `]}`
}

// TestHostileSchemas: any schema produces a short JSON value at once. If values are missing, the result says so.
func TestHostileSchemas(t *testing.T) {
	for _, c := range []struct {
		schema string
		cut    bool
	}{
		{`{"$ref":"#"}`, false}, {`{"anyOf":[]}`, false}, {`{"enum":[]}`, false}, {`{"properties":7}`, false},
		{`{"minLength":1e15,"type":"string"}`, false}, {`{"type":"array","minItems":1e15}`, false}, {`7`, false}, {`[]`, false},
		{`{"$ref":"#/$defs/none"}`, false}, {`{"$ref":"https://x.example"}`, false}, {`{"type":"array","items":{"$ref":"#"}}`, false},
		{`{"type":"object","properties":{"a\"b":{"type":"string"}}}`, false},
		{`{"type":"array","prefixItems":[` + nest(5000, `{"type":"string"},`, `{}`, "") + `],"minItems":5001}`, false},
		{nest(8, `{"type":"array","minItems":16,"items":`, `{"type":"string","minLength":1000}`, `}`), true},
		{`{"type":"array","minItems":16,"items":{"$ref":"#"}}`, true},
		{wide(10_000, `{"type":"string"}`), true}, {wide(10_000, `{"$ref":"#"}`), true}, {wide(300, wide(300, `{"type":"null"}`)), true},
		{`{"enum":["` + strings.Repeat("e", 1<<20) + `"]}`, true}, {`{"const":"` + strings.Repeat("e", 1<<20) + `"}`, true},
		{`{"type":"object","properties":{"` + strings.Repeat("k", 1<<20) + `":{"type":"string"}}}`, true},
		{`{"$defs":{"big":{"description":"` + strings.Repeat("d", 300_000) + `"}},"type":"array","minItems":16,"items":{"$ref":"#/$defs/big"}}`, true},
	} {
		limit := 16 << 10
		if got, cut := mock.Instance(gjson.Parse(c.schema), limit); !json.Valid(got) || len(got) > limit+2000 || cut != c.cut {
			t.Errorf("%.200s: %d bytes, cut: %v: %.200s", c.schema, len(got), cut, got)
		}
	}
}

// TestSchemasAndMaxTokens: if the request has a limit, JSON is short. The finish reason is that of a model.
func TestSchemasAndMaxTokens(t *testing.T) {
	schema := wide(10_000, `{"type":"string"}`)
	for maxTokens, most := range map[uint64]int{0: 16 << 10, 1: 260, 500: 2256, 1 << 40: 16 << 10} {
		r := &chat.Request{Messages: []chat.Message{user()}, MaxTokens: maxTokens, N: 2, Format: chat.Format{Kind: chat.FormatSchema, Schema: schema}}
		for _, a := range mock.Answer(r).Choices {
			if text := a.Parts[0].Text.Plain(); !json.Valid([]byte(text)) || len(text) > most+20 || len(text) < most-40 || a.Finish != chat.FinishLength {
				t.Errorf("%d tokens: %d bytes, %d", maxTokens, len(text), a.Finish)
			}
		}
		r.Tools = []chat.Tool{{Name: "f", Schema: schema}}
		a := mock.Answer(r).Choices[1]
		if args := a.Parts[0].Args; !json.Valid([]byte(args)) || len(args) > most+20 || a.Finish != chat.FinishLength {
			t.Errorf("%d tokens: %d bytes, %d", maxTokens, len(args), a.Finish)
		}
	}
}

// TestManyParts: of a message with many parts, the mock reads only the beginning.
func TestManyParts(t *testing.T) {
	parts := slices.Repeat([]chat.Part{{Kind: chat.Text, Text: "ab"}}, 200_000)
	r := &chat.Request{Messages: []chat.Message{{Role: chat.User, Parts: parts}}}
	if got := mock.Answer(r).Choices[0].Parts[0].Text; !strings.HasSuffix(string(got), "You said: "+strings.Repeat("ab", 60)+"…") {
		t.Error(got)
	}
	if n := testing.AllocsPerRun(1, func() { mock.Answer(r) }); n > 1000 {
		t.Errorf("%.0f allocations", n)
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
