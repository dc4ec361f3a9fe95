package provider_test

import (
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/core/provider/anthropic"
	"github.com/postern-ai/postern/core/provider/bedrock"
	"github.com/postern-ai/postern/core/provider/cohere"
	"github.com/postern-ai/postern/core/provider/gemini"
	"github.com/postern-ai/postern/core/provider/mistral"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/responses"
)

// parsers has each wire family's response parser, and the JSON around the usage in a response.
var parsers = map[string]struct {
	response   func(gjson.Result) (chat.Response, bool)
	head, tail string
}{
	"openai":    {openai.Response, `{"id":"x","choices":[{"index":0,"message":{"content":"ok"},"finish_reason":"stop"}],"usage":`, `}`},
	"mistral":   {mistral.Response, `{"id":"x","choices":[{"index":0,"message":{"content":"ok"},"finish_reason":"stop"}],"usage":`, `}`},
	"anthropic": {anthropic.Response, `{"id":"x","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":`, `}`},
	"gemini":    {gemini.Response, `{"candidates":[{"content":{"parts":[{"text":"ok"}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":`, `}`},
	"responses": {responses.Response, `{"id":"x","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}],"usage":`, `}`},
	"bedrock":   {bedrock.Response, `{"output":{"message":{"role":"assistant","content":[{"text":"ok"}]}},"stopReason":"end_turn","usage":`, `}`},
	"cohere":    {cohere.Response, `{"id":"x","message":{"role":"assistant","content":[{"type":"text","text":"ok"}]},"finish_reason":"COMPLETE","usage":`, `}`},
}

