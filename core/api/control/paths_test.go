package control_test

import (
	"testing"

	"github.com/postern-ai/postern/core/api/control"
)

func TestServes(t *testing.T) {
	for path, want := range map[string]bool{
		"/openapi.yaml": true, "/dashboard": true, "/dashboard/": true, "/dashboard/assets/app.js": true, "/api/admin": true,
		"/api/admin/projects": true, "/api/violations": true, "/api/violations/v_1": true, "/api/models-registry": true, "/api/compliance/exports": true,
		"/": false, "/openapi.yaml/": false, "/openapi.yamls": false, "/openapi": false, "/dashboards": false, "/api": false, "/api/": false,
		"/api/administrator": false, "/api/usage": false, "/v1/models": false, "/x/dashboard": false,
	} {
		if got := control.Serves(path); got != want {
			t.Errorf("Serves(%q) is %t", path, got)
		}
	}
}
