package postern_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	postern "github.com/postern-ai/postern/clients/go"
)

type tree struct {
	Name     string `json:"name"`
	Children []tree `json:"children,omitempty"`
}

type base struct {
	ID   int    `json:"id"`
	Kind string `json:"kind"`
}

func TestSchemaOf(t *testing.T) {
	type all struct {
		base
		Kind   bool              `json:"kind"`
		Scores []float64         `json:"scores"`
		Labels map[string]string `json:"labels,omitempty"`
		At     time.Time         `json:"at"`
		Parent *tree             `json:"parent"`
		Any    any               `json:"any"`
		Count  int64             `json:"count,string"`
		Plain  string
		Hidden string `json:"-"`
		unseen string
	}
	_ = all{}.unseen
	for want, got := range map[string]json.RawMessage{
		`{"type":"string"}`: postern.SchemaOf[string](),
		`{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{}}},"required":["name"]}`: postern.SchemaOf[*tree](),
		`{"type":"object","properties":{"kind":{"type":"boolean"},"scores":{"type":"array","items":{"type":"number"}},` +
			`"labels":{"type":"object","additionalProperties":{"type":"string"}},"at":{"type":"string","format":"date-time"},` +
			`"parent":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{}}},"required":["name"]},` +
			`"any":{},"count":{"type":"string"},"Plain":{"type":"string"},"id":{"type":"integer"}},` +
			`"required":["kind","scores","at","any","count","Plain","id"]}`: postern.SchemaOf[all](),
	} {
		if string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func smokeNative(t *testing.T, g gateway) {
	ctx := context.Background()
	client := g.client(t, g.DevelopmentKey)
	type place struct {
		City string `json:"city"`
	}
	params := postern.CompletionParams{
		Messages: []postern.Message{postern.User("Weather?")},
		Tools:    []postern.Tool{{Name: "weather", Parameters: postern.SchemaOf[place]()}},
	}
	asked, err := client.AI.Complete(ctx, params)
	if err != nil || len(asked.ToolCalls) != 1 || asked.ToolCalls[0].Name != "weather" || asked.FinishReason != postern.FinishToolCalls {
		t.Fatalf("tool call: %+v, %v", asked, err)
	}
	streamed, err := client.AI.Chat(ctx, params).Final()
	if err != nil || len(streamed.ToolCalls) != 1 || string(streamed.ToolCalls[0].Arguments) != string(asked.ToolCalls[0].Arguments) {
		t.Errorf("streamed tool call: %+v, %v", streamed, err)
	}
	params.Messages = append(params.Messages,
		postern.Message{Role: postern.RoleAssistant, ToolCalls: asked.ToolCalls}, postern.ToolResult(asked.ToolCalls[0].ID, "rain"))
	params.ToolChoice = &postern.ToolChoice{Mode: postern.ToolNone}
	answer, err := client.AI.Complete(ctx, params)
	if err != nil || len(answer.ToolCalls) != 0 || answer.FinishReason != postern.FinishStop {
		t.Errorf("after the result: %+v, %v", answer, err)
	}
	params.Tools = nil
	_, err = client.AI.Complete(ctx, params)
	var bad *postern.BadRequestError
	if !errors.As(err, &bad) || bad.Details[0].Field != "toolChoice" {
		t.Errorf("a choice without tools: %v", err)
	}
	parts := []postern.ContentPart{postern.TextPart("What is this?"), postern.ImagePart("data:image/png;base64,iVBORw0KGgo=")}
	named := postern.CompletionParams{Model: asked.Model, Messages: []postern.Message{{Role: postern.RoleUser, Parts: parts}}}
	found, err := postern.CompleteJSON[place](ctx, client, named)
	if err != nil || found.Model != asked.Model {
		t.Errorf("a struct: %+v, %v", found, err)
	}
	vectors, err := client.AI.Embed(ctx, postern.EmbedParams{Model: "text-embedding-3-small", Input: []string{"one", "two"}, Dimensions: 4})
	if err != nil || len(vectors.Embeddings) != 2 || len(vectors.Embeddings[1]) != 4 {
		t.Errorf("embeddings: %+v, %v", vectors, err)
	}
	var missing *postern.NotFoundError
	if _, err := client.AI.Embed(ctx, postern.EmbedParams{Model: "no-such-model", Input: []string{"one"}}); !errors.As(err, &missing) {
		t.Errorf("an unknown model: %v", err)
	}
}
