package host

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
)

// TestForward: the control plane gets the request as the client sent it, with two exceptions. The core's headers and
// the address header replace the client's headers of the same names.
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
		_, _ = fmt.Fprintf(w, "%s %s %s %q %q %q %q %q", r.Method, r.URL, body,
			r.Header["X-Request-Id"], r.Header["X-Postern-Client"], r.Header["X-New"], r.Header["X-Kept"], r.Header["X-Postern-Address"])
	})
	clock := fixedClock(1)
	h, err := New(Options{Engine: engine, Clock: &clock, Control: control})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/api/admin/projects?a=b", strings.NewReader("body"))
	r.Header = http.Header{"X-Request-Id": {"forged"}, "X-Postern-Client": {"forged", "twice"}, "X-Kept": {"1", "2"}, "X-Postern-Address": {"198.51.100.1", "twice"}}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	h.Wait()
	want := `POST /api/admin/projects?a=b body ["req_core"] ["core"] ["1"] ["1" "2"] ["192.0.2.1"]`
	if got := w.Body.String(); w.Code != http.StatusCreated || got != want {
		t.Errorf("status %d\n%s, want\n%s", w.Code, got, want)
	}
	if got := r.Header["X-Request-Id"]; got[0] != "forged" {
		t.Errorf("the original request was changed: X-Request-Id %q", got)
	}
}

func forwardAll(in *abi.StepInput) abi.StepOutput {
	if in.Event.Kind != abi.EventRequest {
		return abi.StepOutput{}
	}
	return abi.StepOutput{Actions: []abi.Action{{Kind: abi.ActionForward, ID: 1}}}
}

// TestForwardWithoutAddress: if the connection has no address, the client's address header is removed.
func TestForwardWithoutAddress(t *testing.T) {
	h := newStubHost(t, &stub{step: forwardAll}, func(o *Options) {
		o.Control = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprint(w, len(r.Header.Values("X-Postern-Address")))
		})
	})
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr, r.Header = "@", http.Header{"X-Postern-Address": {"198.51.100.1"}}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Body.String() != "0" {
		t.Errorf("the control plane got %s address headers, want 0", w.Body)
	}
}

// TestControlPanics: a panic in the control plane fails only its own request, and the panic value is not logged. A
// response that has started is aborted, so that a partial response does not look complete.
func TestControlPanics(t *testing.T) {
	var log bytes.Buffer
	var statuses []uint64
	h := newStubHost(t, &stub{step: func(in *abi.StepInput) abi.StepOutput {
		if in.Event.Kind == abi.EventResponse {
			statuses = append(statuses, in.Event.Code)
		}
		return forwardAll(in)
	}}, func(o *Options) {
		o.Log = &log
		o.Control = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			switch r.URL.Path {
			case "/during":
				_, _ = io.WriteString(w, "partial")
				_ = http.NewResponseController(w).Flush()
				panic("secret")
			case "/before":
				panic("secret")
			}
			w.Header().Set("Content-Length", "2")
			_, _ = io.WriteString(w, "ok")
		})
	})
	server := httptest.NewServer(h)
	defer server.Close()
	get := func(path string) (status int, body string, err error) {
		defer h.Wait()
		response, err := http.Get(server.URL + path)
		if err != nil {
			return 0, "", err
		}
		defer response.Body.Close()
		data, err := io.ReadAll(response.Body)
		return response.StatusCode, string(data), err
	}
	if status, body, err := get("/before"); status != 500 || !lastResortBody.MatchString(body) || err != nil {
		t.Errorf("panic before the response: status %d, body %q, %v", status, body, err)
	}
	if status, body, err := get("/during"); err == nil {
		t.Errorf("panic during the response: status %d, body %q; want an aborted connection", status, body)
	}
	if status, body, err := get("/"); status != 200 || body != "ok" || err != nil {
		t.Errorf("after the panics: status %d, body %q, %v", status, body, err)
	}
	h.Wait()
	if fmt.Sprint(statuses) != "[500 200 200]" {
		t.Errorf("the core got the statuses %v", statuses)
	}
	if got := log.String(); strings.Count(got, `"code":"control_panicked"`) != 2 || strings.Contains(got, "secret") {
		t.Errorf("logged:\n%s", got)
	}
}
