package header

import "github.com/postern-ai/postern/core/abi"

// Way says between which programs a header is sent.
type Way uint8

// The values of Way.
const (
	Request      Way = iota + 1 // from a caller to the gateway's endpoints
	Response                    // from the gateway's endpoints to a caller
	AdminRequest                // from a browser or an operator's program to the admin API and the dashboard
	AdminResponse
	ToProvider // also to a project's classifier
	FromProvider
	Webhook
	Internal // between a deployment's gateway and its control plane
)

// Doc explains a header. Its texts are single lines of Markdown.
type Doc struct {
	Name    string // in lower case
	Way     Way
	Values  string // a form or a list of values
	When    string // when the header is present or read
	Meaning string // sentences
}

// All returns every header that Postern reads or writes, grouped by its way. It does not include callers' headers
// that a provider may get, because config.CallerHeaders lists them.
func All() []Doc {
	var all []Doc
	for _, part := range [][]Doc{
		requests(), outcomes(), limits(), standard(), adminRequests(), adminResponses(), toProviders(), fromProviders(), webhooks(), internals(),
	} {
		all = append(all, part...)
	}
	return all
}

func requests() []Doc {
	return []Doc{
		{"authorization", Request, "`Bearer KEY`", "every endpoint except `GET /`", "The API key. A value that is not a well-formed Postern key is ignored if `x-api-key` has one."},
		{"x-api-key", Request, "`KEY`", "every endpoint except `GET /`", "The API key, in place of `authorization`. Two different Postern keys in one request are refused with 400."},
		{"content-type", Request, "`application/json`", "requests with a body", "Required. Another type is refused with 415."},
		{"content-encoding", Request, "`identity`", "requests with a body", "Bodies must not be compressed. Another value is refused with 415."},
		{"content-length", Request, "bytes", "requests with a body", "If the announced size is too large, the request is refused with 413, and its body is not read."},
		{"transfer-encoding", Request, "`chunked`", "`postern serve`", "A body whose size is not known at the start. A connection whose request also has `content-length` is closed."},
		{"cache-control", Request, "`no-store`, `no-cache`, `max-age=N`", "completions and embeddings", "`no-store` neither reads nor writes the response cache. `no-cache` does not read it. `max-age=N` accepts a cached response that is at most N seconds old."},
		{"idempotency-key", Request, "1 to 255 printable ASCII characters", "completions and embeddings", "Makes the request safe to repeat: for 24 hours, the same request with the same key gets the stored response, at no charge."},
		{Rerun, Request, "`true`, `false`", "with `idempotency-key`", "`true` runs the request again if the outcome of the earlier one is unknown (409 `idempotency_outcome_unknown`). A provider may then execute and charge it twice. In all other cases, the header changes nothing."},
		{Strict, Request, "`true`, `false` (default)", "requests with a body", "`true` refuses the request with 400 if a part of it would be left out. Otherwise, `x-postern-dropped-params` names the part."},
		{Govern, Request, "`strict`, `threshold=N`, or both, separated by a comma; N is 0 to 100", "requests with a body, if the project uses the Governor", "Tightens the project's policy for this request: `strict` blocks what would go to review, and `threshold=N` lowers the highest risk that is approved. The header cannot loosen the policy."},
		{"accept", Request, "media types", "`GET /`", "The overview is an HTML page if the client prefers `text/html`, and otherwise JSON."},
		{"anthropic-version", Request, "a date", "`GET /v1/models`, `/v1/messages`", "Lists of models have Anthropic's format if the header is present. Providers that speak Anthropic's format get it."},
		{"upgrade", Request, "`websocket`", "endpoints with a method other than `GET`", "Refused with 426, so that clients fall back to HTTP."},
		{"user-agent", Request, "`NAME/VERSION …`", "every endpoint", "The list of recent requests shows the names and versions of programs, without comments. Providers do not get it."},
		{"traceparent", Request, "W3C trace context", "`postern serve` with traces", "The trace of the request continues the caller's. A malformed or repeated header is ignored."},
		{"tracestate", Request, "W3C trace context", "with `traceparent`", "The vendors' part of the trace context."},
		{"x-forwarded-for", Request, "addresses", "`postern serve`, from a network of `POSTERN_TRUSTED_PROXIES`", "The client's address is the last one that does not belong to a trusted proxy."},
		{"cf-connecting-ip", Request, "an address", "on Cloudflare", "The client's address, which Cloudflare sets."},
		{"expect", Request, "`100-continue`", "`postern serve`", "The server asks for the body only after it has accepted the head of the request."},
	}
}

