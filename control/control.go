// Package control is the control plane: the admin API, the compliance APIs for project keys, and the dashboard, as an
// ordinary http.Handler. It creates and changes projects and keys. Requests to models never pass through it.
//
// All documents are in the Directory object. A change is one commit there, whose deliveries apply it to the
// keys' meters, the project's ledger and KV. The control plane makes the deliveries to objects itself and
// responds after the last of them, and after the last lease that contradicts the change, so an acknowledged change
// is in force. If the control plane dies in between, the Directory's outbox makes the deliveries; receivers use the
// version to drop duplicates.
package control

import (
	"context"
	"io"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

// Objects calls the deployment's objects.
type Objects interface {
	// Call sends one command to the object (class, name) and returns its reply. The first call creates the
	// object near region, a location hint of the platform or empty. After an error, the command may
	// nevertheless have been executed.
	Call(ctx context.Context, class abi.Class, name, region string, command []byte) ([]byte, error)
}

// Config configures a control plane. Its functions are called at every use, so that a changed secret takes
// effect at once. Optional functions may be nil.
type Config struct {
	Objects Objects
	// AdminToken is the owner token, of at least 16 bytes. With an empty or shorter token, the API rejects
	// all requests.
	AdminToken func() string
	// ViewerToken is the read-only token, of at least 16 bytes. Empty or shorter: there are no viewers.
	// Optional.
	ViewerToken func() string
	// PrivateWebhooks reports whether alerts may be sent to private networks and to this machine. Optional;
	// default false.
	PrivateWebhooks func() bool
	// Runtime is what runs the control plane and has its variables, for the remedies in errors: "control Worker" or "server".
	Runtime string
	// Addresses are where browsers may reach the control plane. Nil: at the URL of each request, as on Workers, where the
	// platform has matched its host with a route.
	Addresses func() Addresses
	// Access configures authentication by Cloudflare Access. Optional.
	Access func() Access
	// MasterKeys are the secrets that seal provider keys. Empty: projects cannot store provider keys.
	// Optional.
	MasterKeys func() string
	// SigningKeys are the secrets that sign checkpoints of the compliance data; see compliance.ParseSigningKeys.
	// Empty: there are no checkpoints. Optional.
	SigningKeys func() string
	// Catalog is the parsed catalog, with the operator's overlay.
	Catalog *config.Config
	// Fetch sends a GET request without following redirects and returns the body of a 200, at most
	// MaxFetchBytes. Any other response is an error. Required for Access.
	Fetch func(ctx context.Context, url string) ([]byte, error)
	// Seal encrypts with AES-256-GCM under a fresh nonce and returns nonce (12 bytes), ciphertext and tag (16
	// bytes). Required with MasterKeys.
	Seal func(ctx context.Context, key []byte, additionalData string, plaintext []byte) ([]byte, error)
	// Exports stores a usage file under a name. Nil: usage is not exported.
	Exports func(ctx context.Context, name string, body []byte) error
	// Sleep waits for a duration, or until ctx is done, whose error it then returns. Nil: a Go timer, which the
	// Worker must not use.
	Sleep func(ctx context.Context, d time.Duration) error
	// Files returns a file that the control plane serves: OpenAPIFile, or DashboardFolder and the name of a file of
	// the built dashboard. Its error is fs.ErrNotExist if there is no such file.
	Files func(ctx context.Context, name string) ([]byte, error)
	Now   func() time.Time
	Rand  io.Reader // cryptographically secure: key values are made from it
}

// MaxFetchBytes is the maximum size of a body that Config.Fetch returns.
const MaxFetchBytes = 64 << 10

// Service is a control plane: an http.Handler for requests, and Hourly for scheduled work.
type Service struct{ handler *handler }

// New returns a control plane. It serves the paths under /api/admin/ and /dashboard, the paths of projectRoutes,
// and /openapi.yaml; all others are a 404.
//
// Every response under /api/ has the headers x-request-id and cache-control. Its body is JSON, except
// for usage as CSV or NDJSON; a 204 and the response to a HEAD have none. Errors have the shape
// {"error","code","requestId"}, with "details" if there are any.
//
// Log lines are JSON objects, written by package log. A program that sets no log flags gets nothing else in
// the line.
func New(config Config) *Service {
	if config.Sleep == nil {
		config.Sleep = sleepNatively
	}
	h := &handler{Config: config, store: store{config.Objects, func() uint64 { return uint64(config.Now().UnixMilli()) }, config.Sleep}}
	h.ViewerToken = orEmpty(h.ViewerToken)
	h.PrivateWebhooks = orEmpty(h.PrivateWebhooks)
	h.MasterKeys = orEmpty(h.MasterKeys)
	h.SigningKeys = orEmpty(h.SigningKeys)
	h.Access = orEmpty(h.Access)
	return &Service{h}
}

// orEmpty replaces a missing optional function by one that returns the zero value.
func orEmpty[T any](f func() T) func() T {
	if f == nil {
		return func() (empty T) { return empty }
	}
	return f
}

type handler struct {
	Config
	store      store
	accessKeys accessKeys
	lockouts   lockouts
	seenKeys   seenKeys
	salt       salt
	warned     sync.Map // the texts that warnOnce has logged
}

// call is one request to an endpoint.
type call struct {
	context.Context
	request *http.Request
	header  http.Header // of the response; endpoints may add headers
	actor   identity    // the authenticated sender; empty for sign-in
	project string      // the project key's project, or a path parameter in the form of an ID, or empty
	key     string      // path parameter in the form of an ID, or empty
	id      string      // path parameter: ID of a violation or a registry entry, or empty
	// provider is a path parameter; it need not be in the catalog.
	provider string
}

// answer is an endpoint's response: a status and a body to encode as JSON; nil: no body.
type answer struct {
	status int
	body   any
}

// ServeHTTP handles one request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case isDashboard(r):
		h.serveDashboard(w, r)
		return
	case isOpenAPI(r):
		h.serveOpenAPI(w, r)
		return
	}
	requestID := requestID(r, h.Rand)
	result, err := h.guarded(requestID, w.Header(), r)
	conclude(w, r, requestID, result, err)
}

