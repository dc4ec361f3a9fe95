package host

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// TestPostSentOnce: if a reused connection breaks before the response, a POST is not sent again, because the provider
// may have processed and billed it.
func TestPostSentOnce(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var received, reused atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for n := 0; n < 2; n++ { // the second request on a connection gets no response
					request, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, request.Body)
					received.Add(1)
					if n == 0 {
						_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
					} else {
						reused.Add(1)
					}
				}
			}()
		}
	}()
	client := &http.Client{Transport: NewTransport()}
	post := func() error {
		response, err := client.Post("http://"+listener.Addr().String(), "application/json", strings.NewReader("{}"))
		if err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		return err
	}
	if err := post(); err != nil {
		t.Fatal(err)
	}
	if err := post(); err == nil {
		t.Error("the second request succeeds, so it was sent twice")
	}
	if got := received.Load(); got != 2 || reused.Load() != 1 {
		t.Errorf("%d requests received, %d on a reused connection; want 2 and 1", got, reused.Load())
	}
}
