package server

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"
)

// Limits for connections. The limit for a request's head is the same as in nginx and most other proxies.
const (
	readHeaderTimeout  = 10 * time.Second
	idleTimeout        = 2 * time.Minute
	maxHeaderBytes     = 64 << 10
	maxStreams         = 100 // of one HTTP/2 connection; RFC 9113, section 6.5.2, recommends at least 100
	pingAfter          = 30 * time.Second
	pingTimeout        = 15 * time.Second
	maxReceiveBytes    = 1 << 20 // of one HTTP/2 connection
	maxStreamReadBytes = 256 << 10
)

// newHTTPServer returns a server for HTTP/1.1 and HTTP/2, over TLS if it has a certificate.
func (s *Server) newHTTPServer(handler http.Handler, secure bool) *http.Server {
	server := &http.Server{
		Handler:           s.surviving(handler),
		Protocols:         &http.Protocols{},
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, SendPingTimeout: pingAfter, PingTimeout: pingTimeout, WriteByteTimeout: s.stall.write,
			MaxReceiveBufferPerConnection: maxReceiveBytes, MaxReceiveBufferPerStream: maxStreamReadBytes,
		},
		// Messages of net/http are about single connections, such as failed TLS handshakes.
		ErrorLog: slog.NewLogLogger(s.log().Handler(), slog.LevelDebug),
	}
	server.Protocols.SetHTTP1(true)
	if secure {
		server.Protocols.SetHTTP2(true)
		server.TLSConfig = &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.certificate.Load(), nil },
		}
	} else {
		server.Protocols.SetUnencryptedHTTP2(true)
	}
	return server
}

// serve serves the connections of a listener until the server shuts down.
func serve(server *http.Server, l net.Listener) error {
	if server.TLSConfig != nil {
		return server.ServeTLS(l, "", "")
	}
	return server.Serve(framed{l})
}

// surviving recovers panics before net/http does, because net/http would log their values. It aborts the connection
// so that the response does not look complete.
func (s *Server) surviving(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			problem := recover()
			if problem == nil {
				return
			}
			if problem != http.ErrAbortHandler {
				s.panicked("handler_panicked", debug.Stack())
			}
			panic(http.ErrAbortHandler)
		}()
		next.ServeHTTP(w, r)
	})
}

// panicked logs a recovered panic. It logs the stack but not the value, which might contain a secret.
func (s *Server) panicked(code string, stack []byte) {
	s.log().Error("panic", "code", code, "stack", string(stack))
}