// outcomes returns the headers that say how a request was served.
func outcomes() []Doc {
	const served = "served completions and embeddings"
	return []Doc{
		{Provider, Response, "a provider's name", served, "The provider that served the request."},
		{Model, Response, "a model's name", served, "The model that served the request. It differs from the requested name for tiers and aliases, and after a fallback."},
		{Cache, Response, "`hit`, `miss`, `bypass`", served, "`hit`: the response comes from the cache. `miss`: the cache does not have it. `bypass`: the cache was not read."},
		{CostCents, Response, "cents, a decimal number", served + ", except streams that are not from the cache", "The cost of the request. A stream's cost is known when it ends: its last event has it."},
		{PriceVersion, Response, "16 hexadecimal digits", served, "A hash of all prices of the deployment. It identifies the prices that were used to compute the cost."},
		{Attempts, Response, "`N`, or `N; PROVIDER/MODEL=RESULT, …`", served + ", and errors after a call to a provider", "The number of calls to providers, and the target and result of each call, in order: a status, a word such as `timeout` or `unreachable`, or the code of the error that ended a stream. `0` for a response from the cache or in test mode."},
		{DroppedParams, Response, "names, separated by commas", "if a part of the request was left out", "The parameters, tools, fields and headers that the provider did not get, because the model does not support them or the catalog does not list them."},
		{MaxTokens, Response, "tokens", "if the gateway set an output limit because the request had none; not on streams", "The output limit that the provider got: as many tokens as the reserved part of the budget covers, if these are fewer than the model's own maximum."},
		{Governor, Response, "`approve`, `review` or `block`, then `; risk=N; policy=N` and possibly `; unchecked=KINDS`", "if the Governor checked the request", "The Governor's decision about the request, its risk score, the version of the project's policy, and the kinds of content that could not be checked."},
		{Registry, Response, "`unregistered`, `pending`, `restricted`, `deprecated`", "if the project's registry only warns about the model", "The state of the model. The registry would refuse the model if it were enforced."},
		{Successor, Response, "a model's name", "deprecated models, and models that the registry warns about", "The model to use in their place."},
		{"deprecation", Response, "`@SECONDS`", "deprecated models", "When the model was deprecated in the project's registry, in Unix seconds (RFC 9745)."},
		{"sunset", Response, "an HTTP date", "deprecated models with a retirement date", "When the model will be retired (RFC 8594)."},
		{Estimated, Response, "`true`, `false`", "responses of the endpoints that count tokens", "`false` if the provider counted, `true` if the gateway estimated."},
		{"idempotent-replayed", Response, "`true`", "replayed responses", "The response was stored for an earlier request with the same `idempotency-key`."},
	}
}

