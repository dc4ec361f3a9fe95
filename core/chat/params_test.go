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
				{Kind: chat.File, Data: "AA=="}, {Kind: chat.Audio, Data: "AA=="}, chat.ForeignPart("messages", "video"),
			}},
			{Role: chat.Assistant, Parts: []chat.Part{{Kind: chat.Thinking, Text: "hm", Signature: "gemini:x"}}},
		},
		Tools: []chat.Tool{{Name: "f"}}, ToolChoice: chat.ToolChoice{Choice: chat.ChoiceAny}, ParallelTools: "false",
		Temperature: "1", TopP: "1", TopK: "1", FrequencyPenalty: "1", PresencePenalty: "1", Seed: "1", N: 2, LogProbs: "true", TopLogProbs: "1",
		Stop: []jsontext.Escaped{"x"}, Format: chat.Format{Kind: chat.FormatSchema, Schema: "{}"}, Reasoning: chat.Reasoning{Effort: "low"}, User: "u",
	}
}

// TestDrop: after Drop, a request uses only features that the target supports, except tools. Every message keeps its
// number of parts.
func TestDrop(t *testing.T) {
	all := full().Params()
	if all != (chat.All|chat.ParamForeign|chat.ParamMarkedThinking)&^(chat.ParamFormatJSON|chat.ParamAlienThinking) {
		t.Errorf("a request with every feature has %s", all.AppendNames(nil))
	}
	for bit := chat.Params(1); bit <= chat.ParamForeign; bit <<= 1 {
		r := full()
		r.Drop(^bit)
		if bit&(chat.ParamTools|chat.ParamMarkedThinking) == 0 && r.Params()&bit != 0 {
			t.Errorf("%s was not dropped", bit.AppendNames(nil))
		}
		if got, want := len(r.Messages[0].Parts), len(full().Messages[0].Parts); got != want {
			t.Errorf("without %s, %d parts of %d are left", bit.AppendNames(nil), got, want)
		}
	}
}

// TestLeftOut: the note that replaces a part names its type. Parts in a tool's result are replaced too.
func TestLeftOut(t *testing.T) {
	r := chat.Request{Messages: []chat.Message{{Role: chat.ToolRole, Parts: []chat.Part{{Kind: chat.ToolResult, Parts: []chat.Part{
		chat.ForeignPart("messages", "video"), chat.ForeignPart("messages", "\n no name"), {Kind: chat.Image, URL: "https://x.example"}, {Kind: chat.Image, Data: "AA=="},
	}}}}}}
	r.Drop(chat.All &^ chat.ParamImageURLs)
	got := r.Messages[0].Parts[0].Parts
	for i, want := range []chat.Part{
		{Kind: chat.Text, Text: chat.LeftOut("video")}, {Kind: chat.Text, Text: chat.LeftOut("unknown")}, {Kind: chat.Text, Text: chat.LeftOut("image")}, {Kind: chat.Image, Data: "AA=="},
	} {
		if !reflect.DeepEqual(got[i], want) {
			t.Errorf("got %+v, want %+v", got[i], want)
		}
	}
	if len(r.Omitted) != 2 || r.Omitted[0].Name != "messages.video" || r.Omitted[1].Name != "messages.unknown" {
		t.Errorf("named %+v", r.Omitted)
	}
}

// TestQuestion: a target that would get nothing of the user's last turn loses the question.
func TestQuestion(t *testing.T) {
	user := func(parts ...chat.Part) chat.Message { return chat.Message{Role: chat.User, Parts: parts} }
	text, image, byURL, audio := chat.Part{Kind: chat.Text, Text: "a"}, chat.Part{Kind: chat.Image, Data: "AA=="}, chat.Part{Kind: chat.Image, URL: "https://x.example"}, chat.Part{Kind: chat.Audio}
	answer := chat.Message{Role: chat.Assistant, Parts: []chat.Part{text}}
	for name, c := range map[string]struct {
		messages []chat.Message
		missing  chat.Params
		want     bool
	}{
		"a text beside it":                  {[]chat.Message{user(text, image)}, chat.ParamImages, false},
		"alone":                             {[]chat.Message{user(image)}, chat.ParamImages, true},
		"a text in the turn before":         {[]chat.Message{user(text), answer, user(image)}, chat.ParamImages, true},
		"a text in the message before":      {[]chat.Message{user(text), user(image)}, chat.ParamImages, false},
		"an earlier turn":                   {[]chat.Message{user(image), answer, user(text)}, chat.ParamImages, false},
		"instructions are no question":      {[]chat.Message{{Role: chat.System, Parts: []chat.Part{text}}, user(image)}, chat.ParamImages, true},
		"an empty text":                     {[]chat.Message{user(chat.Part{Kind: chat.Text}, image)}, chat.ParamImages, true},
		"a tool's result":                   {[]chat.Message{answer, {Role: chat.ToolRole, Parts: []chat.Part{{Kind: chat.ToolResult, Parts: []chat.Part{image}}}}}, chat.ParamImages, false},
		"another part that the target gets": {[]chat.Message{user(image, audio)}, chat.ParamImages, false},
		"two kinds":                         {[]chat.Message{user(image, audio)}, chat.ParamImages | chat.ParamAudio, true},
		"by URL":                            {[]chat.Message{user(byURL)}, chat.ParamImageURLs, true},
		"by URL, images missing":            {[]chat.Message{user(byURL)}, chat.ParamImages, true},
		"another image by URL":              {[]chat.Message{user(byURL, text), answer, user(image)}, chat.ParamImageURLs, false},
		"nothing missing":                   {[]chat.Message{user(image)}, 0, false},
	} {
		r := chat.Request{Messages: c.messages}
		if got := c.missing.Loses(r.Question()); got != c.want {
			t.Errorf("%s: %t", name, got)
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
