package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestShutdownFinishes: a stream in progress finishes with all its text. In the meantime, new connections are
// refused, and the server is not ready.
func TestShutdownFinishes(t *testing.T) {
	p := newProvider(t)
	r := start(t, testConfig(p), nil)
	s := r.openStream()
	r.stop()
	eventually(t, "draining", func() bool { return errors.Is(r.Ready(t.Context()), ErrDraining) })
	eventually(t, "refusing connections", func() bool {
		_, err := http.Get(r.url + "/")
		return err != nil
	})
	p.more <- "second"
	s.until("second")
	close(p.more)
	rest, err := s.rest()
	if err != nil || !strings.Contains(rest, "[DONE]") {
		t.Errorf("the stream ended with %v: %q", err, rest)
	}
	if err := r.wait(); err != nil {
		t.Errorf("Run returned %v", err)
	}
}

// TestShutdownCuts: a stream that does not finish in time ends with its API's error event. The text that was sent is
// billed. A non-streaming response that has not arrived becomes an error response. Both errors name the shutdown, not
// the provider.
func TestShutdownCuts(t *testing.T) {
	p := newProvider(t)
	c := testConfig(p)
	c.Drain = 50 * time.Millisecond
	r := start(t, c, nil)
	s := r.openStream()
	<-p.calls
	whole := make(chan string, 1)
	go func() {
		response, err := r.client.Do(r.request(false, "whole"))
		if err != nil {
			whole <- err.Error()
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		whole <- fmt.Sprintln(response.StatusCode, response.Header.Get("Retry-After"), string(body))
	}()
	<-p.calls
	r.stop()
	rest, err := s.rest()
	if err != nil || !strings.Contains(rest, `"code":"shutting_down"`) || strings.Contains(rest, "[DONE]") {
		t.Errorf("the stream ended with %v: %q", err, rest)
	}
	if got := <-whole; !strings.HasPrefix(got, "503 1 ") || !strings.Contains(got, `"code":"shutting_down"`) {
		t.Errorf("the whole response is %s", got)
	}
	if err := r.wait(); err != nil {
		t.Errorf("Run returned %v", err)
	}
	after := start(t, r.config, nil)
	after.project = r.project
	for _, request := range after.requests(2) {
		if m := request.(map[string]any); m["estimated"] != true {
			t.Errorf("recorded without a flagged estimate: %v", m)
		}
	}
}

// TestDrainDelay: until the delay of a shutdown is over, new connections are served, and responses tell clients not
// to keep them open. Idle connections stay open.
func TestDrainDelay(t *testing.T) {
	c := testConfig(nil)
	c.DrainDelay = giveUp
	c.Env["POSTERN_VIEWER_TOKEN"] = "a-viewer-token-for-tests"
	signals := make(chan os.Signal)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.Test.Listener, c.Log = listener, slog.New(slog.DiscardHandler)
	s, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.RunSignals(context.Background(), signals, nil) }()
	eventually(t, "ready", func() bool { return s.Ready(t.Context()) == nil })
	get := func(client *http.Client) *http.Response {
		t.Helper()
		response, err := client.Get("http://" + listener.Addr().String() + "/")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		return response
	}
	idle := &http.Client{Transport: &http.Transport{}}
	if get(idle).Close {
		t.Error("the connection is closed before the shutdown")
	}
	signals <- syscall.SIGTERM
	eventually(t, "draining", func() bool { return errors.Is(s.Ready(t.Context()), ErrDraining) })
	for range 3 {
		if fresh := (&http.Client{Transport: &http.Transport{}}); !get(fresh).Close {
			t.Error("a new connection is kept although the server shuts down")
		}
	}
	reused := false
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }}
	request, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", "http://"+listener.Addr().String()+"/", nil)
	response, err := idle.Do(request)
	if err != nil || !reused {
		t.Errorf("the idle connection: reused %v, %v", reused, err)
	} else {
		_ = response.Body.Close()
	}
	signals <- syscall.SIGTERM
	if err := <-ended; !errors.Is(err, ErrInterrupted) {
		t.Errorf("RunSignals returned %v", err)
	}
}

// TestDrainDelayByDefault: the delay is 0 until the first readiness probe. A configured delay takes precedence.
func TestDrainDelayByDefault(t *testing.T) {
	for configured, want := range map[time.Duration][2]time.Duration{DrainDelayIfProbed: {0, probedDrainDelay}, 0: {0, 0}, time.Minute: {time.Minute, time.Minute}} {
		c := testConfig(nil)
		c.DrainDelay, c.Log = configured, slog.New(slog.DiscardHandler)
		s, err := New(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		before := s.drainDelay()
		s.opsHandler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/livez", nil))
		if got := s.drainDelay(); got != before {
			t.Errorf("%v: a liveness probe makes it %v", configured, got)
		}
		s.opsHandler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/readyz", nil))
		if got := [2]time.Duration{before, s.drainDelay()}; got != want {
			t.Errorf("%v: %v before and after a readiness probe, want %v", configured, got, want)
		}
	}
}

// TestSecondSignal: the second signal ends the server at once, although a stream is in progress.
func TestSecondSignal(t *testing.T) {
	p := newProvider(t)
	c := testConfig(p)
	signals := make(chan os.Signal)
	ended := make(chan error, 1)
	r := start(t, c, nil)
	s, err := New(t.Context(), r.config)
	if err != nil {
		t.Fatal(err)
	}
	go func() { ended <- s.RunSignals(context.Background(), signals, nil) }()
	eventually(t, "ready", func() bool { return s.Ready(t.Context()) == nil })
	signals <- os.Interrupt
	held := s.enter() // a request that does not end
	defer held.requests.Done()
	signals <- syscall.SIGTERM
	select {
	case err := <-ended:
		if err != nil && !errors.Is(err, ErrInterrupted) {
			t.Errorf("RunSignals returned %v", err)
		}
	case <-time.After(giveUp):
		t.Fatal("the second signal does not end the server")
	}
}

// TestNoGoroutineLeft: a server serves requests of every kind. After Run, no goroutine of that server is left.
func TestNoGoroutineLeft(t *testing.T) {
	p := newProvider(t)
	before := runtime.NumGoroutine()
	t.Run("server", func(t *testing.T) {
		r := start(t, testConfig(p), nil)
		abandoned := r.openStream()
		_ = abandoned.response.Body.Close()
		<-p.left
		s := r.openStream()
		close(p.more)
		_, _ = s.rest()
		r.stop()
		_ = r.wait()
		r.Server.transport.CloseIdleConnections()
	})
	p.CloseClientConnections()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	eventually(t, fmt.Sprintf("down to %d goroutines", before), func() bool { return runtime.NumGoroutine() <= before+1 })
}
