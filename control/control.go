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
	"log"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/money"
)

// Objects calls the deployment's objects.
type Objects interface {
	// Call sends one command to the object (class, name), which is created near region (a location hint of
	// the platform, or empty) if this is its first, and returns its reply. An error means that the object
	// could not be asked or did not answer; the command may have been carried out all the same.
	Call(ctx context.Context, class abi.Class, name, region string, command []byte) ([]byte, error)
}

// Plan is what the control plane needs to know of a plan of the catalog.
type Plan struct {
	Name       string
	BudgetPico money.Pico // a calendar month's budget of a project that names none
}

// Config is all that a control plane needs.
type Config struct {
	Objects Objects
	// AdminToken is asked at every call. An empty one means that none is configured: all calls are refused.
	AdminToken func() string
	// Plans are the plans of the catalog, the default one first. There is at least one.
	Plans []Plan
	Now   func() time.Time
	Rand  io.Reader // of cryptographic quality: key values come from it
}

// New is the control plane's handler. It serves the paths under /api/admin/ and refuses all others.
//
// Every answer has a JSON body (except 204), the headers x-request-id and cache-control, and, if it is a
// refusal, the shape {"error","code","requestId"} with "details" for 400.
func New(config Config) http.Handler {
	return &handler{Config: config, store: store{config.Objects}}
}

type handler struct {
	Config
	store store
}

// call is one request on its way through an endpoint.
type call struct {
	context.Context
	request *http.Request
	project string // path parameters, of the shape of an id, or empty
	key     string
}

// answer is what an endpoint says: a status and what is to stand in the body as JSON, or nil for none.
type answer struct {
	status int
	body   any
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	requestID := requestID(r, h.Rand)
	result, err := h.guarded(requestID, r)
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
func (h *handler) guarded(requestID string, r *http.Request) (result answer, err error) {
	defer func() {
		if recover() != nil {
			log.Printf("control: %s: panic\n%s", requestID, debug.Stack())
			err = errInternal
		}
	}()
	return h.serve(r)
}

// serve finds the refusals in the gateway's order: 404, 405, then who asks, then what is asked.
func (h *handler) serve(r *http.Request) (answer, error) {
	route, c, err := match(r)
	if err != nil {
		return answer{}, err
	}
	if err := h.authenticate(r); err != nil {
		return answer{}, err
	}
	return route.serve(h, c)
}
