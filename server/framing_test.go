package server

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// exchangeRaw sends bytes on a new connection, in one piece or byte by byte, and returns the statuses of the
// responses. It stops when the server closes the connection or the last expected response has arrived.
func exchangeRaw(t *testing.T, address, text string, bytewise bool, expected int) (statuses []int, closed bool) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(giveUp))
	go func() {
		pieces := []string{text}
		if bytewise {
			pieces = strings.Split(text, "")
		}
		for _, piece := range pieces {
			if _, err := io.WriteString(conn, piece); err != nil {
				return
			}
		}
	}()
	reader := bufio.NewReader(conn)
	for len(statuses) < expected {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			return statuses, true
		}
		_, _ = io.Copy(io.Discard, response.Body)
		if statuses = append(statuses, response.StatusCode); response.Close {
			_, err := reader.ReadByte()
			return statuses, err != nil
		}
	}
	return statuses, false
}

// TestAmbiguousLength checks requests with both Content-Length and Transfer-Encoding. Such a request gets a 400, and
// its connection is closed, no matter which request on the connection it is. A smuggled request gets no response.
// Requests with only one of the headers are served, whatever their bodies contain.
func TestAmbiguousLength(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{stall: defaultStalls}
	s.logger.Store(slog.New(slog.DiscardHandler))
	server := s.newHTTPServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }), false)
	server.ErrorLog = nil
	go func() { _ = serve(server, listener) }()
	defer server.Close()
	const (
		post     = "POST / HTTP/1.1\r\nHost: h\r\n"
		get      = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
		smuggled = "0\r\n\r\n" + get
	)
	hidden := post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled
	chunk := fmt.Sprintf("%x;ext=1\r\n%s\r\n", len(hidden), hidden)
	for text, want := range map[string]string{
		hidden: "[400] true",
		post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n" + smuggled:                  "[400] true",
		post + "content-length: 5\r\nX: y\r\nTRANSFER-ENCODING: chunked\n\n" + smuggled:              "[400] true",
		post + "Transfer-Encoding: chunked\r\nContent-Length:\r\n 5\r\n\r\n" + smuggled:              "[400] true",
		post + "Content-Length:\r\n 5\r\n\r\nhello" + get:                                            "[400] true",
		post + "Content-Length:" + strings.Repeat(" ", 80) + "5\r\n\r\nhello" + get:                  "[400] true",
		"POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled: "[400] true",
		get + hidden: "[200 400] true",
		post + "Content-Length: 5\r\n\r\nhello" + hidden:                                         "[200 400] true",
		post + "Transfer-Encoding: chunked\r\n\r\n" + chunk + "0\r\nTrailer: x\r\n\r\n" + hidden: "[200 400] true",
		get + get: "[200 200] false",
		post + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(hidden), hidden) + get:                                        "[200 200] false",
		post + "Transfer-Encoding: chunked\r\n\r\n" + chunk + chunk + "0\r\n\r\n" + get:                                      "[200 200] false",
		post + "Transfer-Encoding: chunked\r\nX-Content-Length: 5\r\n\r\n0\r\n\r\n" + get:                                    "[200 200] false",
		post + "Content-Length: 0\r\nX: Transfer-Encoding: chunked\r\nLong: " + strings.Repeat("x", 9000) + "\r\n\r\n" + get: "[200 200] false",
	} {
		for _, bytewise := range []bool{false, true} {
			statuses, closed := exchangeRaw(t, listener.Addr().String(), text, bytewise, 2)
			if got := fmt.Sprint(statuses, closed); got != want {
				t.Errorf("%.200q (byte by byte: %v): %s, want %s", text, bytewise, got, want)
			}
		}
	}
}
