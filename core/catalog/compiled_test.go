package catalog_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
)

func TestDefaultIsCompiledFromJSON(t *testing.T) {
	compiled, problem := config.Compile(catalog.JSON)
	if problem != "" {
		t.Fatal(problem)
	}
	if !bytes.Equal(compiled, catalog.Default) {
		t.Error("catalog.bin is not compiled from catalog.json; run make generate")
	}
}

// TestDefaultReadsLikeJSON compares both forms, with variables and overlays that use every kind of declaration.
func TestDefaultReadsLikeJSON(t *testing.T) {
	for name, env := range map[string][]abi.Header{
		"none": nil,
		"variables": {
			{Name: "OPENAI_API_KEY", Value: "k"}, {Name: "AWS_BEARER_TOKEN_BEDROCK", Value: "b"}, {Name: "AWS_REGION", Value: "eu-west-1"},
			{Name: "OLLAMA_BASE_URL", Value: "http://localhost:11434/v1"}, {Name: "CLOUDFLARE_ACCOUNT_ID", Value: "0123abcd"},
		},
		"faulty variable": {{Name: "AWS_REGION", Value: "a b"}},
		"faulty URL":      {{Name: "OPENAI_BASE_URL", Value: "localhost"}},
		"overlay": {{Name: config.EnvCatalog, Value: `{"version":"2","providers":[{"name":"openai","wire":"openai","baseUrl":"https://x.example"}],
			"models":[{"name":"gpt-4o","provider":"groq","input":1,"output":2}],"tiers":[{"name":"cheap","targets":[{"model":"gpt-4o"}]}],
			"plans":[{"name":"free","budget":"1"}],"sources":{"x":"y"},"routing":{"retries":1}}`}},
		"faulty overlay": {{Name: config.EnvCatalog, Value: `{"models":[{"name":"m","provider":"p","input":1,"output":2}]}`}},
	} {
		want, wantProblem := config.Parse(abi.Config{Catalog: catalog.JSON, Env: env})
		got, problem := config.Parse(abi.Config{Catalog: catalog.Default, Env: env})
		if problem != wantProblem {
			t.Errorf("%s: the problem is %q, want %q", name, problem, wantProblem)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the compiled catalog differs from its JSON", name)
		}
	}
}
