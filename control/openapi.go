package control

import "net/http"

// OpenAPIFile is the name of the OpenAPI document for Config.Files.
const OpenAPIFile = "openapi.yaml"

const openAPIPath = "/" + OpenAPIFile

func isOpenAPI(r *http.Request) bool { return r.URL.EscapedPath() == openAPIPath }

// serveOpenAPI serves the OpenAPI document of all endpoints. It needs no authentication.
func (h *handler) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	id := requestID(r, h.Rand)
	if !isRead(r) {
		conclude(w, r, id, answer{}, methodNotAllowed(readMethods, r.Method, ""))
		return
	}
	data, err := h.Files(r.Context(), OpenAPIFile)
	if err != nil {
		conclude(w, r, id, answer{}, unavailable(err))
		return
	}
	w.Header().Set("X-Request-Id", id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	writeFile(w, r, OpenAPIFile, data)
}
