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

	"github.com/postern-ai/postern/core/abi"
)

// objectsFunc are objects that are all the same.
type objectsFunc func(name string) ([]byte, error)

func (f objectsFunc) Call(_ context.Context, _ abi.Class, name, _ string, _ []byte) ([]byte, error) {
	return f(name)
}

// TestCallThatNobodyWaitsFor: a call without an id is carried out beside the answer, repeated once if the object was
// not there, and the core hears nothing of it.
func TestCallThatNobodyWaitsFor(t *testing.T) {
	for _, c := range []struct {
		name   string
		errs   []error
		calls  int
		logged string
	}{
		{"done", []error{nil}, 1, ""},
		{"not there at first", []error{ErrUnavailable, nil}, 2, ""},
		{"not there at all", []error{ErrUnavailable, ErrUnavailable, nil}, 2, "call_failed"},
		{"overloaded", []error{ErrOverloaded, nil}, 1, "call_failed"},
		{"failed", []error{errors.New("secret"), nil}, 1, "call_failed"},
	} {
		var log bytes.Buffer
		var calls int
		var events []abi.EventKind
		answered := make(chan struct{})
		h := newStubHost(t, &stub{step: func(in *abi.StepInput) abi.StepOutput {
			events = append(events, in.Event.Kind)
			return abi.StepOutput{Actions: []abi.Action{{Kind: abi.ActionCall, Class: abi.ClassKeyMeter, Name: "00"}, respond(200, "")}}
		}}, func(o *Options) {
			o.Log = &log
			o.Objects = objectsFunc(func(string) ([]byte, error) {
				<-answered // nobody waits: the answer does not either
				calls++
				return nil, c.errs[calls-1]
			})
		})
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		close(answered)
		h.Wait()
		if calls != c.calls || fmt.Sprint(events) != fmt.Sprint([]abi.EventKind{abi.EventRequest}) {
			t.Errorf("%s: %d calls, want %d; events %v", c.name, calls, c.calls, events)
		}
		if got := log.String(); (c.logged == "") != (got == "") || !strings.Contains(got, c.logged) || strings.Contains(got, "secret") {
			t.Errorf("%s: logged %q", c.name, got)
		}
	}
}

// TestStepPanics: a breach of the contract costs the step that met it, in the native core too.
func TestStepPanics(t *testing.T) {
	var log bytes.Buffer
	e := &breaching{Engine: newNative(t)}
	h := newStubHost(t, e, func(o *Options) { o.Log = &log })
	get := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/nothing", nil))
		h.Wait()
		return w
	}
	e.breach = true
	if w := get(); w.Code != 500 || !strings.Contains(w.Body.String(), `"code":"internal_error"`) || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `"code":"step_failed"`) {
		t.Errorf("logged %q", got)
	}
	e.breach = false
	if w := get(); w.Code != 404 {
		t.Errorf("afterwards: %d %s", w.Code, w.Body)
	}
}

// breaching hands on what no host sends.
type breaching struct {
	Engine
	breach bool
}

func (b *breaching) Step(message []byte) ([]byte, error) {
	if b.breach {
		message = message[:1]
	}
	return b.Engine.Step(message)
}

// TestTiers: tiers that the host does not have are passed over; without any that it has, it says so.
func TestTiers(t *testing.T) {
	const other = 4
	for where, want := range map[uint64]uint64{
		abi.WhereMemory: abi.OutcomeAbsent, abi.WhereKV: abi.OutcomeAbsent, abi.WhereMemory | abi.WhereKV: abi.OutcomeAbsent,
		other: abi.OutcomeUnsupported, other | abi.WhereMemory: abi.OutcomeAbsent, other | abi.WhereKV: abi.OutcomeAbsent, 0: abi.OutcomeUnsupported,
	} {
		var got []uint64
		h := newStubHost(t, &stub{step: func(in *abi.StepInput) abi.StepOutput {
			if in.Event.Kind == abi.EventRequest {
				return abi.StepOutput{Actions: []abi.Action{{Kind: abi.ActionRead, ID: 1, Key: "a", Where: where}}}
			}
			got = append(got, in.Event.Code)
			return abi.StepOutput{Actions: []abi.Action{respond(200, "")}}
		}}, nil)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		h.Wait()
		if len(got) != 1 || got[0] != want {
			t.Errorf("tiers %d: outcomes %v, want %d", where, got, want)
		}
	}
}

// TestHot: the bounds are the core's, and an entry counts as in the Worker's memory.test.mjs.
func TestHot(t *testing.T) {
	clock := fixedClock(1_000_000)
	has := func(h *hot, keys string) (found string) {
		for _, key := range keys {
			if _, ok := h.read(string(key)); ok {
				found += string(key)
			}
		}
		return found
	}
	h := newHot(&clock, &stubConfigured)
	h.write("a", make([]byte, 900), 1000)
	h.write("b", make([]byte, 899), 1000)
	if got := has(h, "ab"); got != "b" || h.bytes != 1000 {
		t.Errorf("of an entry of 1,001 bytes and one of 1,000, %q is kept, %d bytes", got, h.bytes)
	}
	h.clear()
	for _, key := range "abc" {
		h.write(string(key), make([]byte, 800), 1000)
	}
	has(h, "a")
	h.write("d", make([]byte, 800), 1000)
	if got := has(h, "abcd"); got != "acd" {
		t.Errorf("%q is kept of four", got)
	}
	clock--
	if got := has(h, "acd"); got != "" || h.bytes != 0 {
		t.Errorf("before it was stored, %q is there", got)
	}
	for i := range 5000 {
		h.write(fmt.Sprint("key", i%700), make([]byte, i*7919%990), 1000)
		if h.bytes > stubConfigured.MemoryBytes {
			t.Fatalf("%d bytes after %d writes", h.bytes, i)
		}
	}
}

