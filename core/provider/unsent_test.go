package provider_test

import (
	"testing"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/provider"
	"github.com/postern-ai/postern/core/provider/wire"
)

// TestUnsent: if the provider's request does not contain a parameter as the caller sent it, the parameter is noted.
func TestUnsent(t *testing.T) {
	both := chat.Request{Temperature: "0.5", TopP: "0.9", TopK: "3"}
	think := func(effort string) chat.Request {
		return chat.Request{Temperature: "1.5", MaxTokens: 100, Reasoning: chat.Reasoning{Effort: effort}}
	}
	forced := think("low")
	forced.Tools, forced.ToolChoice.Choice = []chat.Tool{{Name: "a"}}, chat.ChoiceAny
	own := both
	own.Dialect = chat.Anthropic
	const sonnet45, sonnet46, nova = "anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic.claude-sonnet-4-6", "amazon.nova-2-lite-v1:0"
	for _, c := range []struct {
		wire, model string
		max         uint64
		request     chat.Request
		want        string
	}{
		{"anthropic", "claude-sonnet-4-6", 0, both, "top_p"}, {"anthropic", "claude-sonnet-4-6", 0, own, ""},
		{"anthropic", "claude-sonnet-4-6", 0, chat.Request{TopP: "0.9"}, ""}, {"anthropic", "claude-sonnet-4-6", 0, chat.Request{Temperature: "1.5"}, "temperature"},
		{"anthropic", "claude-sonnet-4-6", 0, think("xhigh"), "temperature,reasoning"}, {"anthropic", "claude-opus-4-7", 0, think("xhigh"), "temperature"},
		{"anthropic", "claude-sonnet-4-6", 0, think("minimal"), "temperature,reasoning"}, {"anthropic", "claude-sonnet-4-5", 0, forced, "temperature,reasoning"},
		{"anthropic", "claude-sonnet-4-5", 0, think("low"), "temperature"}, {"anthropic", "claude-sonnet-4-5", 200, think("low"), "temperature,reasoning"},
		{"bedrock", sonnet46, 0, both, "top_p"}, {"bedrock", sonnet46, 0, think("high"), "temperature"}, {"bedrock", sonnet46, 0, think("xhigh"), "temperature,reasoning"},
		{"bedrock", sonnet45, 0, forced, "temperature,reasoning"}, {"bedrock", nova, 0, both, ""}, {"bedrock", nova, 0, think("medium"), "temperature"},
		{"bedrock", nova, 0, think("xhigh"), "temperature,reasoning"}, {"bedrock", "meta.llama3", 0, both, "top_k"}, {"bedrock", "meta.llama3", 0, think("low"), "temperature,reasoning"},
		{"gemini", "gemini-3-pro", 0, think("xhigh"), "reasoning"}, {"gemini", "gemini-3-pro", 0, think("high"), ""}, {"openai", "m", 0, think("xhigh"), ""},
	} {
		f, ok := provider.For(c.wire)
		if !ok {
			t.Fatal(c.wire)
		}
		call := &wire.Call{Model: &config.Model{Provider: &config.Provider{}, Upstream: c.model, MaxOutput: c.max}, Request: &c.request}
		if f.Request(call); string(call.Unsent.AppendNames(nil)) != c.want {
			t.Errorf("%s %s: %s, want %q", c.wire, c.model, call.Unsent.AppendNames(nil), c.want)
		}
	}
}
