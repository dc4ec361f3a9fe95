package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestDue checks that a request that could not be sent when it was due is late.
func TestDue(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	defer server.Close()
	defer func(url string, perSecond float64) { *address, *rate = url, perSecond }(*address, *rate)
	*address, *headers, *rate = server.URL, "x-api-key=k", 1
	const stall = time.Hour
	if r := send(http.DefaultClient, job{due: time.Now().Add(-stall)}); r.failure != "" || r.first < stall || r.total < r.first {
		t.Errorf("%+v", r)
	}
}

// TestFailures checks that a 500 from a peer is only counted, even if the peer sends nothing else. A 500 from any
// other server must be a problem.
func TestFailures(t *testing.T) {
	var seen, failing atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if seen.Add(1) <= failing.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, "data: {}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	*address, *headers = server.URL, "x-api-key=k"
	for _, c := range []struct {
		failing int64
		peer    bool
		failed  int
		problem string
	}{
		{0, false, 0, ""},
		{1, true, 1, ""},
		{1, false, 1, "1 of 4 requests failed"},
		{4, true, 4, ""},
		{4, false, 4, "4 of 4 requests failed"},
	} {
		seen.Store(0)
		failing.Store(c.failing)
		*peer = c.peer
		var results []result
		for i := range 4 {
			results = append(results, send(http.DefaultClient, job{number: i}))
		}
		s, problem := summarize(results, time.Second)
		if s.Failed != c.failed || s.Errors != c.failed || s.Requests != 4 || !strings.HasPrefix(problem, c.problem) || (problem == "") != (c.problem == "") {
			t.Errorf("%+v: %+v, %q", c, s, problem)
		}
		if served := c.failed < 4; problem == "" && (s.P50 > 0 != served || s.FirstP50 > 0 != served) {
			t.Errorf("%+v: %+v", c, s)
		}
	}
}
