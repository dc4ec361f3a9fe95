package config

import (
	"slices"
	"strings"
)

// MaxHeaderBytes is the maximum size of a caller's header that is forwarded.
const MaxHeaderBytes = 1024

// CallerHeader is a request header that providers may get from callers.
type CallerHeader struct {
	Name string
	// Vendor is the dialect family that the header belongs to.
	Vendor string
	// Answers means that the response may depend on the value, so the value is part of the cache key.
	Answers bool
	// Listed means that the value is a list. Only the values that the catalog lists under the header's name are
	// forwarded, because others may change the price.
	Listed bool
}

// CallerHeaders are the headers that a provider's "headers" may name. Hosts pass only these to the core. A mistake in
// a catalog therefore cannot forward credentials, cookies, addresses or descriptions of a workspace. Sources: the
// requests that Codex 0.169, Claude Code 2.1.330, OpenCode 1.18 and Pi 0.87 send to their providers, recorded and
// read in 2026-11; platform.claude.com/docs/en/api/versioning and .../beta-headers;
// docs.fireworks.ai/guides/prompt-caching and developers.cloudflare.com/workers-ai/features/prompt-caching
// (x-session-affinity), and session_id in OpenRouter's OpenAPI specification (x-session-id), read in 2026-11. With
// the last two headers, requests with the same value reach the instance that has their prefix in its cache.
var CallerHeaders = []CallerHeader{
	{Name: "anthropic-beta", Vendor: "anthropic", Answers: true, Listed: true},
	{Name: "anthropic-version", Vendor: "anthropic", Answers: true},
	{Name: "openai-beta", Vendor: "openai", Answers: true, Listed: true},
	{Name: "originator", Vendor: "openai", Answers: true},
	{Name: "x-openai-internal-codex-responses-lite", Vendor: "openai", Answers: true},
	// These tell a provider which requests belong together, as prompt_cache_key does.
	{Name: "session-id", Vendor: "openai"},
	{Name: "session_id", Vendor: "openai"}, // Pi's spelling
	{Name: "thread-id", Vendor: "openai"},
	{Name: "x-client-request-id", Vendor: "openai"},
	{Name: "x-session-affinity", Vendor: "openai"},
	{Name: "x-session-id", Vendor: "openai"},
}

// anthropicHeaders are the headers of a provider that uses Anthropic's format and names no headers.
var anthropicHeaders = []string{"anthropic-beta", "anthropic-version"}

// headers reads which of the callers' headers a provider gets.
func (p *parser) headers(provider *Provider, o *object) {
	provider.Headers = o.names("headers")
	if !o.get("headers").Exists() && provider.Wire == "anthropic" {
		provider.Headers = anthropicHeaders
	}
	for _, name := range provider.Headers {
		if names := callerHeaderNames(); !slices.Contains(names, name) {
			p.failIn("headers of provider " + provider.Name + " must be among " + strings.Join(names, ", ") + ", got " + quote(name))
		}
	}
}

func callerHeaderNames() (names []string) {
	for i := range CallerHeaders {
		names = append(names, CallerHeaders[i].Name)
	}
	return names
}

// Gets reports whether the provider gets the given header from callers.
//
//go:noinline
func (p *Provider) Gets(header string) bool { return slices.Contains(p.Headers, header) }

// The endpoints other than completions that a provider may have.
const (
	ServesCompact     = "compact"      // POST /v1/responses/compact
	ServesInputTokens = "input_tokens" // POST /v1/responses/input_tokens
)

// serves reads which endpoints other than completions a provider has.
func (p *parser) serves(provider *Provider, o *object) {
	provider.Endpoints = o.names("serves")
	for _, name := range provider.Endpoints {
		if name != ServesCompact && name != ServesInputTokens {
			p.failIn("serves of provider " + provider.Name + " must be " + ServesCompact + " or " + ServesInputTokens + ", got " + quote(name))
		}
	}
}

// Serves reports whether the provider has the given endpoint. The mock has all endpoints.
func (p *Provider) Serves(endpoint string) bool {
	return p.Wire == MockWire || slices.Contains(p.Endpoints, endpoint)
}
