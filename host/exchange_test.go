package host

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/store"
)

type objectsFunc func(name string) ([]byte, error)

func (f objectsFunc) Call(_ context.Context, _ abi.Class, name, _ string, _ []byte) ([]byte, error) {
	return f(name)
}

// TestUnawaitedCall: a call without an ID does not delay the response. It is retried once if the object was
// unavailable, and the core gets no event for it.
func TestUnawaitedCall(t *testing.T) {
	for _, c := range []struct {
		name   string
		errs   []error
		calls  int
		logged string
	}{
		{"success", []error{nil}, 1, ""},
		{"unavailable once", []error{ErrUnavailable, nil}, 2, ""},
		{"unavailable twice", []error{ErrUnavailable, ErrUnavailable, nil}, 2, "call_failed"},
		{"overloaded", []error{ErrOverloaded, nil}, 1, "call_failed"},
		{"failure", []error{errors.New("secret"), nil}, 1, "call_failed"},
	} {
		var log bytes.Buffer
		var calls int
		var events []abi.EventKind
		responded := make(chan struct{})
		h := newStubHost(t, &stub{step: func(in *abi.StepInput) abi.StepOutput {
			events = append(events, in.Event.Kind)
			return abi.StepOutput{Actions: []abi.Action{{Kind: abi.ActionCall, Class: abi.ClassKeyMeter, Name: "00"}, respond(200, "")}}
		}}, func(o *Options) {
			o.Log = &log
			o.Objects = objectsFunc(func(string) ([]byte, error) {
				<-responded
				calls++
				return nil, c.errs[calls-1]
			})
		})
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		close(responded)
		h.Wait()
		if calls != c.calls || fmt.Sprint(events) != fmt.Sprint([]abi.EventKind{abi.EventRequest}) {
			t.Errorf("%s: %d calls, want %d; events %v", c.name, calls, c.calls, events)
		}
		if got := log.String(); (c.logged == "") != (got == "") || !strings.Contains(got, c.logged) || strings.Contains(got, "secret") {
			t.Errorf("%s: logged %q", c.name, got)
		}
	}
}