// conclude sends an endpoint's response, or the error response for its error.
func conclude(w http.ResponseWriter, r *http.Request, requestID string, result answer, err error) {
	if err != nil {
		refusal := asRefusal(err)
		if refusal.cause != nil {
			LogFailure(requestID, refusal.Code, refusal.cause.Error())
		}
		refusal.headers(w.Header())
		result = refusal.answer(requestID)
	}
	write(w, r, requestID, result)
}

// guarded is serve with panics turned into a 500: a bug in one call must not affect concurrent calls. It logs
// the stack, but not the panic value, which may contain a secret.
func (h *handler) guarded(requestID string, header http.Header, r *http.Request) (result answer, err error) {
	defer func() {
		if recover() != nil {
			LogFailure(requestID, "panic", string(debug.Stack()))
			err = errInternal
		}
	}()
	return h.serve(header, r)
}

// serve checks in the order of the gateway: 404, 405, authentication, authorization, then the endpoint's own
// checks.
func (h *handler) serve(header http.Header, r *http.Request) (answer, error) {
	route, c, err := match(r)
	if err != nil {
		return answer{}, err
	}
	c.header = header
	if err := h.admit(c, route); err != nil {
		return answer{}, err
	}
	return route.serve(h, c)
}

// admit authenticates and authorizes a call, and sets its actor.
func (h *handler) admit(c *call, route *route) (err error) {
	switch {
	case route.isSignIn():
		return nil
	case route.permission != 0:
		return h.admitKey(c, route.permission)
	}
	if c.actor, err = h.authenticate(c.request); err != nil {
		return err
	}
	return h.authorize(c.actor, route, c.request)
}
