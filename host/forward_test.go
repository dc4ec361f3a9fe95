package host

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
)

// TestForward: the control plane gets the request as it came, with the core's headers in place of any that
// the caller sent under their names.
func TestForward(t *testing.T) {
	engine := &stub{step: func(in *abi.StepInput) abi.StepOutput {
		if in.Event.Kind != abi.EventRequest {
			return abi.StepOutput{}
		}
		headers := []abi.Header{{Name: "x-request-id", Value: "req_core"}, {Name: "x-postern-client", Value: "core"}, {Name: "x-new", Value: "1"}}
		return abi.StepOutput{Actions: []abi.Action{{Kind: abi.ActionForward, ID: 1, Headers: headers}}}
	}}
	control := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 4)
		_, _ = r.Body.Read(body)
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, "%s %s %s %q %q %q %q", r.Method, r.URL, body,
			r.Header["X-Request-Id"], r.Header["X-Postern-Client"], r.Header["X-New"], r.Header["X-Kept"])
	})
	clock := fixedClock(1)
	h, err := New(Options{Engine: engine, Clock: &clock, Control: control})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/api/admin/projects?a=b", strings.NewReader("body"))
	r.Header = http.Header{"X-Request-Id": {"forged"}, "X-Postern-Client": {"forged", "twice"}, "X-Kept": {"1", "2"}}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	h.Wait()
	want := `POST /api/admin/projects?a=b body ["req_core"] ["core"] ["1"] ["1" "2"]`
	if got := w.Body.String(); w.Code != http.StatusCreated || got != want {
		t.Errorf("answered %d\n%s, want\n%s", w.Code, got, want)
	}
	if got := r.Header["X-Request-Id"]; got[0] != "forged" {
		t.Errorf("the caller's own request was changed: %q", got)
	}
}