// limits returns the headers about limits and retries.
func limits() []Doc {
	const limited, tokens = "if the key was recognized and has a limit on requests", "if the key has a limit on tokens"
	return []Doc{
		{"ratelimit", Response, "`\"NAME\";r=N;t=SECONDS`, for each limit", "if the key was recognized and has limits", "For each of `second`, `day` and `tokens`: the amount left (`r`) and the seconds until more is allowed (`t`). The format is that of the IETF draft RateLimit."},
		{"ratelimit-policy", Response, "`\"NAME\";q=N;w=SECONDS`, for each limit", "if the key was recognized and has limits", "Each limit (`q`) and its window in seconds (`w`)."},
		{"x-ratelimit-limit-requests", Response, "requests", limited, "The limit of the window with the fewest requests left."},
		{"x-ratelimit-remaining-requests", Response, "requests", limited, "The requests left in that window."},
		{"x-ratelimit-reset-requests", Response, "seconds", limited, "The time until that window allows more requests."},
		{"x-ratelimit-limit-tokens", Response, "tokens", tokens, "The tokens that the key may use in a minute."},
		{"x-ratelimit-remaining-tokens", Response, "tokens", tokens, "The tokens left in the last minute."},
		{"x-ratelimit-reset-tokens", Response, "seconds", tokens, "The time until more tokens are available; 0 if none are used."},
		{"retry-after", Response, "seconds, 1 to 60", "errors that are known to end within 60 seconds", "The time to wait before repeating the request."},
		{"retry-after-ms", Response, "milliseconds", "with `retry-after`, except from the admin API", "The same time, exactly."},
		{"x-should-retry", Response, "`false`", "errors that a repeated request would get again", "Clients should not repeat the request. The SDKs of OpenAI and Anthropic and Postern's own libraries follow this header."},
		{Budget, Response, "`LEVEL; id=\"ID\"; unit=UNIT; period=PERIOD; resets=@SECONDS`", "402 `budget_exceeded`, the 429 that Codex gets in its place, and 429 if a limit per budget period is used up", "The budget that refused the request, as a structured field (RFC 9651), with the values of `budget` in the body: the level is `key`, `project`, `group` or `deployment`. `resets` is in Unix seconds. A budget for `total` has none."},
		{"x-codex-promo-message", Response, "a sentence", "a used-up daily limit or budget, on `/v1/responses`, if the caller is Codex", "Which limit is used up, and who can raise it. Codex shows this sentence instead of the body's message."},
	}
}

// standard returns headers that HTTP and browsers define.
func standard() []Doc {
	return []Doc{
		{"x-request-id", Response, "`req_` and 32 hexadecimal digits", "every response", "The ID of the request, as in logs, errors and the list of recent requests."},
		{"request-id", Response, "as `x-request-id`", "endpoints in Anthropic's format", "The same ID, under the name that Anthropic's SDKs read."},
		{"server-timing", Response, "`total;dur=MS, admit;dur=MS, upstream;dur=MS`", "every response of the endpoints that take an API key", "The time until this response in milliseconds: in total, for admission, and for calls to providers (W3C Server Timing)."},
		{"content-type", Response, "a media type", "responses with a body", "`application/json`, or `text/event-stream` for a stream."},
		{"content-length", Response, "bytes", "responses that are not streams", "The size of the body."},
		{"cache-control", Response, "`private, no-store`", "every response", "Neither browsers nor shared caches may store the response."},
		{"allow", Response, "methods", "405", "The methods of the endpoint."},
		{"link", Response, "`<PATH>; rel=\"help\"`", "errors, unless `POSTERN_DOCS` or `POSTERN_CONTROL` is off", "The documentation of the error's code (RFC 8288)."},
		{"www-authenticate", Response, "`Bearer realm=\"postern\"`", "401", "How to authenticate."},
		{"vary", Response, "`Accept`", "`GET /`", "The form of the overview depends on `accept`."},
		{"connection", Response, "`close`", "`postern serve`, while it shuts down", "The server closes the connection after the response."},
		{"content-security-policy", Response, "a policy", "the page at `GET /`", "The page loads nothing and runs no scripts."},
		{"referrer-policy", Response, "`no-referrer`", "the page at `GET /`", "Links do not reveal the gateway's address."},
		{"x-content-type-options", Response, "`nosniff`", "the page at `GET /`", "Browsers do not guess another content type."},
	}
}

