package logging_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/postern-ai/postern/telemetry/logging"
)

const gatewayLine = `{"level":"info","timeMs":1700000000123,"requestId":"req_1","route":"/v1/messages","status":200,"costCents":0.5,"stream":true}` + "\n"

// open returns a log and a function that closes it and returns its lines.
func open(t *testing.T, level, format string) (*logging.Log, func() []string) {
	t.Helper()
	var out bytes.Buffer
	l, err := logging.New(level, format, &out)
	if err != nil {
		t.Fatal(err)
	}
	return l, func() []string {
		if err := l.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		return strings.SplitAfter(strings.TrimSuffix(out.String(), "\n"), "\n")
	}
}

func object(t *testing.T, line string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(line), &o); err != nil {
		t.Fatalf("%q is no JSON object: %v", line, err)
	}
	return o
}

func TestGatewayLinesPassUnchanged(t *testing.T) {
	l, lines := open(t, "info", "json")
	fmt.Fprint(logging.Lines(l.Logger()), gatewayLine)
	fmt.Fprint(logging.Lines(l.Logger()), gatewayLine)
	if got := lines(); got[0] != gatewayLine || len(got) != 2 {
		t.Errorf("got %q", got)
	}
}

func TestRecordsAndLinesHaveTheSameFields(t *testing.T) {
	l, lines := open(t, "", "")
	l.Logger().Warn("the store is slow", "code", "store_slow", "requestId", "req_2")
	fmt.Fprintln(logging.Lines(l.Logger()), `{"level":"warning","requestId":"req_3","code":"misconfigured","message":"m"}`)
	for _, line := range lines() {
		o := object(t, line)
		ms, _ := o["timeMs"].(float64)
		if age := time.Since(time.UnixMilli(int64(ms))); age < -time.Minute || age > time.Hour {
			t.Errorf("%s: timeMs is not now", line)
		}
		if o["level"] != "warn" || o["message"] == nil || o["code"] == nil || o["requestId"] == nil {
			t.Errorf("%s lacks a field", line)
		}
		if o["time"] != nil || o["msg"] != nil {
			t.Errorf("%s has a field of log/slog's own names", line)
		}
	}
}

func TestTextFormat(t *testing.T) {
	l, lines := open(t, "info", "text")
	fmt.Fprint(logging.Lines(l.Logger()), gatewayLine)
	want := "level=INFO msg=request requestId=req_1 route=/v1/messages status=200 costCents=0.5 stream=true"
	got := lines()[0]
	if _, rest, _ := strings.Cut(got, " "); rest != want {
		t.Errorf("got %q, want %q after the time", got, want)
	}
	if at := time.UnixMilli(1700000000123).Format("2006-01-02T15:04:05.000"); !strings.Contains(got, at) {
		t.Errorf("%q does not have the line's own time, %s", got, at)
	}
}

func TestLevels(t *testing.T) {
	for _, c := range []struct {
		level string
		want  int
	}{{"debug", 8}, {"info", 6}, {"warn", 4}, {"error", 2}} {
		l, lines := open(t, c.level, "json")
		w := logging.Lines(l.Logger())
		l.Logger().Debug("d")
		l.Logger().Info("i")
		l.Logger().Warn("w")
		l.Logger().Error("e")
		for _, word := range []string{"debug", "info", "warning", "error"} {
			fmt.Fprintf(w, `{"level":%q,"code":"c"}`+"\n", word)
		}
		if got := lines(); len(got) != c.want {
			t.Errorf("%s: got %d lines, want %d: %q", c.level, len(got), c.want, got)
		}
	}
}

func TestLineBreaksCannotStartALine(t *testing.T) {
	forged := `{"level":"info","code":"forged"}`
	for _, format := range []string{"json", "text"} {
		l, lines := open(t, "info", format)
		w := logging.Lines(l.Logger())
		for _, line := range []string{
			"http: bad request\n" + forged, "\n" + forged, "a\r\n" + forged + "\r", `{"level":"info",` + "\n" + `"code":"x"}`,
			`{"level":"info","code":"x"} ` + forged, `{"level":"in\"fo","code":"x"}`, `{"level":"info"` + forged, "", "\x1b[31m",
		} {
			fmt.Fprintln(w, line)
		}
		l.Logger().Info("a\n"+forged, "key\n"+forged, "value\n"+forged)
		got := lines()
		if len(got) != 10 {
			t.Fatalf("%s: 10 lines became %d: %q", format, len(got), got)
		}
		for _, line := range got {
			if strings.HasPrefix(line, forged) || strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\n\r\x1b") {
				t.Errorf("%s: %q", format, line)
			}
			if format == "json" {
				object(t, line)
			}
		}
	}
}