// TestCost checks the cost of usage in the format from each provider's API reference. The comments compute the cost
// by hand in picodollars. One dollar per million tokens is 1,000,000 per token.
func TestCost(t *testing.T) {
	for name, c := range map[string]struct {
		model, usage string
		want         money.Pico
	}{
		// 86 uncached × 2,500,000 + 1,920 cached × 1,250,000 + 300 × 10,000,000
		"OpenAI, cached": {"gpt-4o", `{"prompt_tokens":2006,"completion_tokens":300,"total_tokens":2306,
			"prompt_tokens_details":{"cached_tokens":1920,"audio_tokens":0},
			"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`, 5_615_000_000},
		// 75 × 2,000,000 + 1,186 × 8,000,000: completion_tokens includes reasoning
		"OpenAI, reasoning": {"o3", `{"prompt_tokens":75,"completion_tokens":1186,"total_tokens":1261,
			"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":1024}}`, 9_638_000_000},
		// 272,000 × 2,500,000 + 1 × 15,000,000
		"OpenAI, longest prompt at the standard price": {"gpt-5.4", `{"prompt_tokens":272000,"completion_tokens":1,"total_tokens":272001}`, 680_015_000_000},
		// 200,000 × 5,000,000 + 100,000 × 500,000 + 1,000 × 22,500,000
		"OpenAI, long prompt": {"gpt-5.4", `{"prompt_tokens":300000,"completion_tokens":1000,"total_tokens":301000,
			"prompt_tokens_details":{"cached_tokens":100000}}`, 1_072_500_000_000},
		// 2,095 × 3,000,000 + 18,000 × 300,000 + 1,000 × 3,750,000 + 400 × 6,000,000 + 503 × 15,000,000:
		// input_tokens excludes cached tokens
		"Anthropic, cache writes for 5 minutes and 1 hour": {"claude-sonnet-4-5-20250929", `{"input_tokens":2095,
			"cache_creation_input_tokens":1400,"cache_read_input_tokens":18000,
			"cache_creation":{"ephemeral_5m_input_tokens":1000,"ephemeral_1h_input_tokens":400},
			"output_tokens":503,"service_tier":"standard"}`, 25_380_000_000},
		// 2,095 × 3,000,000 + 18,000 × 300,000 + 1,400 × 3,750,000 + 503 × 15,000,000
		"Anthropic, cache writes without TTLs": {"claude-sonnet-4-5", `{"input_tokens":2095,"cache_creation_input_tokens":1400,
			"cache_read_input_tokens":18000,"output_tokens":503}`, 24_480_000_000},
		// 12 × 4,000,000 + 6 × 20,000,000
		"Anthropic, no cache": {"claude-opus-5-5", `{"input_tokens":12,"cache_creation_input_tokens":0,
			"cache_read_input_tokens":0,"output_tokens":6}`, 168_000_000},
		// 200 × 1,250,000 + 1,000 × 125,000 + (150 + 850) × 10,000,000
		"Gemini, thoughts and cached input": {"gemini-2.5-pro", `{"promptTokenCount":1200,"cachedContentTokenCount":1000,
			"candidatesTokenCount":150,"thoughtsTokenCount":850,"totalTokenCount":2200,
			"promptTokensDetails":[{"modality":"TEXT","tokenCount":1200}]}`, 10_375_000_000},
		// 250,000 × 2,500,000 + (500 + 500) × 15,000,000
		"Gemini, prompt above 200,000 tokens": {"gemini-2.5-pro", `{"promptTokenCount":250000,"candidatesTokenCount":500,
			"thoughtsTokenCount":500,"totalTokenCount":251000}`, 640_000_000_000},
		// 232 × 1,320,000 + 768 × 44,000 + 500 × 3,960,000
		"DeepSeek, cache hit and miss": {"deepseek-v4-pro", `{"prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500,
			"prompt_tokens_details":{"cached_tokens":768},"completion_tokens_details":{"reasoning_tokens":300},
			"prompt_cache_hit_tokens":768,"prompt_cache_miss_tokens":232}`, 2_320_032_000},
		// 27 × 1,250,000 + 98 × 200,000 + (48 + 310) × 2,500,000: completion_tokens excludes reasoning
		"xAI": {"grok-4.3", `{"prompt_tokens":125,"completion_tokens":48,"total_tokens":483,
			"prompt_tokens_details":{"text_tokens":125,"audio_tokens":0,"image_tokens":0,"cached_tokens":98},
			"completion_tokens_details":{"reasoning_tokens":310,"audio_tokens":0}}`, 948_350_000},
		// 16 × 150,000 + 34 × 600,000
		"Mistral": {"mistral-small-latest", `{"prompt_tokens":16,"completion_tokens":34,"total_tokens":50}`, 22_800_000},
		// 5 × 2,500,000 + 418 × 10,000,000: billed_units, not tokens
		"Cohere": {"command-a-03-2025", `{"billed_units":{"input_tokens":5,"output_tokens":418},
			"tokens":{"input_tokens":71,"output_tokens":418}}`, 4_192_500_000},
		// 18 × 590,000 + 556 × 790,000
		"Groq": {"llama-3.3-70b-versatile", `{"queue_time":0.037,"prompt_tokens":18,"prompt_time":0.0007,
			"completion_tokens":556,"completion_time":0.46,"total_tokens":574,"total_time":0.46}`, 449_860_000},
		// 100 × 971,442 + 10 × 1,942,884: prices with six decimals; OpenRouter's own cost is ignored
		"OpenRouter": {"openrouter/deepseek/deepseek-v4-pro", `{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110,
			"cost":0.00014,"is_byok":false,"prompt_tokens_details":{"cached_tokens":0},
			"completion_tokens_details":{"reasoning_tokens":0}}`, 116_573_040},
		// 14 × 1,000,000 + 200 × 1,000,000: only tokens, not Perplexity's request cost
		"Perplexity": {"sonar", `{"prompt_tokens":14,"completion_tokens":200,"total_tokens":214,"search_context_size":"low",
			"cost":{"input_tokens_cost":0.000014,"output_tokens_cost":0.0002,"request_cost":0.005,"total_cost":0.005214}}`, 214_000_000},
		// 1,000 × 150,000 + 500 × 75,000 + 200 × 600,000
		"Azure": {"azure/gpt-4o-mini", `{"prompt_tokens":1500,"completion_tokens":200,"total_tokens":1700,
			"prompt_tokens_details":{"cached_tokens":500}}`, 307_500_000},
		// 300 uncached × 2,000,000 + 600 read × 100,000 + 100 written × 2,500,000 + 200 × 10,000,000
		"OpenAI Responses": {"gpt-6.1-sol", `{"input_tokens":1000,"input_tokens_details":{"cached_tokens":600,"cache_write_tokens":100},
			"output_tokens":200,"output_tokens_details":{"reasoning_tokens":150},"total_tokens":1200}`, 2_910_000_000},
		// 100 × 3,000,000 + 1,000 read × 300,000 + 500 written × 3,750,000 + 50 × 15,000,000
		"Bedrock": {"global.anthropic.claude-sonnet-4-5-20250929-v1:0", `{"inputTokens":100,"outputTokens":50,"totalTokens":1650,
			"cacheReadInputTokens":1000,"cacheWriteInputTokens":500}`, 3_225_000_000},
		// Models on the operator's own server are free.
		"Ollama": {"llama3.2", `{"prompt_tokens":26,"completion_tokens":298,"total_tokens":324}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := model(t, c.model)
			wire := m.Provider.Wire
			if wire == "azure" { // Azure uses OpenAI's response format
				wire = "openai"
			}
			p := parsers[wire]
			response, ok := p.response(gjson.Parse(p.head + c.usage + p.tail))
			if !ok || !response.Usage.Reported {
				t.Fatalf("invalid response: %+v", response)
			}
			if got := m.Cost(&response.Usage); got != c.want {
				t.Errorf("%d picodollars, want %d, of %+v", got, c.want, response.Usage)
			}
		})
	}
}

func TestEmbeddingCost(t *testing.T) {
	e, ok := openai.EmbedResponse(gjson.Parse(`{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-0.2]}],
		"model":"text-embedding-3-small","usage":{"prompt_tokens":8,"total_tokens":8}}`))
	// 8 × 20,000
	if cost := model(t, "text-embedding-3-small").Cost(&e.Usage); !ok || cost != 160_000 {
		t.Errorf("%d picodollars of %+v", cost, e.Usage)
	}
}

func model(t *testing.T, name string) *config.Model {
	t.Helper()
	c, problem := config.Parse(abi.Config{Catalog: catalog.Default})
	if problem != "" {
		t.Fatal(problem)
	}
	m := c.Model(name)
	if m == nil {
		t.Fatalf("no model %s", name)
	}
	return m
}
