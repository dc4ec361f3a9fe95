package control

import (
	"net/http"
	"slices"
	"strings"
)

// route is one line of the table: everything in it is behind the admin token.
type route struct {
	method, pattern string
	serve           func(*handler, *call) (answer, error)
}

var routes = []route{
	{http.MethodPost, "/api/admin/projects", (*handler).createProject},
	{http.MethodGet, "/api/admin/projects", (*handler).listProjects},
	{http.MethodGet, "/api/admin/projects/{project}", (*handler).getProject},
	{http.MethodPatch, "/api/admin/projects/{project}", (*handler).patchProject},
	{http.MethodPost, "/api/admin/projects/{project}/keys", (*handler).createKey},
	{http.MethodGet, "/api/admin/projects/{project}/keys", (*handler).listKeys},
	{http.MethodDelete, "/api/admin/projects/{project}/keys/{key}", (*handler).deleteKey},
	{http.MethodPost, "/api/admin/projects/{project}/keys/{key}/deactivate", (*handler).deactivateKey},
	{http.MethodPost, "/api/admin/projects/{project}/keys/{key}/reactivate", (*handler).reactivateKey},
}

// match finds the route of a request, by its path as sent: an escaped slash does not part segments. It
// refuses with 404, or with 405 and all the methods that the path has.
func match(r *http.Request) (*route, *call, error) {
	var allowed []string
	for i := range routes {
		c := &call{Context: r.Context(), request: r}
		if !c.bind(routes[i].pattern, r.URL.EscapedPath()) {
			continue
		}
		if routes[i].method == r.Method {
			return &routes[i], c, nil
		}
		allowed = append(allowed, routes[i].method)
	}
	if allowed == nil {
		return nil, nil, errNotFound
	}
	slices.Sort(allowed)
	return nil, nil, methodNotAllowed(allowed)
}

// bind tells whether a path fits a pattern, and takes its parameters. What cannot be an id fits nothing,
// so no outsider's text becomes part of a document's key.
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
		case segment != have[i]:
			return false
		}
	}
	return true
}
