package control

import (
	"net/http"

	"github.com/postern-ai/postern/docs"
)

const (
	openAPIPath = "/openapi.yaml"
	openAPIFile = "openapi.yaml"
)

func isOpenAPI(r *http.Request) bool { return r.URL.EscapedPath() == openAPIPath }

// serveOpenAPI serves the OpenAPI document of all endpoints. It needs no authentication.
func (h *handler) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	id := requestID(r, h.Rand)
	if !isRead(r) {
		conclude(w, r, id, answer{}, methodNotAllowed(readMethods, r.Method, ""))
		return
	}
	w.Header().Set("X-Request-Id", id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	writeFile(w, r, openAPIFile, docs.OpenAPI)
}
