// Package control is the control plane: what an operator does a few times a day, as an ordinary
// http.Handler. It makes and changes projects and keys; a caller's request never comes through here.
//
// All documents live in the Directory object. A change is one commit there, and the commit's deliveries
// carry it out: to the keys' meters and the project's ledger, and to KV. The control plane makes the object
// deliveries itself and answers after the last of them, so that what it acknowledges is in force. If it
// dies in between, the Directory's outbox makes them; receivers drop by version what comes twice.
package control

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"log"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
)

// Objects calls the deployment's objects.
type Objects interface {
	// Call sends one command to the object (class, name), which is created near region (a location hint of
	// the platform, or empty) if this is its first, and returns its reply. An error means that the object
	// could not be asked or did not answer; the command may have been carried out all the same.
	Call(ctx context.Context, class abi.Class, name, region string, command []byte) ([]byte, error)
}

// Config is all that a control plane needs. Its functions are asked at every use, so that a changed secret
// is in force at once; those that are optional may be nil.
type Config struct {
	Objects Objects
	// AdminToken is the owners' token, of at least 16 bytes. An empty or shorter one means that none is
	// configured: all calls are refused.
	AdminToken func() string
	// ViewerToken is the token of those who may only look, likewise. Optional, as what it returns: empty is none.
	ViewerToken func() string
	// PrivateWebhooks says whether alerts may go to private networks and this machine. Optional: they may not.
	PrivateWebhooks func() bool
	// Access is whom to let in by Cloudflare Access. Optional.
	Access func() Access
	// MasterKeys are the secrets that providers' keys are sealed with, or empty. Optional.
	MasterKeys func() string
	// Catalog is what configure made of the catalog and the operator's overlay.
	Catalog *config.Config
	// Fetch is a GET of a URL that follows no redirect and returns the body of a 200, at most MaxFetchBytes.
	// Anything else is an error. Needed for Access.
	Fetch func(ctx context.Context, url string) ([]byte, error)
	// Seal encrypts with AES-256-GCM under a fresh nonce and returns nonce (12 bytes), ciphertext and tag (16).
	// Needed with MasterKeys.
	Seal func(ctx context.Context, key []byte, additionalData string, plaintext []byte) ([]byte, error)
	// Exports keeps a file of usage under a name. Nil: there is nowhere to keep it.
	Exports func(ctx context.Context, name string, body []byte) error
	// Dashboard is the dashboard's built files. Nil: there are none.
	Dashboard fs.FS
	Now       func() time.Time
	Rand      io.Reader // of cryptographic quality: key values come from it
}

// MaxFetchBytes is how long a body may be that Config.Fetch returns.
const MaxFetchBytes = 64 << 10

// Service is a control plane: an http.Handler for requests, and Hourly for what is due without being asked.
type Service struct{ handler *handler }

// New is a control plane. It serves the paths under /api/admin/ and /dashboard, and /openapi.yaml, and refuses all others.
//
// Every answer under /api/admin/ has a JSON body (except 204), the headers x-request-id and cache-control,
// and, if it is a refusal, the shape {"error","code","requestId"} with "details" for 400.
func New(config Config) *Service {
	h := &handler{Config: config, store: store{config.Objects, func() uint64 { return uint64(config.Now().UnixMilli()) }}}
	h.ViewerToken = orEmpty(h.ViewerToken)
	h.PrivateWebhooks = orEmpty(h.PrivateWebhooks)
	h.MasterKeys = orEmpty(h.MasterKeys)
	h.Access = orEmpty(h.Access)
	return &Service{h}
}

// orEmpty stands in for an optional function.
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
	salt       salt
	tooShort   sync.Once // the log has said that a token is
}

// call is one request on its way through an endpoint.
type call struct {
	context.Context
	request *http.Request
	header  http.Header // of the answer, for what an endpoint adds to it
	who     identity    // who asks; nobody at the sign-in
	project string      // path parameters, of the shape of an id, or empty
	key     string
	// provider is a name, perhaps of no provider.
	provider string
}

// answer is what an endpoint says: a status and what is to stand in the body as JSON, or nil for none.
type answer struct {
	status int
	body   any
}

// ServeHTTP answers one request.
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

// conclude sends an endpoint's answer, or the refusal that its error stands for.
func conclude(w http.ResponseWriter, r *http.Request, requestID string, result answer, err error) {
	if err != nil {
		refusal := asRefusal(err)
		if refusal.cause != nil {
			log.Printf("control: %s: %q", requestID, refusal.cause.Error())
		}
		refusal.headers(w.Header())
		result = answer{int(refusal.Status), json.RawMessage(refusal.Append(nil, requestID, refusal.details))}
	}
	write(w, r, requestID, result)
}

// guarded is serve, with a panic turned into a 500: one call's bug must not take the calls beside it along.
// What was thrown is not logged, it might hold anything; the stack is.
func (h *handler) guarded(requestID string, header http.Header, r *http.Request) (result answer, err error) {
	defer func() {
		if recover() != nil {
			log.Printf("control: %s: panic\n%s", requestID, debug.Stack())
			err = errInternal
		}
	}()
	return h.serve(header, r)
}

// serve finds the refusals in the gateway's order: 404, 405, then who asks, then what is asked.
func (h *handler) serve(header http.Header, r *http.Request) (answer, error) {
	route, c, err := match(r)
	if err != nil {
		return answer{}, err
	}
	c.header = header
	if !route.isSignIn() {
		if c.who, err = h.authenticate(r); err != nil {
			return answer{}, err
		}
		if err = c.who.mayAsk(route, r); err != nil {
			return answer{}, err
		}
	}
	return route.serve(h, c)
}
