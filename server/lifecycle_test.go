package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestShutdownFinishes: a stream in progress finishes, with all its text. New connections are refused meanwhile, and the
// server is not ready.
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

// TestShutdownCuts: a stream that does not finish in time ends with its API's error event and is billed for the text sent.
// A whole response that has not come is an error response.
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
		_ = response.Body.Close()
		whole <- fmt.Sprint(response.StatusCode)
	}()
	<-p.calls
	r.stop()
	rest, err := s.rest()
	if err != nil || !strings.Contains(rest, `"error"`) || strings.Contains(rest, "[DONE]") {
		t.Errorf("the stream ended with %v: %q", err, rest)
	}
	if got := <-whole; got != "502" {
		t.Errorf("the whole response has status %s, want 502", got)
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

// TestNoGoroutineLeft: after Run, nothing is left of a server that has served requests of every kind.
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
