package server

import (
	"container/list"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/postern-ai/postern/internal/smallfile"
)

// unixPrefix marks an address as the path of a Unix socket.
const unixPrefix = "unix:"

// listen opens an address of Config. If no process listens on an existing socket file, it replaces the file.
func listen(address string) (net.Listener, error) {
	path, isUnix := strings.CutPrefix(address, unixPrefix)
	if !isUnix {
		return net.Listen("tcp", address)
	}
	if conn, err := net.Dial("unix", path); err == nil {
		_ = conn.Close()
		return nil, fmt.Errorf("listen unix %s: another process listens on it", path)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		_ = os.Remove(path)
	}
	return net.Listen("unix", path)
}

// connections is a listener with a maximum number of open connections. At the maximum, a new connection replaces the
// one that has been idle longest. If all are busy, the new connection is closed. Connections without a request
// therefore cannot keep others out.
type connections struct {
	net.Listener
	max int
	log func() *slog.Logger

	mu     sync.Mutex
	open   map[net.Conn]*list.Element // the connection's element in idle; nil: busy
	idle   *list.List                 // elements are of type net.Conn; the one that has been idle longest is first
	warned time.Time
}

func newConnections(inner net.Listener, limit int, log func() *slog.Logger) *connections {
	return &connections{Listener: inner, max: limit, log: log, open: map[net.Conn]*list.Element{}, idle: list.New()}
}

// Accept implements net.Listener.
func (c *connections) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c.makeRoom() {
			return conn, nil
		}
		_ = conn.Close()
	}
}

// makeRoom reports whether another connection may be open. If necessary, it closes an idle one.
func (c *connections) makeRoom() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) < c.max {
		return true
	}
	if now := time.Now(); now.Sub(c.warned) >= time.Minute {
		c.warned = now
		c.log().Warn("the maximum number of connections is open; raise POSTERN_MAX_CONNECTIONS or add a server", "connections", c.max)
	}
	oldest := c.idle.Front()
	if oldest == nil {
		return false
	}
	conn := c.idle.Remove(oldest).(net.Conn)
	delete(c.open, conn)
	closeNow(conn)
	return true
}

// changed implements http.Server.ConnState.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	place, known := c.open[conn]
	if place != nil {
		c.idle.Remove(place)
	}
	switch {
	case state == http.StateNew, known && state == http.StateIdle:
		c.open[conn] = c.idle.PushBack(conn)
	case known && state == http.StateActive:
		c.open[conn] = nil
	default:
		delete(c.open, conn)
	}
}

// closeIdle closes the connections without a request.
func (c *connections) closeIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.idle.Front(); e != nil; e = e.Next() {
		closeNow(e.Value.(net.Conn))
	}
}

// closeNow closes a connection without TLS's closing message. Sending that message would mean waiting for slow peers.
func closeNow(conn net.Conn) {
	switch c := conn.(type) {
	case *tls.Conn:
		conn = c.NetConn()
	case *framedConn:
		conn = c.Conn
	}
	_ = conn.Close()
}

// loadCertificate loads the TLS certificate, or returns nil if none is configured.
func loadCertificate(c *Config) (*tls.Certificate, error) {
	if c.TLSCert == "" && c.TLSKey == "" {
		return nil, nil
	}
	if c.TLSCert == "" || c.TLSKey == "" {
		return nil, errors.New("POSTERN_TLS_CERT and POSTERN_TLS_KEY must be set together")
	}
	certificate, err := smallfile.KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("POSTERN_TLS_CERT and POSTERN_TLS_KEY: %w", err)
	}
	return &certificate, nil
}
