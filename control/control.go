// Package control is the control plane: the admin API, the compliance APIs for project keys, and the dashboard, as an
// ordinary http.Handler. It creates and changes projects and keys. Model requests never pass through it.
//
// All documents are in the Directory object. A change is one commit there, and its deliveries apply it to the keys'
// meters, the project's ledger and KV. The control plane makes the deliveries to objects itself. It responds once all
// deliveries are made and the last lease that contradicts the change has ended. An acknowledged change is therefore
// in force. If the control plane dies before that, the Directory's outbox makes the deliveries. Receivers use the
// version to drop duplicates.
package control

import (
	"net/http"
	"runtime/debug"
	"sync/atomic"

	"github.com/postern-ai/postern/control/auth"
	"github.com/postern-ai/postern/control/kernel"
	paths "github.com/postern-ai/postern/core/api/control"
)

// Service is a control plane: an http.Handler for requests, and Hourly for scheduled work.
type Service struct {
	plane  *kernel.Plane
	auth   *auth.Authenticator
	routes []kernel.Route
	policy atomic.Pointer[string] // the content policy of the documentation; nil until it is made
}

// New returns a control plane. It serves /openapi.yaml, the paths under /api/admin/, /dashboard and /docs, and those
// under /api for project keys. Any other path is a 404.
//
// Every response under /api/ has the headers x-request-id and cache-control. Its body is JSON, except for usage in
// CSV and files in NDJSON. A 204 and the response to a HEAD request have no body. Errors have the shape
// {"error","code","requestId"}, with "details" if there are any.
//
// Log lines are JSON objects, written by package log. If the program clears the log flags, a line contains nothing
// else.
func New(config kernel.Config) *Service {
	p := kernel.NewPlane(config)
	a := auth.New(p)
	return &Service{plane: p, auth: a, routes: routesOf(p, a)}
}

// ServeHTTP handles one request.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case isDashboard(r):
		s.serveDashboard(w, r)
		return
	case isDocs(r):
		s.serveDocs(w, r)
		return
	case isOpenAPI(r):
		s.serveOpenAPI(w, r)
		return
	}
	requestID := kernel.RequestID(r, s.plane.Rand)
	result, err := s.guarded(requestID, w.Header(), r)
	conclude(w, r, requestID, result, err)
}

// conclude sends an endpoint's response, or the error response if the endpoint failed.
func conclude(w http.ResponseWriter, r *http.Request, requestID string, result kernel.Answer, err error) {
	if err != nil {
		refusal := kernel.AsRefusal(err)
		if refusal.Cause != nil {
			kernel.LogFailure(requestID, refusal.Code(), refusal.Cause.Error())
		}
		refusal.Headers(w.Header())
		if kernel.ServesDocs(r) {
			w.Header().Set("Link", paths.HelpLink(refusal.Code()))
		}
		result = refusal.Answer(requestID)
	}
	kernel.Write(w, r, requestID, result)
}

// guarded calls serve and turns a panic into a 500, because a bug in one call must not affect concurrent calls. It
// logs the stack, but not the panic value, which may contain a secret.
func (s *Service) guarded(requestID string, header http.Header, r *http.Request) (result kernel.Answer, err error) {
	defer func() {
		if recover() != nil {
			kernel.LogFailure(requestID, "panic", string(debug.Stack()))
			err = kernel.ErrInternal
		}
	}()
	return s.serve(header, r)
}

// serve makes its checks in the same order as the gateway: 404, 405, authentication, authorization, and then the
// endpoint's own checks.
func (s *Service) serve(header http.Header, r *http.Request) (kernel.Answer, error) {
	route, c, err := kernel.Match(s.routes, r)
	if err != nil {
		return kernel.Answer{}, err
	}
	c.Header = header
	if err := s.auth.Admit(c, route); err != nil {
		return kernel.Answer{}, err
	}
	return route.Serve(c)
}
