package fault

// advice explains an error to a caller or an operator. It is separate from table because only documents and the
// dashboard need it, and the deployed modules leave it out. Each text is one or more sentences, with names in
// backticks.
type advice struct {
	meaning string // what the error says
	cause   string // what leads to it
	remedy  string // what can be done; the error's details may name it
	wait    Wait
}

// Wait says whether an error response has the header Retry-After.
type Wait uint8

// These values say when the header is present.
const (
	NeverWaits     Wait = iota + 1
	SometimesWaits      // if the wait is known and at most 60 seconds
	AlwaysWaits
)

var allAdvice = [count]advice{
	None: {"See internal_error.", "See internal_error.", "See internal_error.", NeverWaits},
	InvalidRequest: {
		"The request breaks a rule of its API.",
		"A field, a header or a query parameter is missing, malformed, unknown or out of range, or no model of the route supports what it asks for. `details` lists up to 20 problems.",
		"Correct the fields that `details` lists.", NeverWaits,
	},
	MissingKey: {
		"The request has no API key.",
		"Neither `Authorization: Bearer KEY` nor `X-API-Key: KEY` is present.",
		"Send an API key in `Authorization` or `X-API-Key`.", NeverWaits,
	},
	InvalidKey: {
		"The gateway does not accept the API key.",
		"The key is incomplete, unknown, deactivated, replaced or expired, or its project or a group above the project is archived. The error does not say which, so that a guess reveals nothing.",
		"Check that the key is complete, active and not expired, and that neither its project nor a group above the project is archived.", NeverWaits,
	},
	MissingAdmin: {
		"The call to the admin API has no token.",
		"The call has no bearer token, no session cookie and no identity from Cloudflare Access.",
		"Send an owner or viewer token in the header that `details` names, or sign in.", NeverWaits,
	},
	InvalidAdmin: {
		"The gateway does not accept the admin token or the session.",
		"The token is neither the owner's nor the viewer's. Or the session has ended: sessions end after 12 hours, or when the token of their role changes.",
		"Check the token, or sign in again.", NeverWaits,
	},
	WrongToken: {
		"The token used to sign in is wrong.",
		"The token is neither the owner's nor the viewer's.",
		"Check the token.", NeverWaits,
	},
	BudgetExceeded: {
		"A budget of the key, its project, a group or the deployment does not cover the request. No provider was called.",
		"The remaining budget is smaller than the cost that the request reserves, or other requests in progress have reserved it.",
		"Raise the budget that `budget` names, or wait until `resetsAt`, when its next period begins; `raisedBy` names who can raise it. A prepaid budget has no `resetsAt` and needs credits. If the response has `Retry-After`, other requests hold the rest, and a repeat may succeed.", NeverWaits,
	},
	Forbidden: {
		"The API key is not allowed to use this endpoint, or to use it for this project.",
		"The key lacks the permission that `details` names, the query names another project, or the project's plan does not include the endpoint.",
		"Use a key that has the permission, or belongs to the project, that `details` names.", NeverWaits,
	},
	ModelForbidden: {
		"The API key is not allowed to use this model.",
		"The list of models of the key, the project or a group above it does not include the model, or the project's model registry does not permit it. `details` says which of these applies.",
		"Use one of the models that `details` suggests. Or add this one to `models` of the key, the project and its groups, or approve it in the model registry.", NeverWaits,
	},
	ViewerForbidden: {
		"A viewer tried to make a change.",
		"The token or the session is a viewer's. Viewers can only read.",
		"Use an owner's token or session.", NeverWaits,
	},
	NoGovernor: {
		"The project's plan does not include the Governor.",
		"The change enables the Governor on a plan without it, or moves a project that uses the Governor to such a plan.",
		"Move the project to one of the plans that `details` names.", NeverWaits,
	},
	CrossOrigin: {
		"The admin API refused a request that a browser sent from another origin.",
		"A page on another site made the request. Or the dashboard is open at an address that the server does not know as its own, for example behind a proxy that changes the `Host` header.",
		"Open the dashboard at the address that `details` describes. In programs, send a bearer token.", NeverWaits,
	},
	NotFound: {
		"The path is not an endpoint, or the ID does not exist.",
		"The path is misspelled or lacks `/v1`, the resource was deleted, or it belongs to another project.",
		"Check the path, or the ID that `details` names.", NeverWaits,
	},
	UnknownModel: {
		"The gateway has no such model.",
		"The name is misspelled, the catalog does not have the model, or the model is of another kind, such as an embedding model in a chat request.",
		"Use one of the models that `details` suggests; GET /v1/models lists them.", NeverWaits,
	},
	MethodNotAllowed: {
		"The endpoint exists, but not with this method.",
		"The request was sent with another method, such as `GET` instead of `POST`.",
		"Use a method that the `Allow` header lists.", NeverWaits,
	},
	NoWebSocket: {
		"The gateway does not serve WebSockets.",
		"The request asked for a WebSocket with an `Upgrade` header, as Codex does first.",
		"Send the request over HTTP: with the method that `details` names, and without an `Upgrade` header.", NeverWaits,
	},
	Conflict: {
		"The change does not fit the current state.",
		"Another change came first, the name already exists, or the state does not allow this step.",
		"Read the current state, and then make the change again; `details` names what has changed.", NeverWaits,
	},
	NoMasterKey: {
		"The deployment cannot store a project's own provider key.",
		"Provider keys are stored encrypted, and the deployment has no master key to encrypt them with.",
		"Set POSTERN_MASTER_KEYS.", NeverWaits,
	},
	IdempotencyRunning: {
		"An earlier request with the same `Idempotency-Key` is still in progress.",
		"A client repeated the request before the first one ended, for example after a timeout of its own.",
		"Wait as long as `Retry-After` says.", AlwaysWaits,
	},
	IdempotencyUnknown: {
		"Nobody knows whether an earlier request with the same `Idempotency-Key` ran.",
		"The gateway admitted the earlier request and lost it in a crash, before it could store the outcome. A provider may have executed it.",
		"Decide whether the request may run again, and if so repeat it with the header that `details` names.", NeverWaits,
	},
	Unreplayable: {
		"The earlier request with the same `Idempotency-Key` succeeded, but its response was not stored.",
		"The response is larger than the 256 KiB that the gateway stores.",
		"Use a new Idempotency-Key.", NeverWaits,
	},
	BodyTooLarge: {
		"The body of the request is too large.",
		"The body is larger than the endpoint or the deployment allows (`POSTERN_MAX_BODY_BYTES`).",
		"Send a body of at most the size that `details` names.", NeverWaits,
	},
	UnsupportedType: {
		"The gateway does not read bodies of this type.",
		"`Content-Type` is missing or is not `application/json`, or `Content-Encoding` says that the body is compressed.",
		"Send JSON without compression; `details` names the header.", NeverWaits,
	},
	Blocked: {
		"The Governor blocked the request or the response.",
		"The text has something that a rule of the project's policy blocks: a secret, personal data, a prompt injection, or a keyword or pattern of your own. Or the response does not match the project's JSON Schema.",
		"Remove what `details` and `findings` name, or change the project's policy.", NeverWaits,
	},
	IdempotencyReused: {
		"The `Idempotency-Key` belongs to another request.",
		"The same API key sent a different request with this `Idempotency-Key` in the last 24 hours.",
		"Send this request with a new Idempotency-Key.", NeverWaits,
	},
	RejectedRequest: {
		"The provider refused the request as invalid.",
		"The provider found a problem that the gateway does not check, such as an image that it cannot read.",
		"Change the request as the provider's message says; the native endpoints have it in `details`.", NeverWaits,
	},
	TooLong: {
		"The prompt does not fit the model.",
		"The prompt and the requested output together have more tokens than the model's context window.",
		"Shorten the messages, or use a model with a longer context.", NeverWaits,
	},
	Filtered: {
		"The provider's content filter refused the request.",
		"The provider found content in the prompt that its own rules do not allow.",
		"Rephrase the request, or use another provider.", NeverWaits,
	},
	RateLimited: {
		"A rate limit of the API key, or the limit on requests in progress, is used up.",
		"The key has made as many requests, or used as many tokens, as its limits allow in this second, minute or day. Or the requests or tokens per budget period of the key, its project, a group or the deployment are used up. Or too many wrong keys or admin tokens came from one address.",
		"Wait as long as `Retry-After` says, or raise the limit that `limit` names. If a limit per day or budget period is used up, there is no `Retry-After`: the limit resets at `resetsAt`, and `raisedBy` names who can raise it.", SometimesWaits,
	},
	ClientClosed: {
		"The client disconnected before the response was complete.",
		"The caller canceled the request, timed out or lost its connection.",
		"None: the client has disconnected.", NeverWaits,
	},
	Internal: {
		"The gateway failed.",
		"The gateway itself has a fault. Its log has more about it under the request ID.",
		"Repeat the request. If it keeps failing, report its ID.", NeverWaits,
	},
	Misconfigured: {
		"The gateway cannot start with its configuration.",
		"A variable or the catalog of the deployment is invalid. The log names the setting.",
		"Correct the setting that the log names.", NeverWaits,
	},
	ProviderError: {
		"The provider failed, and no other model of the route could serve the request.",
		"The provider could not be reached, returned an error, or does not accept the deployment's key for it.",
		"Repeat the request; `details` says what the provider did.", SometimesWaits,
	},
	ProviderBusy: {
		"The provider refused the request because of a rate limit, and no other model of the route could serve it.",
		"The account at the provider has reached its rate limit or quota.",
		"Repeat the request later, or raise the account's limits at the provider that `details` names.", SometimesWaits,
	},
	ProviderAnswer: {
		"The gateway cannot use the provider's response.",
		"The response ended early, is too large, is not in the provider's format, or does not match the JSON that the request asked for.",
		"Repeat the request; `details` names the problem with the response.", NeverWaits,
	},
	Unavailable: {
		"A part of the deployment is down at the moment.",
		"The database, a Durable Object or the control plane did not respond in time, or a classifier that must judge every request failed.",
		"Repeat the request after `Retry-After`.", AlwaysWaits,
	},
	ShuttingDown: {
		"The server is shutting down and ended the request.",
		"The operator stopped or replaced the server, and the request did not finish in the time that the shutdown allows.",
		"Repeat the request: another replica, or the server after its restart, serves it.", AlwaysWaits,
	},
	NoProvider: {
		"No provider of the model can be called.",
		"The deployment and the project have no key for any provider of the model, or a provider lacks a setting.",
		"Set the variables, or store the provider key, that `details` names.", NeverWaits,
	},
	AdminOff: {
		"The deployment has no admin API.",
		"No admin token is set, or the token is too short, so nobody can prove that they are the owner.",
		"Set POSTERN_ADMIN_TOKEN to at least 16 characters.", NeverWaits,
	},
	ProviderTimeout: {
		"The provider took too long.",
		"The provider did not respond, send the first content, or finish within the timeouts of the route.",
		"Repeat the request, or use a faster model.", NeverWaits,
	},
}

// Meaning returns sentences about the meaning of the error.
func (f Fault) Meaning() string { return allAdvice[f].meaning }

// Cause returns sentences about the causes of the error.
func (f Fault) Cause() string { return allAdvice[f].cause }

// Remedy returns sentences about ways to resolve the error.
func (f Fault) Remedy() string { return allAdvice[f].remedy }

// Wait returns whether the response has the header Retry-After.
func (f Fault) Wait() Wait { return allAdvice[f].wait }
