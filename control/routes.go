package control

import (
	"net/http"
	"slices"
	"strings"
)

// sessionPath is the endpoint for signing in and out.
const sessionPath = "/api/admin/session"

// route is one endpoint. Every route but sign-in requires authentication.
type route struct {
	method, pattern string
	serve           func(*handler, *call) (answer, error)
}

var routes = []route{
	{http.MethodPost, sessionPath, (*handler).signIn},
	{http.MethodGet, sessionPath, (*handler).getSession},
	{http.MethodDelete, sessionPath, (*handler).signOut},
	{http.MethodGet, "/api/admin/audit", (*handler).listAudit},
	{http.MethodGet, "/api/admin/catalog", (*handler).getCatalog},
	{http.MethodGet, "/api/admin/providers", (*handler).listProviders},
	{http.MethodPost, "/api/admin/projects", (*handler).createProject},
	{http.MethodGet, "/api/admin/projects", (*handler).listProjects},
	{http.MethodGet, "/api/admin/projects/{project}", (*handler).getProject},
	{http.MethodPatch, "/api/admin/projects/{project}", (*handler).patchProject},
	{http.MethodPost, "/api/admin/projects/{project}/archive", (*handler).archiveProject},
	{http.MethodPost, "/api/admin/projects/{project}/restore", (*handler).restoreProject},
	{http.MethodGet, "/api/admin/projects/{project}/routes", (*handler).listRoutes},
	{http.MethodGet, "/api/admin/projects/{project}/usage", (*handler).getUsage},
	{http.MethodGet, "/api/admin/projects/{project}/requests", (*handler).listRequests},
	{http.MethodGet, "/api/admin/projects/{project}/provider-keys", (*handler).listProviderKeys},
	{http.MethodPut, "/api/admin/projects/{project}/provider-keys/{provider}", (*handler).putProviderKey},
	{http.MethodDelete, "/api/admin/projects/{project}/provider-keys/{provider}", (*handler).deleteProviderKey},
	{http.MethodPost, "/api/admin/projects/{project}/keys", (*handler).createKey},
	{http.MethodGet, "/api/admin/projects/{project}/keys", (*handler).listKeys},
	{http.MethodGet, "/api/admin/projects/{project}/keys/{key}", (*handler).getKey},
	{http.MethodPatch, "/api/admin/projects/{project}/keys/{key}", (*handler).patchKey},
	{http.MethodDelete, "/api/admin/projects/{project}/keys/{key}", (*handler).deleteKey},
	{http.MethodPost, "/api/admin/projects/{project}/keys/{key}/rotate", (*handler).rotateKey},
	{http.MethodPost, "/api/admin/projects/{project}/keys/{key}/deactivate", (*handler).deactivateKey},
	{http.MethodPost, "/api/admin/projects/{project}/keys/{key}/reactivate", (*handler).reactivateKey},
}

func (r *route) isSignIn() bool { return r.pattern == sessionPath && r.method == http.MethodPost }

// match finds the route for the escaped path of a request, in which an escaped slash does not separate
// segments. HEAD is GET without the body, which write omits. The error is a 404, or a 405 with all methods of
// the path.
func match(r *http.Request) (*route, *call, error) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var allowed []string
	for i := range routes {
		c := &call{Context: r.Context(), request: r}
		if !c.bind(routes[i].pattern, r.URL.EscapedPath()) {
			continue
		}
		if routes[i].method == method {
			return &routes[i], c, nil
		}
		if allowed = append(allowed, routes[i].method); routes[i].method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	if allowed == nil {
		return nil, nil, errNotFound
	}
	slices.Sort(allowed)
	return nil, nil, methodNotAllowed(allowed)
}

// bind reports whether a path matches a pattern, and sets the path parameters. Text that is not in the form
// of an ID matches nothing, so that no foreign text becomes part of a document's key.
func (c *call) bind(pattern, path string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return false
	}
	for i, segment := range want {
		switch {
		case segment == "{project}" && isID(have[i], projectPrefix):
			c.project = have[i]
		case segment == "{key}" && isID(have[i], keyPrefix):
			c.key = have[i]
		case segment == "{provider}" && isProviderName(have[i]):
			c.provider = have[i]
		case segment != have[i]:
			return false
		}
	}
	return true
}

// isProviderName reports whether text has the form of a provider's name in the catalog.
func isProviderName(text string) bool {
	return text != "" && len(text) <= maxIDLength && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}
