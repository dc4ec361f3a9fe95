package server

import (
	"context"
	"errors"
	"flag"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/host"
	"github.com/postern-ai/postern/store"
)

// countingStore counts NextAlarm and fails Ring while failing is set.
type countingStore struct {
	store.Store
	looks   atomic.Int64
	rings   atomic.Int64
	failing atomic.Bool
}

func (c *countingStore) NextAlarm(ctx context.Context) (uint64, uint64, error) {
	c.looks.Add(1)
	return c.Store.NextAlarm(ctx)
}

func (c *countingStore) Ring(ctx context.Context, command func(store.Object, store.Rows, uint64) error) (bool, error) {
	c.rings.Add(1)
	if c.failing.Load() {
		return false, store.ErrUnavailable
	}
	return c.Store.Ring(ctx, command)
}

// TestAlarmWakes: if a command sets an alarm, the loop wakes up. Otherwise, it sleeps. While the store fails, the
// loop's pauses grow, so it does not try all the time.
func TestAlarmWakes(t *testing.T) {
	c := testConfig(nil)
	counting := &countingStore{Store: c.Test.Store}
	c.Test.Store = counting
	r := start(t, c, nil)
	settled := func() bool {
		now, at, err := counting.Store.NextAlarm(t.Context())
		return err == nil && (at == 0 || at > now)
	}
	eventually(t, "without a due alarm", settled)
	id := store.Object{Class: abi.ClassLedger, Name: "prj_alarm"}
	set := func(rows store.Rows, now uint64) error { return rows.Commit(nil, nil, now) }
	counting.failing.Store(true)
	if err := counting.Run(t.Context(), id, set); err != nil {
		t.Fatal(err)
	}
	r.alarms.notify(1)
	eventually(t, "failing", func() bool { return counting.rings.Load() > 0 })
	before := counting.rings.Load()
	for n := range 200 { // wake-ups must not end the pause
		r.alarms.notify(uint64(n + 1))
		runtime.Gosched()
	}
	if n := counting.rings.Load() - before; n > 5 {
		t.Errorf("%d more attempts while the store fails", n)
	}
	counting.failing.Store(false)
	eventually(t, "fired", settled)
}

// TestExports checks that files are written only below the directory.
func TestExports(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "exports")
	write, err := exportsTo(folder)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := write(t.Context(), "usage/2026-11-22/proj_1.ndjson", []byte("{}\n")); err != nil {
			t.Fatal(err)
		}
	}
	if found, _ := filepath.Glob(folder + "/usage/2026-11-22/*"); len(found) != 1 {
		t.Errorf("files %v, want one", found)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../escaped", "usage/../../escaped", "/tmp/escaped", "link/escaped"} {
		if err := write(t.Context(), name, []byte("x")); err == nil {
			t.Errorf("%s is written", name)
		}
	}
}

type panicking struct {
	host.Objects
	on *atomic.Bool
}

func (p panicking) Call(ctx context.Context, class abi.Class, name, region string, command []byte) ([]byte, error) {
	if p.on.Load() {
		panic("a secret in a panic")
	}
	return p.Objects.Call(ctx, class, name, region, command)
}

// TestPanics: after a panic below the gateway or the control plane, the client gets a response, and the server keeps
// running. The panic value is not logged.
func TestPanics(t *testing.T) {
	var on atomic.Bool
	c := testConfig(newProvider(t))
	c.Test.Objects = func(o host.Objects) host.Objects { return panicking{o, &on} }
	r := start(t, c, nil)
	log.SetOutput(r.log) // of the control plane
	defer log.SetOutput(os.Stderr)
	on.Store(true)
	response, err := r.client.Do(r.request(false, "hello"))
	if err != nil || response.StatusCode < 500 {
		t.Errorf("the gateway responds %v, %v", response, err)
	}
	if status := r.adminStatus(testToken); status != 500 {
		t.Errorf("the control plane responds with status %d", status)
	}
	on.Store(false)
	if status := r.adminStatus(testToken); status != 200 {
		t.Errorf("afterwards, the control plane responds with status %d", status)
	}
	if logged := r.log.String(); strings.Contains(logged, "a secret") || strings.Count(logged, "panicking.Call") < 2 {
		t.Errorf("logged %s", logged)
	}
}

// TestHandlerPanics: if a handler panics, only its own connection is aborted.
func TestHandlerPanics(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	server := r.newHTTPServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a secret in a panic") }), false)
	defer func() {
		if problem := recover(); problem != http.ErrAbortHandler {
			t.Errorf("the handler panics with %v", problem)
		}
		if log := r.log.String(); strings.Contains(log, "a secret") || !strings.Contains(log, "TestHandlerPanics") {
			t.Errorf("logged %s", log)
		}
	}()
	server.Handler.ServeHTTP(&memoryResponse{header: http.Header{}}, &http.Request{})
}

// TestPostgresSecrets: with PostgreSQL, the secrets must be configured.
func TestPostgresSecrets(t *testing.T) {
	_, err := New(t.Context(), Config{Database: "postgres://user:secret@db/postern", Data: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "POSTERN_ADMIN_TOKEN") || strings.Contains(err.Error(), "secret@") {
		t.Errorf("error %v", err)
	}
}

// TestSecretsFile: the server does not start if the file is damaged or others can read it.
func TestSecretsFile(t *testing.T) {
	s, c := &Server{}, Config{Data: t.TempDir()}
	if err := s.addSecrets(t.Context(), &c); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.Data, SecretsFile)
	_ = os.Chmod(path, 0o644)
	if err := s.addSecrets(t.Context(), &c); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others can read: %v", err)
	}
	_ = os.Chmod(path, 0o600)
	_ = os.WriteFile(path, []byte(`{"adminToken":"x"`), 0o600)
	if err := s.addSecrets(t.Context(), &c); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged file: %v", err)
	}
}

var idleStreams = flag.Int("idle", 500, "streams of TestIdleStreams")

// maxIdleBytes is the memory limit per idle stream. It covers the gateway, the provider and the caller, which are all
// in this process.
const maxIdleBytes = 200 << 10

// TestIdleStreams measures the memory of idle streams.
func TestIdleStreams(t *testing.T) {
	p := newProvider(t)
	p.calls = make(chan struct{}, *idleStreams+1)
	c := testConfig(p)
	c.Env["POSTERN_CATALOG"] = `{"plans":[{"name":"unlimited","perSecond":0,"perDay":0,"developmentPerSecond":0,"developmentPerDay":0,"concurrent":100000,"budget":"1000000","governor":false}]}`
	r := start(t, c, nil)
	first := r.openStream()
	before := inUse()
	streams := make([]*stream, *idleStreams)
	for i := range streams {
		streams[i] = r.openStream()
	}
	after := inUse()
	perStream := int64(after-before) / int64(len(streams))
	t.Logf("%d bytes per idle stream, gateway, provider and caller together; %d goroutines", perStream, runtime.NumGoroutine())
	if perStream > maxIdleBytes {
		t.Errorf("%d bytes per idle stream, limit %d", perStream, maxIdleBytes)
	}
	close(p.more)
	for _, s := range append(streams, first) {
		if rest, err := s.rest(); err != nil || !strings.Contains(rest, "[DONE]") {
			t.Fatalf("a stream ended with %v: %q", err, rest)
		}
	}
	r.stop()
	if err := r.wait(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// inUse returns the bytes of heap and stacks in use after a garbage collection.
func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
