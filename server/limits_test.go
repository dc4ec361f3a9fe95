package server

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func (r *running) dial() net.Conn {
	r.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(giveUp))
	return conn
}

// isClosed waits until the server closes a connection and returns the bytes that it sent before.
func isClosed(conn net.Conn) (sent string, closed bool) {
	data, err := io.ReadAll(conn)
	timeout, ok := err.(net.Error)
	return string(data), !ok || !timeout.Timeout()
}

// TestTricklingBody: if the body of a request stops or arrives too slowly, the request ends and its connection is
// closed.
func TestTricklingBody(t *testing.T) {
	for name, limits := range map[string]stalls{
		"stops":  {write: giveUp, read: 50 * time.Millisecond, bodyBase: giveUp, bodyRate: 1},
		"slowly": {write: giveUp, read: giveUp, bodyBase: 200 * time.Millisecond, bodyRate: 1 << 20},
	} {
		r := start(t, testConfig(nil), func(s *Server) { s.stall = limits })
		conn := r.dial()
		_, _ = fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{", r.key)
		if name == "slowly" {
			go func() {
				for {
					if _, err := io.WriteString(conn, " "); err != nil {
						return
					}
					time.Sleep(10 * time.Millisecond)
				}
			}()
		}
		if sent, closed := isClosed(conn); !closed || strings.Contains(sent, " 200 ") {
			t.Errorf("%s: closed %t after %q", name, closed, sent)
		}
		r.stop()
		if err := r.wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSlowReader: a caller that does not read its stream counts as disconnected. The request to the provider is
// canceled, and the text that was sent is billed.
func TestSlowReader(t *testing.T) {
	p := newProvider(t)
	r := start(t, testConfig(p), func(s *Server) { s.stall.write = 400 * time.Millisecond })
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		r.client = &http.Client{Transport: &http.Transport{Protocols: protocols(protocol == "HTTP/2.0")}}
		s := r.openStream()
		if s.response.Proto != protocol {
			t.Fatalf("the response has %s, want %s", s.response.Proto, protocol)
		}
		piece := strings.Repeat("x", 50_000)
		for left := false; !left; {
			select {
			case p.more <- piece:
			case <-p.left:
				left = true
			case <-time.After(giveUp):
				t.Fatalf("%s: the provider's request is not canceled", protocol)
			}
		}
		r.client.CloseIdleConnections()
	}
	for _, request := range r.requests(2) {
		if m := request.(map[string]any); m["estimated"] != true {
			t.Errorf("recorded without a flagged estimate: %v", m)
		}
	}
}

// protocols returns HTTP/1.1 or HTTP/2 without TLS.
func protocols(http2 bool) *http.Protocols {
	p := &http.Protocols{}
	p.SetHTTP1(!http2)
	p.SetUnencryptedHTTP2(http2)
	return p
}

// TestLargeResponsesKeepTheConnection: net/http reads and closes the body of a request before it sends a response that
// exceeds its buffer. The connection then serves the next request, whether the handler has read the body or not.
func TestLargeResponsesKeepTheConnection(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	body := `{"models":["` + strings.Repeat(strings.Repeat("m", 64)+`","`, 31) + `last"]}`
	for _, c := range []struct{ method, path string }{
		{"PATCH", "/api/admin/groups/root"}, // reads the body, and its response has the body's models
		{"POST", "/dashboard"},              // does not read the body
		{"GET", "/openapi.yaml"},
	} {
		conn := r.dial()
		reader := bufio.NewReader(conn)
		for n := range 3 {
			fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
				c.method, c.path, conn.RemoteAddr(), testToken, len(body), body)
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Errorf("%s %s: request %d: %v", c.method, c.path, n+1, err)
				break
			}
			text, err := io.ReadAll(response.Body)
			if err != nil || response.Close || c.method == "PATCH" && (response.StatusCode != 200 || len(text) < 2100) {
				t.Errorf("%s %s: request %d: status %d, %d bytes, close %t, %v", c.method, c.path, n+1, response.StatusCode, len(text), response.Close, err)
			}
		}
	}
}

// TestLargeRefusedBodies: a response that is sent before the body has arrived says that the connection closes if the
// server will not read all of the body. A client would otherwise lose its next request.
func TestLargeRefusedBodies(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	for megabytes, want := range map[int]bool{1: false, 7: false, 9: true, 40: true} {
		conn := r.dial()
		length := megabytes << 20
		_, _ = fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", length)
		go func() { _, _ = conn.Write(make([]byte, length)) }()
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || response.StatusCode != 401 || response.Close != want {
			t.Errorf("%d MB: %+v, %v", megabytes, response, err)
		}
	}
}

// TestMaxConnections: if there are too many connections, a new one replaces a connection without a request, but never
// a busy one.
func TestMaxConnections(t *testing.T) {
	const limit = 20
	p := newProvider(t)
	c := testConfig(p)
	c.MaxConnections = limit
	r := start(t, c, nil)
	for range 5 * limit {
		r.dial()
	}
	if status := r.adminStatus(testToken); status != 200 {
		t.Errorf("with idle connections: status %d", status)
	}
	r.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var streams []*stream
	for range limit {
		streams = append(streams, r.openStream())
		<-p.calls
	}
	if sent, closed := isClosed(r.dial()); !closed || sent != "" {
		t.Errorf("a connection too many: closed %t after %q", closed, sent)
	}
	close(p.more)
	for _, s := range streams {
		if rest, err := s.rest(); err != nil || !strings.Contains(rest, "[DONE]") {
			t.Errorf("a stream ended with %v: %q", err, rest)
		}
	}
	eventually(t, "room again", func() bool {
		response, err := r.client.Get(r.url + "/")
		if err == nil {
			_ = response.Body.Close()
		}
		return err == nil
	})
	if !strings.Contains(r.log.String(), "POSTERN_MAX_CONNECTIONS") {
		t.Error("the log does not name the limit")
	}
}

