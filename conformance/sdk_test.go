package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// sdk uses OpenAI's unmodified Go library as a client of a host.
type sdk struct {
	openai.Client
	upstream *Upstream
}

func newSDK(t *testing.T, start func(*testing.T, *Upstream) *Runner) *sdk {
	t.Helper()
	upstream := newUpstream(t)
	r := start(t, upstream)
	x := &run{Runner: r, names: map[string]string{"admin": AdminToken}, env: map[string]string{}, now: Start}
	project := Step{Args: []string{"demo"}, Options: map[string]string{"plan": "unlimited"}}
	if err := errors.Join(x.reset(), x.project(project), x.key(Step{Args: []string{"live", "demo"}})); err != nil {
		t.Fatal(err)
	}
	return &sdk{openai.NewClient(option.WithBaseURL(r.URL+"/v1"), option.WithAPIKey(x.names["live"]), option.WithMaxRetries(0)), upstream}
}

func say(model, text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}}
}

func TestOpenAIGo(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T, *Upstream) *Runner{"wasm": newWasm, "serve": newServe} {
		t.Run(name, func(t *testing.T) { newSDK(t, start).test(t) })
	}
}

func (s *sdk) test(t *testing.T) {
	for _, model := range []string{"only", "poet"} {
		t.Run(model, func(t *testing.T) {
			t.Run("chat", func(t *testing.T) { s.chat(t, model) })
			t.Run("stream", func(t *testing.T) { s.stream(t, model) })
			t.Run("tools", func(t *testing.T) { s.tools(t, model) })
			t.Run("schema", func(t *testing.T) { s.schema(t, model) })
			t.Run("responses", func(t *testing.T) { s.responses(t, model) })
		})
	}
	t.Run("embeddings", s.embeddings)
	t.Run("errors", s.errors)
	t.Run("broken stream", s.broken)
	t.Run("abort", s.abort)
}

func (s *sdk) chat(t *testing.T, model string) {
	got, err := s.Chat.Completions.New(t.Context(), say(model, "Hello"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Choices[0].Message.Content != "Hello from upstream" || got.Usage.TotalTokens != 150 {
		t.Errorf("%s", got.RawJSON())
	}
}

func (s *sdk) stream(t *testing.T, model string) {
	params := say(model, "count to 30")
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	stream := s.Chat.Completions.NewStreaming(t.Context(), params)
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		if !all.AddChunk(stream.Current()) {
			t.Fatalf("the chunk %s does not continue the response", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if text := all.Choices[0].Message.Content; !strings.HasPrefix(text, "1 2 3") || !strings.HasSuffix(text, "29 30") || all.Usage.CompletionTokens != 50 {
		t.Errorf("%q, %+v", text, all.Usage)
	}
}

func (s *sdk) tools(t *testing.T, model string) {
	params := say(model, "Paris?")
	params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: "weather", Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}},
	})}
	asked, err := s.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	message := asked.Choices[0].Message
	if len(message.ToolCalls) != 1 || message.ToolCalls[0].Function.Name != "weather" {
		t.Fatalf("%s", asked.RawJSON())
	}
	params.Messages = append(params.Messages, message.ToParam(), openai.ToolMessage("21 degrees", message.ToolCalls[0].ID))
	told, err := s.Chat.Completions.New(t.Context(), params)
	if err != nil || !strings.Contains(told.Choices[0].Message.Content, "21 degrees") {
		t.Errorf("%v %s", err, told.RawJSON())
	}
}

func (s *sdk) schema(t *testing.T, model string) {
	params := say(model, "A city")
	params.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
		JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "city", Strict: openai.Bool(true), Schema: map[string]any{
			"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}, "additionalProperties": false,
		}},
	}}
	got, err := s.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	var city struct{ City string }
	if err := json.Unmarshal([]byte(got.Choices[0].Message.Content), &city); err != nil || city.City == "" {
		t.Errorf("%v %s", err, got.RawJSON())
	}
}

func (s *sdk) responses(t *testing.T, model string) {
	input := responses.ResponseNewParamsInputUnion{OfString: openai.String("count to 30")}
	stream := s.Responses.NewStreaming(t.Context(), responses.ResponseNewParams{Model: model, Input: input})
	text, completed := "", false
	for stream.Next() {
		event := stream.Current()
		if event.Type == "response.output_text.delta" {
			text += event.Delta
		}
		completed = completed || event.Type == "response.completed" && event.Response.OutputText() == text
	}
	if err := stream.Err(); err != nil || !completed || !strings.HasSuffix(text, "29 30") {
		t.Errorf("%v, %q, completed %v", err, text, completed)
	}
}

func (s *sdk) embeddings(t *testing.T) {
	got, err := s.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
		Model: "vectors", Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"one", "two"}},
	})
	if err != nil || len(got.Data) != 2 || len(got.Data[0].Embedding) < 8 {
		t.Errorf("%v %+v", err, got)
	}
}

func (s *sdk) errors(t *testing.T) {
	for model, want := range map[string]int{"nope": 404, "": 400} {
		var e *openai.Error
		if _, err := s.Chat.Completions.New(t.Context(), say(model, "x")); !errors.As(err, &e) || e.StatusCode != want {
			t.Errorf("%q: %v", model, err)
		}
	}
	s.upstream.Next(Behavior{Kind: "status", Status: 400})
	var e *openai.Error
	if _, err := s.Chat.Completions.New(t.Context(), say("only", "refused")); !errors.As(err, &e) || e.StatusCode != 400 || e.Message == "" {
		t.Errorf("%v", err)
	}
}

func (s *sdk) broken(t *testing.T) {
	for _, kind := range []string{"broken", "cut", "malformed", "error-event"} {
		s.upstream.Next(Behavior{Kind: kind})
		stream := s.Chat.Completions.NewStreaming(t.Context(), say("only", "count to 40 "+kind))
		chunks := 0
		for stream.Next() {
			chunks++
		}
		if stream.Err() == nil || chunks == 0 {
			t.Errorf("%s: %d chunks, error %v", kind, chunks, stream.Err())
		}
	}
}

func (s *sdk) abort(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := s.Chat.Completions.NewStreaming(ctx, say("only", "count to 5000, if there is time"))
	for range 20 {
		stream.Next()
	}
	cancel()
	left := time.Now()
	for {
		seen := s.upstream.Seen()
		if last := seen[len(seen)-1]; last.Done {
			if !last.Disconnected {
				t.Error("the provider sent the whole response")
			}
			return
		}
		if time.Since(left) > time.Second {
			t.Fatal("the upstream request is still active after a second")
		}
		time.Sleep(5 * time.Millisecond)
	}
}