func adminRequests() []Doc {
	return []Doc{
		{"authorization", AdminRequest, "`Bearer TOKEN`", "the admin API", "The owner's or the viewer's token. Some endpoints also take an API key with permissions."},
		{"x-api-key", AdminRequest, "`KEY`", "endpoints of the admin API that take an API key", "The API key, in place of `authorization`."},
		{"content-type", AdminRequest, "`application/json`", "requests with a body", "Required. Another type is refused with 415."},
		{"content-encoding", AdminRequest, "`identity`", "requests with a body", "Bodies must not be compressed."},
		{"cookie", AdminRequest, "`postern_session=…`", "the dashboard", "The session of a browser that signed in."},
		{"cf-access-jwt-assertion", AdminRequest, "a JWT", "behind Cloudflare Access", "The identity that Cloudflare Access adds, if `POSTERN_ACCESS_TEAM` and `POSTERN_ACCESS_AUD` are set."},
		{"origin", AdminRequest, "an origin", "changes with a session", "Must be the gateway's own origin. Otherwise, the change is refused with 403 `cross_origin`."},
		{"sec-fetch-site", AdminRequest, "`same-origin`", "requests with a session but without `origin`", "Takes the place of `origin`."},
		{"if-none-match", AdminRequest, "an `etag`, or `*`", "files of the dashboard and the documentation, `/openapi.yaml`", "A file that has not changed is not sent again: the status is 304."},
	}
}

func adminResponses() []Doc {
	const pages = "the dashboard"
	return []Doc{
		{"x-request-id", AdminResponse, "`req_` and 32 hexadecimal digits", "every response", "The ID of the request."},
		{"cache-control", AdminResponse, "`private, no-store`; files: `no-cache`, or a year for names with a hash", "every response", "Browsers never store data. They ask again for each file whose content may change."},
		{"content-type", AdminResponse, "a media type", "responses with a body", "`application/json`, or that of an export or a file."},
		{"content-length", AdminResponse, "bytes", "responses with a body", "The size of the body."},
		{"content-disposition", AdminResponse, "`attachment; filename=\"…\"`", "exports of usage", "The file name that browsers suggest."},
		{"link", AdminResponse, "`<PATH>; rel=\"next\"`, `<PATH>; rel=\"help\"`", "compliance exports of more than one page, and errors unless `POSTERN_DOCS` is off", "The next page, or the documentation of the error's code (RFC 8288)."},
		{Next, AdminResponse, "an ID", "CSV and NDJSON of a group's usage by key, if there are more pages", "Pass it as `after` to get the next page."},
		{"set-cookie", AdminResponse, "`postern_session=…`", "sign-in and sign-out", "Sets or removes the session cookie. The cookie lasts 12 hours, is sent only to the admin API, and cannot be read by scripts."},
		{"etag", AdminResponse, "a hash", "files of the dashboard and the documentation, `/openapi.yaml`", "The version of the file, for `if-none-match`."},
		{"location", AdminResponse, "a path", "308, for an address of the documentation without its final slash", "The address of the page."},
		{"retry-after", AdminResponse, "seconds", "503, and 429 after wrong tokens", "The time to wait before repeating the request."},
		{"x-should-retry", AdminResponse, "`false`", "errors that a repeated request would get again", "Clients should not repeat the request."},
		{"allow", AdminResponse, "methods", "405", "The methods of the endpoint."},
		{"www-authenticate", AdminResponse, "`Bearer`", "401", "How to authenticate."},
		{"content-security-policy", AdminResponse, "a policy", pages, "The pages load and call nothing from other origins, and cannot be framed."},
		{"cross-origin-opener-policy", AdminResponse, "`same-origin`", pages, "Windows from other origins cannot access the pages."},
		{"cross-origin-embedder-policy", AdminResponse, "`require-corp`", "the documentation", "The documentation's pages and the dashboard cannot access each other's windows."},
		{"permissions-policy", AdminResponse, "a list of features", pages, "The pages use no camera, microphone, location, payment or USB device."},
		{"referrer-policy", AdminResponse, "`no-referrer`", pages, "Links do not reveal the gateway's address."},
		{"x-content-type-options", AdminResponse, "`nosniff`", "responses with a body", "Browsers do not guess another content type."},
		{"x-frame-options", AdminResponse, "`DENY`", pages, "Older browsers cannot frame the pages either."},
	}
}

