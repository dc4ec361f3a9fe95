package catalog_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
)

// maxBytes limits the size of the catalog. Its compiled form is part of the Worker and is read at every startup.
const maxBytes = 60_000

// file has the catalog's fields that the parser ignores.
type file struct {
	Sources map[string]string
	Models  []struct {
		Name, Source, Date string
		Aliases            []string
	}
	Tools     []struct{ Name, Source, Date string }
	Providers []struct {
		Name  string
		Wires []struct{ Name, Source, Date string }
	}
}

func parse(t *testing.T, env ...abi.Header) *config.Config {
	t.Helper()
	c, wrong := config.Parse(abi.Config{Catalog: catalog.Default, Env: env})
	if wrong != "" {
		t.Fatal(wrong)
	}
	return c
}

func read(t *testing.T) (f file) {
	t.Helper()
	if err := json.Unmarshal(catalog.JSON, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSize(t *testing.T) {
	if len(catalog.Default) > maxBytes {
		t.Errorf("the catalog has %d bytes, more than %d", len(catalog.Default), maxBytes)
	}
}

func TestProviders(t *testing.T) {
	c := parse(t)
	wires := map[string]string{
		"mock": "mock", "openai": "openai", "anthropic": "anthropic", "gemini": "gemini",
		"azure": "azure", "bedrock": "bedrock", "bedrock-mantle": "openai", "mistral": "mistral", "cohere": "cohere", "workers-ai": "workersai",
		"groq": "openai", "deepseek": "openai", "xai": "openai", "together": "openai", "fireworks": "openai",
		"openrouter": "openai", "perplexity": "openai", "cerebras": "openai", "nvidia": "openai",
		"ollama": "openai", "vllm": "openai", "lmstudio": "openai",
	}
	for i := range c.Providers {
		p := &c.Providers[i]
		if wire, ok := wires[p.Name]; !ok || wire != p.Wire {
			t.Errorf("%s has the wire format %q, want %q", p.Name, p.Wire, wire)
		}
		if p.Ready != (p.Name == "mock") {
			t.Errorf("%s: ready is %v although no variable is set", p.Name, p.Ready)
		}
		delete(wires, p.Name)
	}
	for name := range wires {
		t.Errorf("%s is missing", name)
	}
}

// TestEveryProviderHasModels excludes the mock, whose models are in the tests' overlays.
func TestEveryProviderHasModels(t *testing.T) {
	c := parse(t)
	chats, models := 0, map[string]int{}
	for i := range c.Models {
		models[c.Models[i].Provider.Name]++
		if c.Models[i].APIs&config.APIsOfChat != 0 {
			chats++
		}
	}
	for i := range c.Providers {
		if name := c.Providers[i].Name; models[name] == 0 && name != "mock" {
			t.Errorf("%s has no model", name)
		}
	}
	if chats < 60 {
		t.Errorf("%d chat models, want at least 60", chats)
	}
}

func TestSourcesAndDates(t *testing.T) {
	f := read(t)
	month := regexp.MustCompile(`^20[0-9]{2}-(0[1-9]|1[0-2])$`)
	used := map[string]bool{}
	for _, m := range f.Models {
		used[m.Source] = true
		if f.Sources[m.Source] == "" || !month.MatchString(m.Date) {
			t.Errorf("%s: source %q, date %q", m.Name, m.Source, m.Date)
		}
	}
	for _, tool := range f.Tools {
		used[tool.Source] = true
		if f.Sources[tool.Source] == "" || !month.MatchString(tool.Date) {
			t.Errorf("tool %s: source %q, date %q", tool.Name, tool.Source, tool.Date)
		}
	}
	for _, p := range f.Providers {
		for _, wire := range p.Wires {
			used[wire.Source] = true
			if f.Sources[wire.Source] == "" || !month.MatchString(wire.Date) {
				t.Errorf("%s on %s: source %q, date %q", p.Name, wire.Name, wire.Source, wire.Date)
			}
		}
	}
	for source := range f.Sources {
		if !used[source] {
			t.Errorf("no model or tool has the source %s", source)
		}
	}
}

// TestNamesAreUnique: names and aliases are unique and never start with "provider/".
func TestNamesAreUnique(t *testing.T) {
	c := parse(t)
	seen := map[string]string{}
	for _, m := range read(t).Models {
		for _, name := range append([]string{m.Name}, m.Aliases...) {
			if other := seen[name]; other != "" {
				t.Errorf("both %[2]s and %[3]s have the name %[1]s", name, other, m.Name)
			}
			seen[name] = m.Name
			for i := range c.Providers {
				if strings.HasPrefix(name, c.Providers[i].Name+"/") {
					t.Errorf("%s starts with a provider's name", name)
				}
			}
			if c.Tier(name) != nil || strings.HasPrefix(name, "/") || strings.ContainsFunc(name, unprintable) {
				t.Errorf("%q is not a valid name", name)
			}
		}
	}
}

func unprintable(r rune) bool { return r <= ' ' || r > '~' }

func TestPricesAreSane(t *testing.T) {
	c := parse(t)
	for i := range c.Models {
		m := &c.Models[i]
		p := &m.Prices
		switch wire := m.Provider.Wire; {
		case p.Cached > p.Input:
			t.Errorf("%s: cached input costs more than other input", m.Name)
		case p.Write < p.Input && p.Input > 0 || p.Write1h < p.Write:
			t.Errorf("%s: cache writes cost less than input, or 1-hour writes less than others", m.Name)
		case p.LongInput < p.Input || p.LongOutput < p.Output || p.LongCached < p.Cached:
			t.Errorf("%s: long prompts cost less", m.Name)
		case (p.LongAbove > 0) != (p.LongInput > p.Input):
			t.Errorf("%s: longAbove without a higher longInput, or the reverse", m.Name)
		case m.APIs&config.APIsOfChat != 0 && p.Output < p.Input && !strings.Contains(m.Name, "llama-guard"): // a classifier, whose output is one word
			t.Errorf("%s: output costs less than input", m.Name)
		case m.APIs == config.APIEmbeddings && p.Output != 0:
			t.Errorf("%s: an embedding model has an output price", m.Name)
		case wire == "anthropic" && (p.Write*4 != p.Input*5 || p.Write1h != p.Input*2):
			t.Errorf("%s: cache writes do not cost 1.25 and 2 times the input", m.Name)
		case p.Input == 0 && m.APIs != config.APIModerations && m.Provider.Name != "ollama" && m.Provider.Name != "vllm" && m.Provider.Name != "lmstudio":
			t.Errorf("%s is free", m.Name)
		case p.Input > 100_000_000 || p.Output > 200_000_000:
			t.Errorf("%s: implausibly high price", m.Name)
		case m.MaxOutput > 0 && m.MaxOutput > m.Context:
			t.Errorf("%s: maxOutput is larger than context", m.Name)
		}
	}
}

// TestFactors compares products of prices and factors with OpenAI's own lists of tiers, and checks the rules that all
// other factors follow.
func TestFactors(t *testing.T) {
	c := parse(t)
	for name, want := range map[string]struct{ input, cached, output int64 }{ // picodollars for a token
		"gpt-4.1": {3_500_000, 875_000, 14_000_000}, "gpt-4o": {4_250_000, 2_125_000, 17_000_000}, "gpt-4o-mini": {250_000, 125_000, 1_000_000},
		"o4-mini": {2_000_000, 500_000, 8_000_000}, "gpt-5-mini": {450_000, 45_000, 3_600_000}, "gpt-5.5": {12_500_000, 1_250_000, 75_000_000},
		"gpt-5.6-sol": {8_000_000, 800_000, 40_000_000}, "gpt-4.1-mini": {700_000, 175_000, 2_800_000}, "gpt-4.1-nano": {200_000, 50_000, 800_000},
		"gpt-4o-2024-11-20": {4_250_000, 2_125_000, 17_000_000}, "gpt-4o-2024-05-13": {8_750_000, 8_750_000, 26_250_000}, "o3": {3_500_000, 875_000, 14_000_000},
		"gpt-5.4": {5_000_000, 500_000, 30_000_000}, "gpt-5.4-mini": {1_500_000, 150_000, 9_000_000}, "gpt-5.2": {3_500_000, 350_000, 28_000_000},
		"gpt-5.1": {2_500_000, 250_000, 20_000_000}, "gpt-5": {2_500_000, 250_000, 20_000_000}, "gpt-5.3-codex": {3_500_000, 350_000, 28_000_000},
	} {
		m := c.Model(name)
		f, known := m.Factor("service_tier=priority")
		for price, want := range map[int64]int64{m.Prices.Input: want.input, m.Prices.Cached: want.cached, m.Prices.Output: want.output} {
			if got := price * int64(f.Num) / int64(f.Den); !known || got != want || price*int64(f.Num)%int64(f.Den) != 0 {
				t.Errorf("%s: %d picodollars at priority, want %d", name, got, want)
			}
		}
	}
	for i := range c.Models {
		m := &c.Models[i]
		for _, f := range m.Factors {
			switch cheap := f.Num < f.Den; {
			case cheap != (f.Term == "service_tier=flex") && m.Provider.Name != "groq":
				t.Errorf("%s: %s is %d/%d", m.Name, f.Term, f.Num, f.Den)
			case f.Num > 6*f.Den:
				t.Errorf("%s: implausibly high factor of %s", m.Name, f.Term)
			}
		}
	}
}

// TestTools: the tools that coding agents offer by default have prices, and other fields of the API are forwarded.
func TestTools(t *testing.T) {
	c := parse(t)
	for wire, names := range map[string][]string{
		"anthropic": {"web_search", "web_fetch", "bash", "text_editor", "memory", "code_execution", "tool_search_tool_regex"},
		"responses": {"web_search", "local_shell", "custom", "apply_patch", "image_generation", "mcp", "namespace", "tool_search"}, "openai": {"custom", "web_search_options"},
	} {
		for _, name := range names {
			if c.WireTool(wire, name) == nil {
				t.Errorf("%s has no price for %s", wire, name)
			}
		}
	}
	perplexity := c.Model("sonar-pro").Provider
	for name, want := range map[string]struct{ got, price int64 }{ // each has several prices, of which the catalog has the highest
		"web_search_preview without reasoning":  {c.WireTool("responses", "web_search_preview").Price, 25_000},
		"a large image of the best quality":     {c.WireTool("responses", "image_generation").Price, 1_000_000},
		"web_search_options without reasoning":  {c.WireTool("openai", "web_search_options").Price, 25_000},
		"sonar-pro with search_type pro":        {c.Tool(perplexity, "web_search_options").Price, 22_000},
		"five minutes of Anthropic's container": {c.WireTool("anthropic", "code_execution").Price, 4_167},
		"twenty minutes of OpenAI's of 64 GB":   {c.WireTool("responses", "code_interpreter.64g").Price, 1_920_000},
	} {
		if (want.got+999_999)/1_000_000 != want.price {
			t.Errorf("%s costs %d picodollars, want %d microdollars", name, want.got, want.price)
		}
	}
	for dialect, name := range map[string]string{"anthropic": "context_management", "anthropic-beta": "claude-code", "responses": "prompt_cache_key", "openai": "logit_bias"} {
		if !c.Forwards(dialect, name) || c.Forwards(dialect, "plugins") {
			t.Errorf("%s: %s is not forwarded, or plugins are", dialect, name)
		}
	}
}

// TestAPIs: models are called on the APIs that their providers document.
func TestAPIs(t *testing.T) {
	c := parse(t,
		abi.Header{Name: "AZURE_OPENAI_API_KEY", Value: "k"},
		abi.Header{Name: "AZURE_OPENAI_BASE_URL", Value: "https://x.openai.azure.com/openai/v1"},
	)
	for name, want := range map[string]string{
		"gpt-5.5": "openai responses", "gpt-5.4": "openai responses", "gpt-4o-mini": "openai responses", "gpt-5.5-pro": "responses",
		"gpt-5.3-codex": "responses", "gpt-5.6": "responses", "azure-gpt-5.5": "azure responses", "grok-4.7": "openai responses",
		"groq-gpt-oss-120b": "openai", "deepseek-v4-pro": "openai anthropic", "openrouter-kimi-k2.6": "openai responses anthropic",
		"qwen3": "openai responses anthropic", "vllm-qwen3-32b": "openai responses anthropic", "lmstudio-gpt-oss-20b": "openai responses anthropic",
		"fireworks-kimi-k2.6": "openai", "sonar": "openai", "claude-opus-5": "anthropic", "text-embedding-3-small": "openai",
		"omni-moderation-latest": "openai", "nomic-embed-text": "openai", "bedrock-gpt-oss-120b": "openai responses",
	} {
		if got := strings.Join(c.Model(name).Wires(), " "); got != want {
			t.Errorf("%s is called on %s, want %s", name, got, want)
		}
	}
	if m := c.Model("deepseek-v4-pro"); m.Others[0].BaseURL != "https://api.deepseek.com/anthropic/v1" {
		t.Errorf("DeepSeek's Messages are at %s", m.Others[0].BaseURL)
	}
	for i := range c.Models {
		m := &c.Models[i]
		for _, p := range m.Others {
			// A provider that uses another vendor's format does not have that vendor's prices for tools.
			if p.Name != "openai" && (c.Tool(p, "web_search") != nil || c.Tool(p, "code_interpreter") != nil || c.HighestPrice(p, 0) != 0) {
				t.Errorf("%s has provider tools on %s at another vendor's prices", m.Name, p.Wire)
			}
		}
	}
	if azure := c.Model("azure-gpt-5.5").Others[0]; c.Tool(azure, "custom") == nil || c.Tool(azure, "apply_patch") == nil {
		t.Error("Azure's Responses lack tools that the caller runs")
	}
}

func TestTiers(t *testing.T) {
	c := parse(t)
	first := map[string]string{"cheap": "gpt-4.1-nano", "balanced": "gpt-4.1-mini", "frontier": "gpt-5.4"}
	for i := range c.Tiers {
		tier := &c.Tiers[i]
		if target := tier.Targets[0]; target.Model.Name != first[tier.Name] || target.Weight != 1 {
			t.Errorf("%s starts with %s, weight %d", tier.Name, target.Model.Name, target.Weight)
		}
		providers := map[string]bool{}
		for _, target := range tier.Targets {
			providers[target.Model.Provider.Name] = true
			if target.Model.APIs&config.APIsOfChat == 0 {
				t.Errorf("%s has the embedding model %s", tier.Name, target.Model.Name)
			}
		}
		if len(providers) < 3 {
			t.Errorf("%s has only %d providers", tier.Name, len(providers))
		}
	}
	if len(c.Tiers) != len(first) {
		t.Errorf("%d tiers, want %d", len(c.Tiers), len(first))
	}
}

// TestExamplesResolve checks model names from the examples of SDKs and frameworks.
func TestExamplesResolve(t *testing.T) {
	c := parse(t)
	for name, provider := range map[string]string{
		"gpt-5.6": "openai", "openai-responses/gpt-5.6": "openai", "openai-responses/gpt-5.5": "openai", "openai/gpt-5.5-pro": "openai", "gpt-5.2": "openai", "gpt-5": "openai", "gpt-5-mini": "openai", "gpt-4.1": "openai",
		"gpt-4o": "openai", "gpt-4o-mini": "openai", "gpt-4": "openai", "gpt-3.5-turbo": "openai", "o3-mini": "openai",
		"o1": "openai", "gpt-4o-2024-08-06": "openai", "openai/gpt-4o": "openai", "text-embedding-3-small": "openai",
		"text-embedding-ada-002": "openai",
		"claude-opus-4-6":        "anthropic", "claude-sonnet-4-5-20250929": "anthropic", "claude-sonnet-4-5": "anthropic",
		"claude-haiku-4-5": "anthropic", "claude-sonnet-4-20250514": "anthropic", "claude-3-5-sonnet-latest": "anthropic",
		"claude-3-7-sonnet-20250219": "anthropic", "anthropic/claude-opus-4-8": "anthropic",
		"gemini-2.5-flash": "gemini", "gemini-2.5-pro": "gemini", "gemini-embedding-001": "gemini",
		"mistral-large-latest": "mistral", "mistral-small-latest": "mistral", "codestral-latest": "mistral",
		"mistral-embed": "mistral", "omni-moderation-2024-09-26": "openai", "mistral-moderation-latest": "mistral", "command-a-03-2025": "cohere", "embed-v4.0": "cohere",
		"deepseek/deepseek-v4-pro": "deepseek", "grok-4": "xai", "llama-3.3-70b-versatile": "groq",
		"groq/openai/gpt-oss-120b": "groq", "together/meta-llama/Llama-3.3-70B-Instruct-Turbo": "together",
		"fireworks/accounts/fireworks/models/gpt-oss-120b": "fireworks", "sonar-pro": "perplexity",
		"openrouter/qwen/qwen3-coder": "openrouter", "azure/gpt-4o": "azure", "ollama/llama3.2": "ollama",
		"@cf/meta/llama-3.3-70b-instruct-fp8-fast": "workers-ai", "@cf/baai/bge-m3": "workers-ai",
		"bedrock/amazon.nova-lite-v1:0": "bedrock", "amazon.titan-embed-text-v2:0": "bedrock",
	} {
		if m := c.Model(name); m == nil || m.Provider.Name != provider {
			t.Errorf("%s does not resolve to a model of %s", name, provider)
		}
	}
}

// TestSettings checks the base URLs that providers get from settings and variables.
func TestSettings(t *testing.T) {
	c := parse(t,
		abi.Header{Name: "AWS_SECRET_ACCESS_KEY", Value: "s"}, abi.Header{Name: "AWS_ACCESS_KEY_ID", Value: "a"},
		abi.Header{Name: "AWS_REGION", Value: "eu-west-1"},
		abi.Header{Name: "WORKERS_AI_API_TOKEN", Value: "t"}, abi.Header{Name: "CLOUDFLARE_ACCOUNT_ID", Value: "0123abcd"},
		abi.Header{Name: "AZURE_OPENAI_API_KEY", Value: "k"},
		abi.Header{Name: "AZURE_OPENAI_BASE_URL", Value: "https://x.openai.azure.com/openai/v1/"},
		abi.Header{Name: "OLLAMA_BASE_URL", Value: "http://localhost:11434/v1"},
		abi.Header{Name: "OPENAI_API_KEY", Value: "k"}, abi.Header{Name: "AWS_BEARER_TOKEN_BEDROCK", Value: "b"},
	)
	want := map[string]string{
		"mock": "", "bedrock": "https://bedrock-runtime.eu-west-1.amazonaws.com", "azure": "https://x.openai.azure.com/openai/v1",
		"workers-ai": "https://api.cloudflare.com/client/v4/accounts/0123abcd/ai", "ollama": "http://localhost:11434/v1",
		"openai": "https://api.openai.com/v1", "bedrock-mantle": "https://bedrock-mantle.eu-west-1.api.aws/v1",
	}
	for i := range c.Providers {
		p := &c.Providers[i]
		url, ready := want[p.Name]
		if p.Ready != ready || ready && p.BaseURL != url {
			t.Errorf("%s: ready is %v, base URL is %q", p.Name, p.Ready, p.BaseURL)
		}
	}
}
