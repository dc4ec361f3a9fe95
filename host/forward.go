package host

import (
	"net/http"

	"github.com/postern-ai/postern/core/abi"
)

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (s *statusWriter) WriteHeader(status int) {
	if status >= http.StatusOK {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusWriter) Write(data []byte) (int, error) {
	s.start()
	return s.ResponseWriter.Write(data)
}

// Unwrap supports http.ResponseController.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *statusWriter) start() {
	if s.status == 0 {
		s.status = http.StatusOK
	}
}

// forward passes a request to the control plane.
func (x *exchange) forward(a *abi.Action) {
	if x.host.Control == nil {
		x.answer(fault(a, abi.FaultConnect))
		return
	}
	request := x.request.Clone(x.request.Context())
	for _, header := range a.Headers {
		request.Header.Set(header.Name, header.Value)
	}
	request.Header.Del(abi.AddressHeader)
	if x.address != "" {
		request.Header.Set(abi.AddressHeader, x.address)
	}
	w := &statusWriter{ResponseWriter: x.response.writer}
	x.control(w, request)
	w.start()
	x.answer(abi.Event{Kind: abi.EventResponse, ID: a.ID, Code: uint64(w.status)})
	x.response.finish()
}

// control runs the handler. If it panics before the response starts, the client gets the last-resort error. If it
// panics later, the connection is aborted so that a partial response does not look complete. The panic value is not
// logged, because it might contain secrets.
func (x *exchange) control(w *statusWriter, r *http.Request) {
	defer func() {
		if recover() == nil {
			return
		}
		x.host.logFailure("control_panicked", x.id)
		if x.response.broken = w.status != 0; x.response.broken {
			return
		}
		clear(w.Header())
		status, headers, body := x.host.lastAnswer(x.id)
		w.status = int(status)
		x.response.respond(status, headers, body)
	}()
	x.host.Control.ServeHTTP(w, r)
}
