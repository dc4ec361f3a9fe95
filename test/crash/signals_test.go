package crash

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestLogReaderLeaves closes the pipe to which a server logs. The server continues. It counts the lines that nobody
// has received.
func TestLogReaderLeaves(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := launch(t, func(s *serving) { s.process.Stdout, s.process.Stderr = writer, writer })
	_ = writer.Close() // the process has its own
	s.answers()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	const requests = 50
	lost := 0
	for n := range requests {
		status, body, err := s.get("http://"+s.address+"/api/health", "X-Api-Key", fmt.Sprintf("pk_live_%032d", n))
		if err != nil || status == 200 {
			t.Fatalf("request %d: %d %s, %v", n, status, body, err)
		}
	}
	s.until("the lost lines are counted", func() error {
		text, err := s.metric("postern_log_lines_dropped_total")
		if err != nil {
			return err
		}
		if lost, err = strconv.Atoi(text); err == nil && lost < requests {
			err = errNotYet
		}
		return err
	})
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.end(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// TestStopDuringStart sends SIGTERM to a server that waits for a database. The database never responds. A SIGHUP
// before the SIGTERM changes nothing.
func TestStopDuringStart(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	s := launch(t, func(s *serving) {
		s.set("POSTERN_DATABASE=postgres://u:p@" + silent.Addr().String() + "/d?sslmode=disable")
	})
	conn, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGHUP, syscall.SIGHUP, syscall.SIGTERM} {
		if err := s.process.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.end(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// TestRollingRestart checks a server between the moment when /readyz reports draining and the end of the delay. It
// must still serve new connections. If there is a readiness probe, the delay is 5 s by default.
func TestRollingRestart(t *testing.T) {
	s := launch(t, nil)
	ready := func(want int) func() error {
		return func() error {
			status, _, err := s.get("http://" + s.ops + "/readyz")
			if err == nil && status != want {
				err = errNotYet
			}
			return err
		}
	}
	s.until("ready", ready(200))
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.until("draining", ready(503))
	for range 3 {
		conn, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte("GET /api/health HTTP/1.1\r\nHost: postern\r\n\r\n"))
		answer, err := io.ReadAll(conn)
		if !strings.HasPrefix(string(answer), "HTTP/1.1 401") || !strings.Contains(string(answer), "\r\nConnection: close\r\n") {
			t.Errorf("a new connection gets %q, %v", answer, err)
		}
		_ = conn.Close()
	}
	if err := s.end(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// TestSpecialFiles checks secret files that are FIFOs, devices, or too large. They must be refused with an error that
// has their name.
func TestSpecialFiles(t *testing.T) {
	fifo := t.TempDir() + "/fifo"
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	large := t.TempDir() + "/large"
	if err := os.WriteFile(large, make([]byte, 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{fifo, "a FIFO"}, {"/dev/zero", "a device"}, {t.TempDir(), "a directory"}, {large, "larger than 1048576"}} {
		for _, variable := range []string{"POSTERN_VIEWER_TOKEN_FILE", "OPENAI_API_KEY_FILE", "POSTERN_CONFIG", "POSTERN_TLS_CERT"} {
			message := &output{}
			s := launch(t, func(s *serving) {
				s.process.Stderr = message
				s.set("OPENAI_API_KEY=", variable+"="+c[0])
				if variable == "POSTERN_TLS_CERT" {
					s.set("POSTERN_TLS_KEY=/nonexistent")
				}
			})
			err := s.end()
			if text := message.String(); err == nil || !strings.Contains(text, c[0]) || !strings.Contains(text, c[1]) {
				t.Errorf("%s=%s: ended with %v and %q", variable, c[0], err, text)
			}
		}
	}
}