// TestExpectContinue: a client that waits for "100 Continue" gets a rejection at once. It does not have to send the
// body.
func TestExpectContinue(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	for name, c := range map[string]struct {
		key    string
		length int
		want   string
	}{
		"unknown key":     {"sk_live_unknown", 20, "HTTP/1.1 401 "},
		"large body":      {r.key, 5_000_000, "HTTP/1.1 413 "},
		"accepted so far": {r.key, 20, "HTTP/1.1 100 "},
	} {
		conn := r.dial()
		_ = conn.SetDeadline(time.Now().Add(giveUp))
		_, _ = fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
			"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", c.key, c.length)
		line, err := bufio.NewReader(conn).ReadString('\n')
		if !strings.HasPrefix(line, c.want) {
			t.Errorf("%s: %q, %v, want %s", name, line, err, c.want)
		}
		_ = conn.Close()
	}
}

// TestAmbiguousRequests: if a proxy could see the end of a request elsewhere, the request is rejected, and its
// connection is closed.
func TestAmbiguousRequests(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	for name, head := range map[string]string{
		"two lengths":             "Content-Length: 5\r\nContent-Length: 6\r\n",
		"negative length":         "Content-Length: -1\r\n",
		"signed length":           "Content-Length: +5\r\n",
		"list of lengths":         "Content-Length: 5, 6\r\n",
		"unknown coding":          "Transfer-Encoding: xchunked\r\n",
		"two codings":             "Transfer-Encoding: gzip, chunked\r\n",
		"chunked twice":           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
		"space before the colon":  "Content-Length : 5\r\n",
		"control character":       "X-A: a\x00b\r\n",
		"two hosts":               "Host: y\r\n",
		"head of a hundred KB":    "X-A: " + strings.Repeat("a", 100<<10) + "\r\n",
		"chunk size with a sign":  "Transfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n",
		"chunk longer than given": "Transfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n",
	} {
		conn := r.dial()
		_, _ = fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n%s\r\nhelloGET / HTTP/1.1\r\nHost: x\r\n\r\n", r.key, head)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if response.StatusCode < 400 || response.StatusCode > 501 {
			t.Errorf("%s: status %d", name, response.StatusCode)
		}
		if sent, closed := isClosed(conn); !closed || strings.Contains(sent, "HTTP/1.1 200") {
			t.Errorf("%s: closed %t after %q", name, closed, sent)
		}
	}
}

// TestHeaderTimeout: the server's timeouts and limits for connections are set.
func TestHeaderTimeout(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	server := r.newHTTPServer(http.NotFoundHandler(), false)
	if server.ReadHeaderTimeout <= 0 || server.IdleTimeout <= 0 || server.MaxHeaderBytes <= 0 || server.HTTP2.MaxConcurrentStreams <= 0 {
		t.Errorf("a timeout is missing: %+v", server)
	}
}

// TestStreamsPerConnection reads the limit that the server announces in its first HTTP/2 frame, SETTINGS. Its payload
// is a list of identifiers (16 bits) and values (32 bits). Source: RFC 9113, sections 4.1 and 6.5.
func TestStreamsPerConnection(t *testing.T) {
	const maxConcurrentStreams = 3
	conn := start(t, testConfig(nil), nil).dial()
	_, _ = io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
	head := make([]byte, 9)
	if _, err := io.ReadFull(conn, head); err != nil || head[3] != 4 {
		t.Fatalf("%x, %v", head, err)
	}
	settings := make([]byte, int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(conn, settings); err != nil {
		t.Fatal(err)
	}
	for ; len(settings) >= 6; settings = settings[6:] {
		if binary.BigEndian.Uint16(settings) == maxConcurrentStreams {
			if limit := binary.BigEndian.Uint32(settings[2:]); limit != 100 {
				t.Errorf("%d streams, want 100", limit)
			}
			return
		}
	}
	t.Error("no limit")
}

// writeCertificate writes a self-signed certificate for 127.0.0.1 with a serial number.
func writeCertificate(t *testing.T, folder string, serial int64) *x509.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, _ := x509.MarshalPKCS8PrivateKey(key)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(folder, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certificate, _ := x509.ParseCertificate(der)
	return certificate
}

// TestTLS checks HTTP/2 over TLS. It also checks that new connections use a new certificate after a reload, and that
// a damaged certificate is refused.
func TestTLS(t *testing.T) {
	folder := t.TempDir()
	roots := x509.NewCertPool()
	roots.AddCert(writeCertificate(t, folder, 1))
	c := testConfig(nil)
	c.TLSCert, c.TLSKey = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	s, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	listener, _ := net.Listen("tcp", "127.0.0.1:0")
	s.config.Test.Listener = listener
	go func() { _ = s.Run(t.Context()) }()
	serial := func() string {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
		defer client.CloseIdleConnections()
		response, err := client.Get("https://" + listener.Addr().String() + "/")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.Proto + " " + response.TLS.PeerCertificates[0].SerialNumber.String()
	}
	if got := serial(); got != "HTTP/2.0 1" {
		t.Errorf("%s, want HTTP/2.0 1", got)
	}
	roots.AddCert(writeCertificate(t, folder, 2))
	if err := s.Reload(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if got := serial(); got != "HTTP/2.0 2" {
		t.Errorf("after the reload: %s, want HTTP/2.0 2", got)
	}
	if err := os.WriteFile(c.TLSKey, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(t.Context(), c); err == nil {
		t.Error("a damaged key is accepted")
	}
	if got := serial(); got != "HTTP/2.0 2" {
		t.Errorf("after the failed reload: %s, want HTTP/2.0 2", got)
	}
}
