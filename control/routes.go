package control

import (
	"net/http"
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

const (
	sessionPath  = "/api/admin/session" // for signing in and out
	projectsPath = "/api/admin/projects"
	projectPath  = projectsPath + "/{project}"
	registryPath = "/models-registry"
)

// route is one endpoint. Every route but sign-in requires authentication: by an API key with a permission, or, if
// permission is 0, as an operator.
type route struct {
	method, pattern string
	serve           func(*handler, *call) (answer, error)
	permission      doc.Permission
}

// routes are all endpoints.
var routes = slices.Concat(adminRoutes, forBoth(projectRoutes), forBoth(complianceRoutes))

// projectRoutes are the endpoints for project keys, under /api. Operators have the same under the project's path.
var projectRoutes = slices.Concat(violationRoutes, registryRoutes)

// forBoth returns the endpoints for project keys and those for operators.
func forBoth(shared []route) (all []route) {
	for _, r := range shared {
		all = append(all, route{r.method, "/api" + r.pattern, r.serve, r.permission}, route{r.method, projectPath + r.pattern, r.serve, 0})
	}
	return all
}

var adminRoutes = []route{
	{http.MethodPost, sessionPath, (*handler).signIn, 0},
	{http.MethodGet, sessionPath, (*handler).getSession, 0},
	{http.MethodDelete, sessionPath, (*handler).signOut, 0},
	{http.MethodGet, "/api/admin/audit", (*handler).listAudit, 0},
	{http.MethodPost, exportPath, (*handler).exportObject, 0},
	{http.MethodPost, importPath, (*handler).beginImport, 0},
	{http.MethodPost, importPath + "/rows", (*handler).importRows, 0},
	{http.MethodPost, importPath + "/finish", (*handler).finishImport, 0},
	{http.MethodGet, "/api/admin/catalog", (*handler).getCatalog, 0},
	{http.MethodGet, "/api/admin/providers", (*handler).listProviders, 0},
	{http.MethodPost, projectsPath, (*handler).createProject, 0},
	{http.MethodGet, projectsPath, (*handler).listProjects, 0},
	{http.MethodGet, projectPath, (*handler).getProject, 0},
	{http.MethodPatch, projectPath, (*handler).patchProject, 0},
	{http.MethodPost, projectPath + "/archive", (*handler).archiveProject, 0},
	{http.MethodPost, projectPath + "/restore", (*handler).restoreProject, 0},
	{http.MethodGet, projectPath + "/governor", (*handler).getGovernor, 0},
	{http.MethodPut, projectPath + "/governor", (*handler).putGovernor, 0},
	{http.MethodPost, projectPath + "/governor/try", (*handler).tryGovernor, 0},
	{http.MethodGet, "/api/admin/governor/rules", (*handler).listGovernorRules, 0},
	{http.MethodGet, projectPath + "/routes", (*handler).listRoutes, 0},
	{http.MethodGet, projectPath + "/usage", (*handler).getUsage, 0},
	{http.MethodGet, projectPath + "/requests", (*handler).listRequests, 0},
	{http.MethodGet, projectPath + "/provider-keys", (*handler).listProviderKeys, 0},
	{http.MethodPut, projectPath + "/provider-keys/{provider}", (*handler).putProviderKey, 0},
	{http.MethodDelete, projectPath + "/provider-keys/{provider}", (*handler).deleteProviderKey, 0},
	{http.MethodPut, projectPath + registryPath + "/enforcement", (*handler).putEnforcement, 0},
	{http.MethodPost, projectPath + "/keys", (*handler).createKey, 0},
	{http.MethodGet, projectPath + "/keys", (*handler).listKeys, 0},
	{http.MethodGet, projectPath + "/keys/{key}", (*handler).getKey, 0},
	{http.MethodPatch, projectPath + "/keys/{key}", (*handler).patchKey, 0},
	{http.MethodDelete, projectPath + "/keys/{key}", (*handler).deleteKey, 0},
	{http.MethodPost, projectPath + "/keys/{key}/rotate", (*handler).rotateKey, 0},
	{http.MethodPost, projectPath + "/keys/{key}/deactivate", (*handler).deactivateKey, 0},
	{http.MethodPost, projectPath + "/keys/{key}/reactivate", (*handler).reactivateKey, 0},
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
	var advice string
	for i := range routes {
		c := &call{Context: r.Context(), request: r}
		if !c.bind(routes[i].pattern, r.URL.EscapedPath()) {
			continue
		}
		if routes[i].pattern == projectPath && method == http.MethodDelete {
			advice = "; archive the project with POST " + r.URL.EscapedPath() + "/archive"
		}
		if routes[i].method == method {
			return &routes[i], c, nil
		}
		if allowed = append(allowed, routes[i].method); routes[i].method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	if allowed == nil {
		return nil, nil, unknownPath(r.URL.EscapedPath())
	}
	slices.Sort(allowed)
	return nil, nil, methodNotAllowed(allowed, r.Method, advice)
}

// unknownPath is a 404 for a path without an endpoint. It describes a project or key that is not in the form
// of an ID.
func unknownPath(path string) *refusal {
	segments := strings.Split(strings.TrimPrefix(path, projectsPath+"/"), "/")
	switch {
	case !strings.HasPrefix(path, projectsPath+"/") || segments[0] == "":
		return errNoEndpoint
	case !isID(segments[0], projectPrefix):
		return refuse(fault.NotFound, "project", badProjectID+got(segments[0]))
	case len(segments) > 2 && segments[1] == "keys" && segments[2] != "" && !isID(segments[2], keyPrefix):
		return refuse(fault.NotFound, "key", badKeyID+got(segments[2]))
	}
	return errNoEndpoint
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
		case segment == "{violation}" && isID(have[i], violationPrefix), segment == "{entry}" && isID(have[i], entryPrefix):
			c.id = have[i]
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
