// Package control contains what the core knows of the control plane: its paths and its view of the providers.
package control

import "strings"

const (
	// OpenAPIPath is the path of the API description.
	OpenAPIPath = "/openapi.yaml"
	// DashboardPath is the path of the dashboard's first page.
	DashboardPath = "/dashboard"
	// DocsPath is the path of the documentation.
	DocsPath = "/docs"
	// errorsPage is the page that documents all errors. An error's code is the fragment of its address.
	errorsPage = DocsPath + "/reference/errors/"
)

// folders are paths of the control plane. All paths below them belong to it too.
var folders = []string{"/api/admin", DashboardPath, DocsPath, "/api/violations", "/api/models-registry", "/api/compliance"}

// Serves reports whether a path belongs to the control plane.
func Serves(path string) bool {
	if path == OpenAPIPath {
		return true
	}
	for _, folder := range folders {
		if isIn(folder, path) {
			return true
		}
	}
	return false
}

// IsDocs reports whether a path belongs to the documentation.
func IsDocs(path string) bool { return isIn(DocsPath, path) }

func isIn(folder, path string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// HelpLink returns the value of an error response's Link header (RFC 8288). The link leads to the documentation of
// the error's code.
func HelpLink(code string) string { return "<" + errorsPage + "#" + code + `>; rel="help"` }
