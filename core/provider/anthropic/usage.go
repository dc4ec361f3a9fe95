package anthropic

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsonvalue"
	"github.com/postern-ai/postern/core/provider/wire"
)

const knownUsage = " input_tokens cache_read_input_tokens cache_creation_input_tokens cache_creation cache_creation. " +
	"cache_creation.ephemeral_5m_input_tokens cache_creation.ephemeral_1h_input_tokens output_tokens output_tokens_details " +
	"output_tokens_details. output_tokens_details.thinking_tokens server_tool_use server_tool_use. server_tool_use.web_search_requests " +
	"server_tool_use.web_fetch_requests service_tier speed inference_geo iterations fallback_credit "

// countCall counts the call of a provider tool in a content block. The usage has the number of searches that
// Anthropic charges for. It does not include failed searches. All code in a response runs in one container, which
// nothing else counts.
func countCall(u *chat.Usage, block gjson.Result) {
	if jsonvalue.String(block.Raw, "type") != "server_tool_use" {
		return
	}
	switch jsonvalue.String(block.Raw, "name") {
	case "web_search":
		wire.AddCalls(u, chat.Searches, 1)
	case "code_execution", "bash_code_execution", "text_editor_code_execution":
		u.Edit().Calls[chat.Containers] = 1
	}
}

// addCompaction adds the tokens used to summarize the conversation. They are listed under iterations, and the usage's
// own counts exclude them.
func addCompaction(u *chat.Usage, v gjson.Result) {
	list := jsonvalue.Get(v.Raw, "iterations")
	if !list.IsArray() {
		return
	}
	list.ForEach(func(_, step gjson.Result) bool {
		if jsonvalue.String(step.Raw, "type") == "compaction" {
			var tokens chat.Usage
			mergeUsage(&tokens, step)
			u.Input += tokens.Input
			u.CachedInput += tokens.CachedInput
			u.CacheWrite += tokens.CacheWrite
			u.CacheWrite1h += tokens.CacheWrite1h
			u.Output += tokens.Output
		}
		return true
	})
}
