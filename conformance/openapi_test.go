package conformance

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestContractRefuses(t *testing.T) {
	contract, err := NewContract("../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const id = "req_0123456789abcdef0123456789abcdef"
	const health = `{"status":"ok","authenticated":true,"project_id":"proj_1"}`
	good := http.Header{"X-Request-Id": {id}, "Cache-Control": {"private, no-store"}}
	for _, c := range []struct {
		what, method, path string
		status             int
		header             http.Header
		body               string
		ok                 bool
	}{
		{"a right answer", "GET", "/api/health", 200, good, health, true},
		{"a missing header", "GET", "/api/health", 200, http.Header{"Cache-Control": {"private, no-store"}}, health, false},
		{"a wrong header", "GET", "/api/health", 200, http.Header{"X-Request-Id": {"1"}, "Cache-Control": {"private, no-store"}}, health, false},
		{"one member too many", "GET", "/api/health", 200, good, strings.Replace(health, "{", `{"key":"sk",`, 1), false},
		{"a wrong type", "GET", "/api/health", 200, good, strings.Replace(health, "true", `"yes"`, 1), false},
		{"not JSON", "GET", "/api/health", 200, good, "ok", false},
		{"an undescribed status", "GET", "/api/health", 418, good, health, false},
		{"an undescribed path with 200", "GET", "/api/nothing", 200, good, health, false},
		{"a right 404", "GET", "/api/nothing", 404, good, `{"error":"Not found","code":"not_found","requestId":"` + id + `"}`, true},
		{"a 405 without Allow", "PUT", "/api/health", 405, good, `{"error":"Method not allowed","code":"method_not_allowed","requestId":"` + id + `"}`, false},
		{"an unknown code", "GET", "/api/nothing", 404, good, `{"error":"Not found","code":"oops","requestId":"` + id + `"}`, false},
		{"a body where there is none", "DELETE", "/api/admin/projects/proj_1/keys/key_1", 204, good, "{}", false},
	} {
		request := httptest.NewRequest(c.method, c.path, nil)
		err := contract.Check(request, &http.Response{StatusCode: c.status, Header: c.header}, []byte(c.body))
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
