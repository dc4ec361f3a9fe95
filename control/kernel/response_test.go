package kernel_test

import (
	"net/http/httptest"
	"testing"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

// A response that cannot be encoded becomes a 500 in the usual shape.
func TestUnencodableResponseIs500(t *testing.T) {
	controltest.Quiet(t)
	w := httptest.NewRecorder()
	kernel.Write(w, httptest.NewRequest("GET", "/", nil), "req_1", kernel.Answer{Status: 200, Body: make(chan int)})
	want := string(fault.Internal.Append(nil, "req_1", nil))
	if w.Code != 500 || w.Body.String() != want || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
}
