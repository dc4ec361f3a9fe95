package kernel

import (
	"net/http"
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
)

// Paths of resources.
const (
	ProjectsPath = "/api/admin/projects"
	ProjectPath  = ProjectsPath + "/{project}"
	GroupsPath   = "/api/admin/groups"
	GroupPath    = GroupsPath + "/{group}"
	KeysPath     = "/api/admin/keys"     // the keys of all projects
	RequestsPath = "/api/admin/requests" // the requests of all projects
)

// Audience specifies which operators may use a route.
type Audience uint8

// The audiences. 0 means no operators: only project keys may use the route.
const (
	Anyone    Audience = iota + 1 // no authentication; used for sign-in
	Operators                     // owners and viewers
	Owners                        // owners only
)

// Unaudited takes the place of the audit action in a route that writes no audit entry, because the route changes
// nothing or a later request writes the entry.
const Unaudited = "none"

// Route is one endpoint. It contains everything that dispatching requests and testing the routes require.
type Route struct {
	Method, Path string
	// For specifies which operators may use the route. If it is 0, only project keys may use it.
	For Audience
	// Permission is the permission that a project key must have. If it is 0, project keys cannot use the route.
	Permission doc.Permission
	Body       int    // maximum size of the body in bytes; 0: no body
	Audit      string // action in the audit log; empty for a GET
	Operation  string // operationId in docs/openapi.yaml
	// KeyOperation is the operationId of the equivalent route for project keys; see ForBoth.
	KeyOperation string
	Serve        func(*Call) (Answer, error)
}

// ForBoth turns each route that project keys may use as well into two: one for the keys, under /api, and one for
// operators, under the project's path.
func ForBoth(shared ...Route) (all []Route) {
	for _, r := range shared {
		key, operator := r, r
		key.Path, key.For, key.Operation = "/api"+r.Path, 0, r.KeyOperation
		operator.Path, operator.Permission = ProjectPath+r.Path, 0
		all = append(all, key, operator)
	}
	return all
}

// Match finds the route for a request by its escaped path, in which an escaped slash does not separate segments. HEAD
// uses the route of GET, and Write omits the body. The error is a 404, or a 405 that names all methods of the path.
func Match(routes []Route, r *http.Request) (*Route, *Call, error) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var allowed []string
	var advice string
	for i := range routes {
		c := &Call{Context: r.Context(), Request: r, Action: routes[i].Audit, maxBody: routes[i].Body}
		if !c.bind(routes[i].Path, r.URL.EscapedPath()) {
			continue
		}
		if routes[i].Path == ProjectPath && method == http.MethodDelete {
			advice = "; archive the project with POST " + r.URL.EscapedPath() + "/archive"
		}
		if routes[i].Method == method {
			return &routes[i], c, nil
		}
		if allowed = append(allowed, routes[i].Method); routes[i].Method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	if allowed == nil {
		return nil, nil, unknownPath(r.URL.EscapedPath())
	}
	slices.Sort(allowed)
	return nil, nil, MethodNotAllowed(allowed, r.Method, advice)
}

// unknownPath returns a 404 for a path without an endpoint. If the path contains a malformed ID, hash or request ID,
// the error says so.
func unknownPath(path string) *Refusal {
	segments := strings.Split(strings.TrimPrefix(path, ProjectsPath+"/"), "/")
	id, isViolation := strings.CutPrefix(path, "/api/violations/")
	hash, isHash := strings.CutPrefix(path, KeysPath+"/")
	request, isRequest := strings.CutPrefix(path, RequestsPath+"/")
	group, isGroup := strings.CutPrefix(path, GroupsPath+"/")
	switch {
	case isHash && hash != "" && !strings.Contains(hash, "/"): // not repeated, because it may be a complete key
		return Refuse(fault.NotFound, "hash", "must be the SHA-256 of a key's value in 64 lowercase hexadecimal digits")
	case isRequest && request != "" && !strings.Contains(request, "/"):
		return Refuse(fault.NotFound, "request", "must be a request ID, which is req_ and 32 lowercase hexadecimal digits"+Got(request))
	case isGroup && group != "" && !strings.Contains(group, "/"):
		return Refuse(fault.NotFound, "group", BadGroupID+Got(group))
	case isViolation && id != "" && !strings.Contains(id, "/"):
		return badViolation(id)
	case len(segments) == 3 && segments[1] == "violations" && segments[2] != "" && IsID(segments[0], ProjectPrefix):
		return badViolation(segments[2])
	case !strings.HasPrefix(path, ProjectsPath+"/") || segments[0] == "":
		return errNoEndpoint
	case !IsID(segments[0], ProjectPrefix):
		return Refuse(fault.NotFound, "project", BadProjectID+Got(segments[0]))
	case len(segments) > 2 && segments[1] == "keys" && segments[2] != "" && !IsID(segments[2], KeyPrefix):
		return Refuse(fault.NotFound, "key", BadKeyID+Got(segments[2]))
	}
	return errNoEndpoint
}

func badViolation(id string) *Refusal {
	return Refuse(fault.NotFound, "violation", "must be a violation ID, which starts with "+ViolationPrefix+Got(id))
}

// bind reports whether a path matches a pattern, and sets the path parameters. Where the pattern has an ID, only text
// in the form of an ID matches, so arbitrary text never becomes part of a document's key.
func (c *Call) bind(pattern, path string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return false
	}
	for i, segment := range want {
		switch {
		case segment == "{project}" && IsID(have[i], ProjectPrefix):
			c.Project = have[i]
		case segment == "{group}" && IsGroupID(have[i]):
			c.Group = have[i]
		case segment == "{key}" && IsID(have[i], KeyPrefix):
			c.Key = have[i]
		case segment == "{provider}" && isProviderName(have[i]):
			c.Provider = have[i]
		case segment == "{violation}" && IsID(have[i], ViolationPrefix), segment == "{entry}" && IsID(have[i], EntryPrefix):
			c.ID = have[i]
		case segment == "{request}" && IsRequestID(have[i]):
			c.ID = have[i]
		case segment == "{hash}" && IsSHA256(have[i]):
			c.Hash = have[i]
		case segment != have[i]:
			return false
		}
	}
	return true
}

// isProviderName reports whether text has the form of a provider name.
func isProviderName(text string) bool {
	return text != "" && len(text) <= maxIDLength && !strings.ContainsFunc(text, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
}
