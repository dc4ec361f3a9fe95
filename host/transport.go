package host

import (
	"net"
	"net/http"
	"time"
)

// Limits of connections to providers.
const (
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	idleConnTimeout  = 90 * time.Second
	keepAlive        = 15 * time.Second
	maxIdlePerHost   = 1024
	maxHeaderBytes   = 256 << 10
)

// NewTransport returns a transport for requests to providers. It pools connections, speaks HTTP/2 where the provider
// offers it, and honors HTTP_PROXY, HTTPS_PROXY and NO_PROXY. It does not request compression, so the body arrives
// exactly as the provider sent it. The timeouts here limit only a connection attempt. The core sets the timeouts of a
// request.
//
// net/http resends a POST in two cases only: no part of the request has been written, or an HTTP/2 server has
// declared that it did not process the request. A provider therefore gets each request at most once. This holds only
// without an Idempotency-Key header; see http.Transport.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    handshakeTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleConnTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true,
		// If a firewall has dropped a connection, that must not fail one request after another.
		HTTP2: &http.HTTP2Config{SendPingTimeout: keepAlive, PingTimeout: keepAlive},
	}
}
