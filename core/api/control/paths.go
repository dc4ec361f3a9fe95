// Package control is what the core knows of the control plane: its paths, and the view of the providers that it displays.
package control

import "strings"

const (
	// OpenAPIPath is the path of the API description.
	OpenAPIPath = "/openapi.yaml"
	// DashboardPath is the path of the dashboard's first page.
	DashboardPath = "/dashboard"
)

// folders are paths that the control plane serves together with every path below them.
var folders = []string{"/api/admin", DashboardPath, "/api/violations", "/api/models-registry", "/api/compliance"}

// Serves reports whether a path belongs to the control plane.
func Serves(path string) bool {
	if path == OpenAPIPath {
		return true
	}
	for _, folder := range folders {
		if path == folder || strings.HasPrefix(path, folder+"/") {
			return true
		}
	}
	return false
}
