package exchange

import (
	legacy "github.com/postern-ai/postern/core/api/completions"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/provider"
	"github.com/postern-ai/postern/core/provider/openai"
)

// completions describes the provider calls of endpoints that return a completion.
var completions = calls{
	noun: "a chat model", family: provider.For, build: (*exchange).sendCompletion, read: (*exchange).readCompletion,
	mock: (*exchange).mockCompletion, outputs: true,
}

// endpoints is the table of the core's endpoints. If control.Serves names a path, the path is forwarded to the
// control plane. All other paths do not exist. Add new rows at the end: hosts store a row's index while a request
// runs.
var endpoints = [...]endpoint{
	{}, // an unknown path or a control plane path
	{
		method: "POST", path: "/api/ai/complete", operation: "complete", scenario: "complete", needs: doc.MayComplete, dialect: chat.Native,
		body: jsonBody, policy: choosesModel, repeats: true,
		parse: (*exchange).parseCompletion, admit: (*exchange).admitCompletion, serve: (*exchange).serveCompletion,
		api: config.APIChat, texts: texts{request: inspect.NativeRequest, response: inspect.NativeAnswer, checked: true, judged: true}, calls: completions,
	},
	{
		method: "POST", path: "/api/ai/chat", operation: "chat", scenario: "chat", needs: doc.MayComplete, dialect: chat.Native,
		body: jsonBody, policy: choosesModel, streams: true, repeats: true,
		parse: (*exchange).parseCompletion, admit: (*exchange).admitCompletion, serve: (*exchange).serveCompletion,
		api: config.APIChat, texts: texts{request: inspect.NativeRequest, response: inspect.NativeAnswer, checked: true, judged: true}, calls: completions,
	},
	{
		method: "POST", path: "/v1/chat/completions", operation: "chatCompletions", scenario: "openai", needs: doc.MayComplete, dialect: chat.OpenAI,
		body: jsonBody, policy: choosesModel, streams: true, repeats: true,
		parse: (*exchange).parseCompletion, admit: (*exchange).admitCompletion, serve: (*exchange).serveCompletion,
		api: config.APIChat, texts: texts{request: inspect.OpenAIRequest, response: inspect.OpenAIAnswer, checked: true, judged: true}, calls: completions,
	},
	{
		method: "POST", path: "/v1/responses", operation: "responses", scenario: "responses", needs: doc.MayComplete, dialect: chat.Responses,
		body: jsonBody, policy: choosesModel, streams: true, repeats: true,
		parse: (*exchange).parseCompletion, admit: (*exchange).admitCompletion, serve: (*exchange).serveCompletion,
		api: config.APIResponses, texts: texts{request: inspect.ResponsesRequest, response: inspect.ResponsesAnswer, checked: true, judged: true}, calls: completions,
	},
	{
		method: "POST", path: "/v1/messages", operation: "messages", scenario: "anthropic", needs: doc.MayComplete, dialect: chat.Anthropic,
		body: jsonBody, policy: choosesModel, streams: true, repeats: true,
		parse: (*exchange).parseCompletion, admit: (*exchange).admitCompletion, serve: (*exchange).serveCompletion,
		api: config.APIMessages, texts: texts{request: inspect.AnthropicRequest, response: inspect.AnthropicAnswer, checked: true, judged: true}, calls: completions,
	},
	{
		method: "POST", path: "/v1/messages/count_tokens", operation: "countTokens", scenario: "anthropic", needs: doc.MayComplete, dialect: chat.Anthropic,
		body: jsonBody, policy: choosesModel,
		parse: (*exchange).parseCount, admit: (*exchange).admitCount, serve: (*exchange).countTokens,
		api: config.APIMessages, texts: texts{request: inspect.AnthropicRequest}, calls: calls{
			noun: "a chat model", purpose: ForCount, family: provider.For,
		},
	},
	{
		method: "POST", path: "/api/governor/validate", operation: "validate", scenario: "governorvalidate", needs: doc.MayValidate, dialect: chat.Native,
		body: jsonBody, policy: checksTexts,
		parse: (*exchange).parseValidation, admit: (*exchange).admitValidation, serve: (*exchange).respondValidation,
		texts: texts{always: true},
	},
	{
		method: "POST", path: "/v1/embeddings", operation: "embeddings", scenario: "openai", needs: doc.MayEmbed, dialect: chat.OpenAI,
		body: jsonBody, policy: choosesModel, repeats: true,
		parse: (*exchange).parseEmbeddings, admit: (*exchange).admitCompletion, serve: (*exchange).serveCompletion,
		api: config.APIEmbeddings, texts: texts{request: inspect.EmbeddingsRequest}, calls: calls{
			noun: "an embedding model", purpose: ForEmbeddings, variant: 1, family: provider.For, rebuilds: true,
			build: (*exchange).sendEmbeddings, read: (*exchange).readEmbeddings, mock: (*exchange).mockEmbeddings,
		},
	},
	{
		method: "GET", path: "/v1/models", operation: "models", scenario: "models", needs: doc.MayListModels, dialect: chat.OpenAI,
		policy: listsModels, admit: (*exchange).admitUncounted, serve: (*exchange).serveModels,
	},
	{
		method: "GET", path: "/v1/models/{model}", operation: "model", name: "/v1/models/", scenario: "openai", needs: doc.MayListModels, dialect: chat.OpenAI,
		unlisted: true, policy: listsModels, admit: (*exchange).admitUncounted, serve: (*exchange).serveModels,
	},
	{
		method: "GET", path: "/api/usage", operation: "usage", scenario: "usage", needs: doc.MaySeeUsage, dialect: chat.Native,
		admit: (*exchange).admitUncounted, serve: (*exchange).usage,
	},
	{
		method: "GET", path: "/api/health", operation: "health", scenario: "auth", dialect: chat.Native,
		admit: (*exchange).admitUncounted, serve: (*exchange).health,
	},
	{
		method: "GET", path: "/", operation: "root", scenario: "http", keyless: true, unlisted: true, dialect: chat.Native,
		serve: (*exchange).respondRoot,
	},
	{
		method: "POST", path: "/v1/moderations", operation: "moderations", scenario: "moderations", needs: doc.MayComplete, dialect: chat.OpenAI,
		body: jsonBody, policy: choosesModel,
		parse: (*exchange).parseModerations, admit: (*exchange).admitUncached, serve: (*exchange).serveCompletion,
		api: config.APIModerations, texts: texts{request: inspect.OpenAIRequest}, calls: calls{
			noun: "a moderation model", purpose: ForModerations, family: provider.Moderations,
			build: (*exchange).refuseModerations, read: (*exchange).readModerations, mock: (*exchange).mockModerations,
		},
	},
	{
		method: "POST", path: "/v1/completions", operation: "completions", scenario: "completions", needs: doc.MayComplete, dialect: chat.OpenAI,
		format: legacy.Family, body: jsonBody, policy: choosesModel, streams: true, repeats: true,
		parse: (*exchange).parseTexts, admit: (*exchange).admitCompletion, serve: (*exchange).serveCompletion,
		api: config.APICompletions, texts: texts{request: inspect.OpenAIRequest, checked: true, judged: true, folded: true}, calls: calls{
			noun: "a completion model", variant: 4, family: openai.Completions, build: (*exchange).sendCompletion, read: (*exchange).readCompletion,
			mock: (*exchange).mockTexts, outputs: true,
		},
	},
	{
		method: "POST", path: "/v1/responses/compact", operation: "compactResponse", scenario: "beside", needs: doc.MayComplete, dialect: chat.Responses,
		body: jsonBody, policy: choosesModel, repeats: true,
		parse: (*exchange).parseCompaction, admit: (*exchange).admitUncached, serve: (*exchange).serveCompletion,
		api: config.APIResponses, texts: texts{request: inspect.ResponsesRequest, response: inspect.ResponsesAnswer, checked: true, judged: true}, calls: calls{
			noun: "a chat model", purpose: ForCompaction, variant: 8, family: provider.Compaction, build: (*exchange).sendCompaction,
			read: (*exchange).readCompaction, mock: (*exchange).mockCompaction, outputs: true, unlimited: true, native: config.ServesCompact,
		},
	},
	{
		method: "POST", path: "/v1/responses/input_tokens", operation: "inputTokens", scenario: "beside", needs: doc.MayComplete, dialect: chat.Responses,
		body: jsonBody, policy: choosesModel,
		parse: (*exchange).parseInputTokens, admit: (*exchange).admitCount, serve: (*exchange).countTokens,
		api: config.APIResponses, texts: texts{request: inspect.ResponsesRequest}, calls: calls{
			noun: "a chat model", purpose: ForCount, family: provider.InputTokens, native: config.ServesInputTokens,
		},
	},
	{
		method: "POST", path: "/api/ai/embed", operation: "embed", scenario: "embed", needs: doc.MayEmbed, dialect: chat.Native,
		body: jsonBody, policy: choosesModel, repeats: true,
		parse: (*exchange).parseEmbed, admit: (*exchange).admitCompletion, serve: (*exchange).serveCompletion,
		api: config.APIEmbeddings, texts: texts{request: inspect.EmbeddingsRequest}, calls: calls{
			noun: "an embedding model", purpose: ForEmbeddings, variant: 1, family: provider.For, rebuilds: true,
			build: (*exchange).sendEmbeddings, read: (*exchange).readEmbeddings, mock: (*exchange).mockEmbeddings, stored: (*exchange).embedded,
		},
	},
	{
		method: "POST", path: "/api/ai/count-tokens", operation: "countNativeTokens", scenario: "count", needs: doc.MayComplete, dialect: chat.Native,
		body: jsonBody, policy: choosesModel,
		parse: (*exchange).parseCompletion, admit: (*exchange).admitCount, serve: (*exchange).countTokens,
		api: config.APIChat, texts: texts{request: inspect.NativeRequest}, calls: calls{
			noun: "a chat model", purpose: ForCount, family: provider.For, build: (*exchange).sendCount,
		},
	},
}
