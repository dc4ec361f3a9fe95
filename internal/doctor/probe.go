package doctor

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Probe calls a path of a listener on this machine, given as host:port or unix:/path. Any response other than a 200
// is an error.
func Probe(ctx context.Context, client *http.Client, listen, path string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+reachable(listen)+path, nil)
	if err != nil {
		return err
	}
	response, err := onListener(client, listen).Do(request)
	if err != nil {
		return fmt.Errorf("no response on %s", listen)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 200))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %s", response.StatusCode, strings.TrimSpace(string(text)))
	}
	return nil
}

// reachable returns the address to call for an address to listen on. For :80 and 0.0.0.0:80, that is 127.0.0.1:80.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "localhost"
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "" || err == nil && ip.IsUnspecified() && ip.Is4():
		host = "127.0.0.1"
	case err == nil && ip.IsUnspecified():
		host = "::1"
	}
	return net.JoinHostPort(host, port)
}

// onListener returns a client that connects to the listener, which may be a Unix socket.
func onListener(client *http.Client, listen string) *http.Client {
	path, isSocket := strings.CutPrefix(listen, "unix:")
	if !isSocket {
		return client
	}
	own := *client
	own.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	return &own
}

// ProbeTLS checks that a TLS listener on this machine completes a handshake. It does not check the name in the
// certificate.
func ProbeTLS(ctx context.Context, listen string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // the probe checks only whether the listener is alive
	conn, err := dialer.DialContext(ctx, "tcp", reachable(listen))
	if err != nil {
		return fmt.Errorf("no TLS connection on %s", listen)
	}
	return conn.Close()
}