func TestAnotherHandlerGetsRecords(t *testing.T) {
	var out bytes.Buffer
	fmt.Fprint(logging.Lines(slog.New(slog.NewJSONHandler(&out, nil))), gatewayLine)
	o := object(t, out.String())
	if o["requestId"] != "req_1" || o["status"] != "200" || o["level"] != "INFO" {
		t.Errorf("got %v", o)
	}
}

func TestInvalidSettings(t *testing.T) {
	for _, c := range [][3]string{{"loud", "json", `"loud"`}, {"info", "xml", `"xml"`}, {"INFO", "json", `"INFO"`}} {
		if _, err := logging.New(c[0], c[1], io.Discard); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("New(%q, %q): %v", c[0], c[1], err)
		}
	}
}

// stuck is a destination that accepts nothing until it is released.
type stuck struct {
	release chan struct{}
	mu      sync.Mutex
	out     bytes.Buffer
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.release
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

func (s *stuck) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

func TestASlowDestinationBlocksNobody(t *testing.T) {
	s := &stuck{release: make(chan struct{})}
	l, err := logging.New("info", "json", s)
	if err != nil {
		t.Fatal(err)
	}
	w, written := logging.Lines(l.Logger()), 0
	var callers sync.WaitGroup
	for range 8 { // the buffer cannot hold 8 × 4000 lines of 130 bytes
		callers.Go(func() {
			for range 4000 {
				fmt.Fprint(w, gatewayLine)
			}
		})
		written += 4000
	}
	callers.Wait()
	if l.Dropped() == 0 {
		t.Fatal("nothing was dropped")
	}
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	close(s.release)
	for !strings.Contains(s.String(), "log_lines_dropped") {
		time.Sleep(time.Millisecond)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(expired); err != nil && l.Close(t.Context()) != nil {
		t.Error(err)
	}
	told, kept := 0.0, 0
	for line := range strings.Lines(s.String()) {
		if o := object(t, line); o["code"] == "log_lines_dropped" {
			told += o["lines"].(float64)
		} else {
			kept++
		}
	}
	if uint64(told) != l.Dropped() || kept+int(told) != written {
		t.Errorf("%d lines written, %d kept, %v told as dropped, %d counted", written, kept, told, l.Dropped())
	}
}

func TestCloseGivesUp(t *testing.T) {
	s := &stuck{release: make(chan struct{})}
	l, err := logging.New("info", "json", s)
	if err != nil {
		t.Fatal(err)
	}
	l.Logger().Info("first")
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Close(expired); err == nil {
		t.Error("Close succeeded although the destination is stuck")
	}
	l.Logger().Info("late") // must not block
	close(s.release)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Logger().Info("after")
	if got := s.String(); !strings.Contains(got, "first") || !strings.Contains(got, "after") || strings.Contains(got, "late") {
		t.Errorf("got %q", got)
	}
}

func TestPassingALineAllocatesNothing(t *testing.T) {
	l, _ := logging.New("info", "json", io.Discard)
	w, line := logging.Lines(l.Logger()), []byte(gatewayLine)
	if n := testing.AllocsPerRun(1000, func() { _, _ = w.Write(line) }); n > 0 {
		t.Errorf("%v allocations per line", n)
	}
}

// gone is a destination that accepts only a part of each write until it is repaired.
type gone struct {
	stuck
	works atomic.Bool
	tried chan struct{} // one token per failed write
}

func (g *gone) Write(p []byte) (int, error) {
	if g.works.Load() {
		return g.stuck.Write(p)
	}
	g.tried <- struct{}{}
	return len(p) / 2, io.ErrClosedPipe
}

// TestADestinationThatFails checks a destination that accepts only a part of a write, or nothing. The lost lines are
// counted. When the destination works again, the log reports their number.
func TestADestinationThatFails(t *testing.T) {
	g := &gone{stuck: stuck{release: make(chan struct{})}, tried: make(chan struct{}, 10)}
	close(g.release)
	l, err := logging.New("info", "json", g)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		l.Logger().Info("lost")
		<-g.tried // the line
		<-g.tried // the notice
	}
	g.works.Store(true)
	l.Logger().Info("kept")
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, got := l.Dropped(), g.String(); n != 3 || !strings.Contains(got, "kept") || !strings.Contains(got, `"lines":3`) || strings.Contains(got, `"lost"`) {
		t.Errorf("%d lines dropped, the log has %q", n, got)
	}
	g.works.Store(false)
	l.Logger().Info("after the end")
	if n := l.Dropped(); n != 4 {
		t.Errorf("%d lines dropped, want 4", n)
	}
}