// TestStepPanics: a malformed message fails only its own step, even if the core is compiled in.
func TestStepPanics(t *testing.T) {
	var log bytes.Buffer
	e := &truncator{Engine: newNative(t)}
	h := newStubHost(t, e, func(o *Options) { o.Log = &log })
	get := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/nothing", nil))
		h.Wait()
		return w
	}
	e.truncate = true
	if w := get(); w.Code != 500 || !strings.Contains(w.Body.String(), `"code":"internal_error"`) || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("status %d, body %s", w.Code, w.Body)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"code":"step_failed"`) {
		t.Errorf("logged %q", got)
	}
	e.truncate = false
	if w := get(); w.Code != 404 {
		t.Errorf("after the failed step: status %d, body %s", w.Code, w.Body)
	}
}

// truncator truncates step messages while truncate is set.
type truncator struct {
	Engine
	truncate bool
}

func (e *truncator) Step(message []byte) ([]byte, error) {
	if e.truncate {
		message = message[:1]
	}
	return e.Engine.Step(message)
}

// TestStorageTiers checks that a read skips the tiers that the host does not have. If the host has none of the
// requested tiers, the outcome is OutcomeUnsupported.
func TestStorageTiers(t *testing.T) {
	const other = 4
	for where, want := range map[uint64]uint64{
		abi.WhereMemory: abi.OutcomeAbsent, abi.WhereKV: abi.OutcomeAbsent, abi.WhereMemory | abi.WhereKV: abi.OutcomeAbsent,
		other: abi.OutcomeUnsupported, other | abi.WhereMemory: abi.OutcomeAbsent, other | abi.WhereKV: abi.OutcomeAbsent, 0: abi.OutcomeUnsupported,
	} {
		var outcomes []uint64
		h := newStubHost(t, &stub{step: func(in *abi.StepInput) abi.StepOutput {
			if in.Event.Kind == abi.EventRequest {
				return abi.StepOutput{Actions: []abi.Action{{Kind: abi.ActionRead, ID: 1, Key: "a", Where: where}}}
			}
			outcomes = append(outcomes, in.Event.Code)
			return abi.StepOutput{Actions: []abi.Action{respond(200, "")}}
		}}, nil)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		h.Wait()
		if len(outcomes) != 1 || outcomes[0] != want {
			t.Errorf("tiers %d: outcomes %v, want %d", where, outcomes, want)
		}
	}
}

// TestHot checks that the core sets the limits. It also checks that an entry's size is the size of its key and value
// plus the overhead. The Worker's memory.test.mjs does the same.
func TestHot(t *testing.T) {
	clock := fixedClock(1_000_000)
	present := func(h *memoryCache, keys string) (found string) {
		for _, key := range keys {
			if _, ok := h.read(string(key)); ok {
				found += string(key)
			}
		}
		return found
	}
	h := newMemoryCache(&clock, &stubConfigured)
	h.write("a", make([]byte, 900), 1000)
	h.write("b", make([]byte, 899), 1000)
	if got := present(h, "ab"); got != "b" || h.bytes != 1000 {
		t.Errorf("after entries of 1,001 and 1,000 bytes: %q stored, %d bytes; want only the second", got, h.bytes)
	}
	h.clear()
	for _, key := range "abc" {
		h.write(string(key), make([]byte, 800), 1000)
	}
	present(h, "a")
	h.write("d", make([]byte, 800), 1000)
	if got := present(h, "abcd"); got != "acd" {
		t.Errorf("%q stored, want \"acd\": the least recently used entry is evicted", got)
	}
	clock--
	if got := present(h, "acd"); got != "" || h.bytes != 0 {
		t.Errorf("after the clock jumped back: %q stored, %d bytes; want none", got, h.bytes)
	}
	for i := range 5000 {
		h.write(fmt.Sprint("key", i%700), make([]byte, i*7919%990), 1000)
		if h.bytes > stubConfigured.MemoryBytes {
			t.Fatalf("%d bytes after %d writes, want at most %d", h.bytes, i+1, stubConfigured.MemoryBytes)
		}
	}
}

type wire struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, server *httptest.Server) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &wire{t, conn, bufio.NewReader(conn)}
}

func (w *wire) send(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) receive(method string) (*http.Response, string) {
	w.t.Helper()
	response, err := http.ReadResponse(w.in, &http.Request{Method: method})
	if err != nil {
		w.t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response, string(body)
}

// TestHead checks that the core gets the method HEAD and responds as it would to GET. The client gets the headers but no body.
func TestHead(t *testing.T) {
	var methods []string
	body := strings.Repeat("x", 5000)
	h := newStubHost(t, &stub{step: func(in *abi.StepInput) abi.StepOutput {
		for _, header := range in.Event.Headers {
			if header.Name == ":method" {
				methods = append(methods, header.Value)
			}
		}
		return abi.StepOutput{Actions: []abi.Action{respond(200, body)}}
	}}, nil)
	server := httptest.NewServer(h)
	defer server.Close()
	w := dial(t, server)
	for _, method := range []string{"HEAD", "GET", "HEAD"} { // a body after the first response would corrupt the second
		w.send(method + " / HTTP/1.1\r\nHost: x\r\n\r\n")
		response, got := w.receive(method)
		if response.StatusCode != 200 || response.ContentLength != 5000 || (got == body) != (method == "GET") {
			t.Errorf("%s: status %d, content-length %d, body of %d bytes", method, response.StatusCode, response.ContentLength, len(got))
		}
	}
	h.Wait()
	if fmt.Sprint(methods) != "[HEAD GET HEAD]" {
		t.Errorf("the core got the methods %v", methods)
	}
}

// TestResponseDuringUpload: a client that is still sending its body gets the response at once. When it has sent the
// rest, it can reuse the connection. In one case, the core canceled the body read. In the other, it never started the
// read.
func TestResponseDuringUpload(t *testing.T) {
	const size = 1 << 20
	read := abi.Action{Kind: abi.ActionReadBody, ID: 1, Buffer: 1, Limit: 4 << 20}
	for name, actions := range map[string][]abi.Action{
		"canceled read":                          {read, {Kind: abi.ActionCancel, ID: 1}, respond(401, "no")},
		"canceled read of a body over the limit": {{Kind: abi.ActionReadBody, ID: 1, Buffer: 1, Limit: 1000}, {Kind: abi.ActionCancel, ID: 1}, respond(401, "no")},
		"no read":                                {respond(401, "no")},
	} {
		for _, framing := range []string{"Content-Length: 1048576\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n100000\r\n"} {
			var events sync.Map
			h := newStubHost(t, &stub{step: func(in *abi.StepInput) abi.StepOutput {
				events.Store(in.Event.Kind, true)
				return abi.StepOutput{Actions: actions}
			}}, nil)
			server := httptest.NewServer(h)
			w := dial(t, server)
			for range 2 {
				w.send("POST / HTTP/1.1\r\nHost: x\r\n" + framing + strings.Repeat("x", size/2))
				if response, got := w.receive("POST"); response.StatusCode != 401 || got != "no" {
					t.Errorf("%s: status %d, body %q", name, response.StatusCode, got)
				}
				w.send(strings.Repeat("x", size/2))
				if strings.HasPrefix(framing, "Transfer") {
					w.send("\r\n0\r\n\r\n")
				}
			}
			_ = w.Close()
			server.Close()
			h.Wait()
			if _, ok := events.Load(abi.EventBody); ok {
				t.Errorf("%s: the core got a body event", name)
			}
		}
	}
}

func TestDisconnectDuringUpload(t *testing.T) {
	outcomes := make(chan uint64, 1)
	h := newStubHost(t, &stub{step: func(in *abi.StepInput) abi.StepOutput {
		switch in.Event.Kind {
		case abi.EventRequest:
			return abi.StepOutput{Actions: []abi.Action{{Kind: abi.ActionReadBody, ID: 1, Buffer: 1, Limit: 4 << 20}}}
		case abi.EventBody:
			outcomes <- in.Event.Code
			return abi.StepOutput{Actions: []abi.Action{respond(400, "no")}}
		}
		return abi.StepOutput{} // the client disconnected
	}}, nil)
	server := httptest.NewServer(h)
	defer server.Close()
	w := dial(t, server)
	w.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
	_ = w.Close()
	if outcome := <-outcomes; outcome != abi.OutcomeFailed {
		t.Errorf("outcome %d, want %d", outcome, abi.OutcomeFailed)
	}
	h.Wait()
}

// TestCanceledReadKeepsBuffer: the late result of a canceled body read is not stored, because another action may
// already use its buffer. The test's KV read completes after the body has been read.
func TestCanceledReadKeepsBuffer(t *testing.T) {
	body := &signalingReader{Reader: strings.NewReader("late"), read: make(chan struct{})}
	h := newStubHost(t, &stub{step: func(in *abi.StepInput) abi.StepOutput {
		if in.Event.Kind == abi.EventStored {
			return abi.StepOutput{Actions: []abi.Action{{Kind: abi.ActionRespond, Code: 200, Body: []abi.Part{{Buffer: 1}}}}}
		}
		return abi.StepOutput{Actions: []abi.Action{
			{Kind: abi.ActionReadBody, ID: 1, Buffer: 1, Limit: 1000}, {Kind: abi.ActionCancel, ID: 1},
			{Kind: abi.ActionKeep, Buffer: 1, Data: []byte("kept")}, {Kind: abi.ActionRead, ID: 2, Key: "a", Where: abi.WhereKV},
		}}
	}}, func(o *Options) { o.KV = waitingKV{o.KV, body.read} })
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/", body))
	h.Wait()
	if got := w.Body.String(); got != "kept" {
		t.Errorf("the buffer contains %q, want \"kept\"", got)
	}
}

// signalingReader closes read when its reader has ended.
type signalingReader struct {
	io.Reader
	read chan struct{}
	once sync.Once
}

func (s *signalingReader) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil {
		s.once.Do(func() { close(s.read) })
	}
	return n, err
}

// waitingKV is a KV whose reads wait until a channel is closed.
type waitingKV struct {
	store.KV
	until chan struct{}
}

func (k waitingKV) Read(ctx context.Context, key string) ([]byte, bool, error) {
	<-k.until
	return k.KV.Read(ctx, key)
}

// TestStreamedStatus: a response is streamed to the core only if it has the status named in the action.
func TestStreamedStatus(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/207" {
			w.WriteHeader(207)
		}
		_, _ = io.WriteString(w, "body")
	}))
	defer upstream.Close()
	for _, c := range []struct {
		path   string
		stream uint64
		want   abi.EventKind
	}{
		{"/200", 200, abi.EventHead}, {"/207", 207, abi.EventHead}, {"/207", 200, abi.EventResponse}, {"/200", 207, abi.EventResponse}, {"/200", 0, abi.EventResponse},
	} {
		var kinds []abi.EventKind
		h := newStubHost(t, &stub{step: func(in *abi.StepInput) abi.StepOutput {
			kinds = append(kinds, in.Event.Kind)
			switch in.Event.Kind {
			case abi.EventRequest:
				return abi.StepOutput{Actions: []abi.Action{
					{Kind: abi.ActionFetch, ID: 1, Buffer: 1, Limit: 1000, Method: "GET", URL: upstream.URL + c.path, Stream: c.stream},
				}}
			case abi.EventResponse, abi.EventEnd:
				return abi.StepOutput{Actions: []abi.Action{{Kind: abi.ActionRespond, Code: 200, Body: []abi.Part{{Buffer: 1}}}}}
			}
			return abi.StepOutput{}
		}}, nil)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		h.Wait()
		buffered := map[abi.EventKind]string{abi.EventHead: "", abi.EventResponse: "body"}[c.want]
		if len(kinds) < 2 || kinds[1] != c.want || w.Body.String() != buffered {
			t.Errorf("%s with stream status %d: events %v, buffer %q", c.path, c.stream, kinds, w.Body)
		}
	}
}

// TestUnawaitedCallAfterFetch: a call without an ID in the last step, such as a settlement, still runs when the
// exchange has ended.
func TestUnawaitedCallAfterFetch(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer upstream.Close()
	called := 0
	h := newStubHost(t, &stub{step: func(in *abi.StepInput) abi.StepOutput {
		if in.Event.Kind == abi.EventRequest {
			return abi.StepOutput{Actions: []abi.Action{{Kind: abi.ActionFetch, ID: 1, Buffer: 1, Limit: 1000, Method: "GET", URL: upstream.URL}}}
		}
		return abi.StepOutput{Actions: []abi.Action{respond(200, ""), {Kind: abi.ActionCall, Class: abi.ClassKeyMeter, Name: "00"}}}
	}}, func(o *Options) {
		o.Objects = objectsFunc(func(string) ([]byte, error) { called++; return nil, nil })
	})
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	if h.Wait(); called != 1 {
		t.Errorf("%d calls, want 1", called)
	}
}

// TestPausedFetch: until a paused fetch is resumed, it delivers neither a chunk nor its end, and no timeout runs
// except the total timeout.
func TestPausedFetch(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			_, _ = io.WriteString(w, "piece")
			w.(http.Flusher).Flush()
		}
	}))
	defer upstream.Close()
	fetch := abi.Action{Kind: abi.ActionFetch, ID: 1, Limit: 1000, Method: "GET", URL: upstream.URL, Stream: 200}
	for _, c := range []struct {
		timeouts abi.Timeouts
		resumes  bool
		last     abi.Event
	}{
		{abi.Timeouts{IdleMs: 30}, true, abi.Event{Kind: abi.EventEnd}},
		{abi.Timeouts{IdleMs: 30, TotalMs: 300}, false, abi.Event{Kind: abi.EventFault, Code: abi.FaultTotal}},
	} {
		received, beforeTimer, last := 0, 0, abi.Event{}
		paused := false
		h := newStubHost(t, &stub{step: func(in *abi.StepInput) (out abi.StepOutput) {
			switch in.Event.Kind {
			case abi.EventRequest:
				fetch.Timeouts = c.timeouts
				out.Actions = []abi.Action{fetch}
			case abi.EventChunk:
				received += len(in.Event.Data)
				if !paused {
					paused, beforeTimer = true, received
					out.Actions = []abi.Action{{Kind: abi.ActionPause, ID: 1}, {Kind: abi.ActionWait, ID: 2, KeepMs: 100}}
				}
			case abi.EventTimer:
				if received != beforeTimer {
					t.Errorf("%d bytes arrived during the pause", received-beforeTimer)
				}
				if c.resumes {
					out.Actions = []abi.Action{{Kind: abi.ActionResume, ID: 1}}
				}
			case abi.EventEnd, abi.EventFault:
				last = abi.Event{Kind: in.Event.Kind, Code: in.Event.Code}
				out.Actions = []abi.Action{respond(200, "")}
			}
			return out
		}}, nil)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		h.Wait()
		if last.Kind != c.last.Kind || last.Code != c.last.Code {
			t.Errorf("paused with %+v: the last event is %d with code %d, want %d with %d", c.timeouts, last.Kind, last.Code, c.last.Kind, c.last.Code)
		}
		if c.resumes && received != 15 || !c.resumes && received != beforeTimer {
			t.Errorf("paused with %+v: %d bytes arrived, %d of them before the pause", c.timeouts, received, beforeTimer)
		}
	}
}

// TestSettlementOutlastsAnOutage: a call for which the core gets no event is repeated until its object is available again or the host is cut.
func TestSettlementOutlastsAnOutage(t *testing.T) {
	for _, failure := range []error{ErrUnavailable, ErrOverloaded} {
		calls := 0
		step := func(*abi.StepInput) abi.StepOutput {
			return abi.StepOutput{Actions: []abi.Action{respond(200, ""), {Kind: abi.ActionCall, Class: abi.ClassKeyMeter, Name: "00"}}}
		}
		h := newStubHost(t, &stub{step: step}, func(o *Options) {
			o.Persistence = time.Minute
			o.Objects = objectsFunc(func(string) ([]byte, error) {
				if calls++; calls < 4 {
					return nil, failure
				}
				return nil, nil
			})
		})
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		if h.Wait(); calls != 4 {
			t.Errorf("%v: %d calls, want 4", failure, calls)
		}
	}
	called := make(chan struct{}, 10)
	h := newStubHost(t, &stub{step: func(*abi.StepInput) abi.StepOutput {
		return abi.StepOutput{Actions: []abi.Action{respond(200, ""), {Kind: abi.ActionCall, Class: abi.ClassKeyMeter, Name: "00"}}}
	}}, func(o *Options) {
		o.Persistence = time.Hour
		o.Objects = objectsFunc(func(string) ([]byte, error) { called <- struct{}{}; return nil, ErrUnavailable })
	})
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	<-called
	h.Cut()
	h.Wait()
}