// wire is a connection to a host, spoken to by hand.
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

func (w *wire) answer(method string) (*http.Response, string) {
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

// TestHead: the core is told the method and answers as to a GET; the caller gets the head of that.
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
	for _, method := range []string{"HEAD", "GET", "HEAD"} { // a body after the first would be in the way of the second
		w.send(method + " / HTTP/1.1\r\nHost: x\r\n\r\n")
		response, got := w.answer(method)
		if response.StatusCode != 200 || response.ContentLength != 5000 || (got == body) != (method == "GET") {
			t.Errorf("%s: %d, content-length %d, %d bytes", method, response.StatusCode, response.ContentLength, len(got))
		}
	}
	h.Wait()
	if fmt.Sprint(methods) != "[HEAD GET HEAD]" {
		t.Errorf("the core was told %v", methods)
	}
}

// TestRefusedWhileSending: a caller that is still sending its body gets the answer at once, and can use the
// connection again when it has sent the rest; whether the core had dropped the body's read or never asked for it.
func TestRefusedWhileSending(t *testing.T) {
	const size = 1 << 20
	read := abi.Action{Kind: abi.ActionReadBody, ID: 1, Buffer: 1, Limit: 4 << 20}
	for name, actions := range map[string][]abi.Action{
		"dropped":   {read, {Kind: abi.ActionCancel, ID: 1}, respond(401, "no")},
		"over":      {{Kind: abi.ActionReadBody, ID: 1, Buffer: 1, Limit: 1000}, {Kind: abi.ActionCancel, ID: 1}, respond(401, "no")},
		"not asked": {respond(401, "no")},
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
				if response, got := w.answer("POST"); response.StatusCode != 401 || got != "no" {
					t.Errorf("%s: answered %d %q", name, response.StatusCode, got)
				}
				w.send(strings.Repeat("x", size/2))
				if strings.HasPrefix(framing, "Transfer") {
					w.send("\r\n0\r\n\r\n")
				}
			}
			_ = w.Close()
			server.Close()
			h.Wait()
			if _, told := events.Load(abi.EventBody); told {
				t.Errorf("%s: the core was told of a body that it had dropped", name)
			}
		}
	}
}

// TestCallerBreaksOffWhileSending: the read fails, nobody is waited for.
func TestCallerBreaksOffWhileSending(t *testing.T) {
	outcomes := make(chan uint64, 1)
	h := newStubHost(t, &stub{step: func(in *abi.StepInput) abi.StepOutput {
		switch in.Event.Kind {
		case abi.EventRequest:
			return abi.StepOutput{Actions: []abi.Action{{Kind: abi.ActionReadBody, ID: 1, Buffer: 1, Limit: 4 << 20}}}
		case abi.EventBody:
			outcomes <- in.Event.Code
			return abi.StepOutput{Actions: []abi.Action{respond(400, "no")}}
		}
		return abi.StepOutput{} // the caller has left
	}}, nil)
	server := httptest.NewServer(h)
	defer server.Close()
	w := dial(t, server)
	w.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
	_ = w.Close()
	if outcome := <-outcomes; outcome != abi.OutcomeFailed {
		t.Errorf("outcome %d", outcome)
	}
	h.Wait()
}

// TestDroppedReadLeavesItsBuffer: what comes late of a body's read that was cancelled is not kept, for another may
// have its buffer by now. The store answers when the body has been read.
func TestDroppedReadLeavesItsBuffer(t *testing.T) {
	body := &signalling{Reader: strings.NewReader("late"), read: make(chan struct{})}
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
		t.Errorf("the buffer holds %q", got)
	}
}

// signalling closes read at the end of what it reads.
type signalling struct {
	io.Reader
	read chan struct{}
	once sync.Once
}

func (s *signalling) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil {
		s.once.Do(func() { close(s.read) })
	}
	return n, err
}

type waitingKV struct {
	KV
	until chan struct{}
}

func (k waitingKV) Read(key string) ([]byte, bool, error) {
	<-k.until
	return k.KV.Read(key)
}

// TestFetchInPieces: only the status that the core names is answered piece by piece.
func TestFetchInPieces(t *testing.T) {
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
		kept := map[abi.EventKind]string{abi.EventHead: "", abi.EventResponse: "body"}[c.want]
		if len(kinds) < 2 || kinds[1] != c.want || w.Body.String() != kept {
			t.Errorf("%s with %d: events %v, kept %q", c.path, c.stream, kinds, w.Body)
		}
	}
}
