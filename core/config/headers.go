package config

import (
	"slices"
	"strings"
)

// MaxHeaderBytes is the size of a caller's header that is forwarded.
const MaxHeaderBytes = 1024

// CallerHeader is a request header that providers may get from callers.
type CallerHeader struct {
	Name string
	// Vendor is the dialect family that the header belongs to.
	Vendor string
	// Answers means that the response may depend on the value: it is part of the cache's key.
	Answers bool
	// Listed means that the value is a list, of which the catalog's members of the same name are forwarded: others may
	// change the price.
	Listed bool
}

// CallerHeaders are the headers that a provider's "headers" may name. Hosts pass these to the core and no others, so that
// credentials, cookies, addresses and what describes a workspace cannot be forwarded by a mistake in a catalog.
// Sources: what Codex 0.169, Claude Code 2.1.330, OpenCode 1.18 and Pi 0.87 send to their providers, recorded and read in 2026-11;
// platform.claude.com/docs/en/api/versioning and .../beta-headers; docs.fireworks.ai/guides/prompt-caching and
// developers.cloudflare.com/workers-ai/features/prompt-caching (x-session-affinity), and session_id in OpenRouter's OpenAPI
// specification (x-session-id): requests with the same value reach the instance that has their prefix in its cache, 2026-11.
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

// anthropicHeaders are those of a provider that speaks Anthropic's format and names none.
var anthropicHeaders = []string{"anthropic-beta", "anthropic-version"}

// headers reads which headers of its callers a provider gets.
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

// Gets reports whether the provider gets a header of its callers.
//
//go:noinline
func (p *Provider) Gets(header string) bool { return slices.Contains(p.Headers, header) }

// The endpoints beside a completion that a provider may have.
const (
	ServesCompact     = "compact"      // POST /v1/responses/compact
	ServesInputTokens = "input_tokens" // POST /v1/responses/input_tokens
)

// serves reads the endpoints beside completions that a provider has.
func (p *parser) serves(provider *Provider, o *object) {
	provider.Endpoints = o.names("serves")
	for _, name := range provider.Endpoints {
		if name != ServesCompact && name != ServesInputTokens {
			p.failIn("serves of provider " + provider.Name + " must be " + ServesCompact + " or " + ServesInputTokens + ", got " + quote(name))
		}
	}
}

// Serves reports whether the provider has an endpoint beside completions. The mock has all.
func (p *Provider) Serves(endpoint string) bool {
	return p.Wire == MockWire || slices.Contains(p.Endpoints, endpoint)
}