func toProviders() []Doc {
	return []Doc{
		{"authorization", ToProvider, "`Bearer KEY`, or a signature", "most providers", "The deployment's or the project's key. AWS Bedrock gets a signature (SigV4), unless it has a bearer token."},
		{"x-api-key", ToProvider, "`KEY`", "Anthropic's format", "The deployment's or the project's key."},
		{"api-key", ToProvider, "`KEY`", "Azure OpenAI", "The deployment's or the project's key."},
		{"x-goog-api-key", ToProvider, "`KEY`", "Google Gemini", "The deployment's or the project's key."},
		{"x-amz-date", ToProvider, "a time", "AWS Bedrock, with a signature", "A part of the signature."},
		{"x-amz-security-token", ToProvider, "a token", "AWS Bedrock, with `AWS_SESSION_TOKEN`", "The session token of temporary credentials."},
		{"anthropic-version", ToProvider, "`2023-06-01`, or the caller's", "Anthropic's format", "The version of Anthropic's API."},
		{"content-type", ToProvider, "`application/json`", "every call", "All bodies are JSON."},
		{"traceparent", ToProvider, "W3C trace context", "`postern serve` with traces", "The span of the attempt. A provider can continue the trace."},
		{"tracestate", ToProvider, "W3C trace context", "with `traceparent`, if the caller sent it", "The vendors' part of the trace context."},
	}
}

func fromProviders() []Doc {
	return []Doc{
		{"content-type", FromProvider, "a media type", "every response", "Tells streams, JSON and other bodies apart."},
		{"content-length", FromProvider, "bytes", "responses that are not streams", "If the announced size is too large, the response is not read."},
		{"content-encoding", FromProvider, "an encoding", "compressed responses", "`content-length` is then not the size of the body."},
		{"retry-after", FromProvider, "seconds or an HTTP date", "errors", "The pause before the next attempt. Callers get it too, up to 60 seconds."},
		{"retry-after-ms", FromProvider, "milliseconds", "errors", "The same pause, more precisely. It takes precedence over `retry-after`."},
	}
}

func webhooks() []Doc {
	return []Doc{
		{"content-type", Webhook, "`application/json`", "every delivery", "All bodies are JSON."},
		{"webhook-id", Webhook, "an ID", "every delivery", "The ID of the event. Repeated deliveries have the same ID."},
		{"webhook-timestamp", Webhook, "Unix seconds", "every delivery", "The time of this delivery. Refuse old deliveries."},
		{"webhook-signature", Webhook, "`v1,SIGNATURE`", "every delivery", "HMAC-SHA256 over the ID, the time and the body, in base64, with the project's webhook secret (Standard Webhooks)."},
	}
}

func internals() []Doc {
	return []Doc{
		{"x-request-id", Internal, "`req_` and 32 hexadecimal digits", "requests to the admin API and the dashboard", "The ID that the gateway gave the request."},
		{abi.AddressHeader, Internal, "an address", "requests to the admin API and the dashboard", "The client's address. The gateway removes the header from requests of callers."},
		{Docs, Internal, "`on` or `off`", "requests to the admin API and the dashboard", "Off if `POSTERN_DOCS` is off. The control plane's errors then have no link to the documentation."},
		{Providers, Internal, "JSON", "requests for the lists of providers and routes", "Which providers have credentials, and the state of the targets, as one gateway instance sees them. The dashboard shows it; no decision depends on it."},
	}
}
