package control

import (
	"net/http"

	"github.com/postern-ai/postern/control/kernel"
)

const openAPIPath = "/" + kernel.OpenAPIFile

func isOpenAPI(r *http.Request) bool { return r.URL.EscapedPath() == openAPIPath }

// serveOpenAPI serves the OpenAPI document that describes all endpoints. It requires no authentication.
func (s *Service) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	id := kernel.RequestID(r, s.plane.Rand)
	if !isRead(r) {
		conclude(w, r, id, kernel.Answer{}, kernel.MethodNotAllowed(readMethods, r.Method, ""))
		return
	}
	file, err := s.plane.Files(r.Context(), kernel.OpenAPIFile)
	if err != nil {
		conclude(w, r, id, kernel.Answer{}, kernel.Unavailable(err))
		return
	}
	w.Header().Set("X-Request-Id", id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	writeFile(w, r, kernel.OpenAPIFile, file, http.StatusOK)
}
