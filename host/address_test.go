package host

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// TestAddress: X-Forwarded-For counts only if trusted proxies set it.
func TestAddress(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:f::/48")}
	for _, c := range []struct {
		name, remote string
		forwarded    []string
		want         string
	}{
		{"direct", "192.0.2.7:1234", nil, "192.0.2.7"},
		{"direct with a forged header", "192.0.2.7:1234", []string{"198.51.100.1"}, "192.0.2.7"},
		{"direct with a forged proxy address", "192.0.2.7:1234", []string{"10.0.0.1"}, "192.0.2.7"},
		{"one proxy", "10.0.0.1:1234", []string{"198.51.100.1"}, "198.51.100.1"},
		{"one proxy after a forged entry", "10.0.0.1:1234", []string{"203.0.113.9, 198.51.100.1"}, "198.51.100.1"},
		{"one proxy after malformed entries", "10.0.0.1:1234", []string{"<script>,,, 198.51.100.1"}, "198.51.100.1"},
		{"two proxies", "10.0.0.1:1234", []string{"203.0.113.9, 198.51.100.1, 10.2.3.4"}, "198.51.100.1"},
		{"two header fields", "10.0.0.1:1234", []string{"203.0.113.9", "198.51.100.1,10.2.3.4"}, "198.51.100.1"},
		{"IPv4 with a port", "10.0.0.1:1234", []string{"198.51.100.1:99"}, "198.51.100.1"},
		{"IPv6 with a port", "10.0.0.1:1234", []string{"[2001:db8::1]:99"}, "2001:db8::1"},
		{"IPv6 proxy", "[2001:db8:f::9]:1234", []string{"2001:DB8::0:1"}, "2001:db8::1"},
		{"IPv4-mapped IPv6", "[::ffff:10.0.0.1]:1234", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		{"IPv6 zone", "[fe80::1%eth0]:1234", nil, "fe80::1"},
		{"one proxy without the header", "10.0.0.1:1234", nil, "10.0.0.1"},
		{"one proxy with a malformed entry", "10.0.0.1:1234", []string{"198.51.100.1, unknown"}, "10.0.0.1"},
		{"one proxy with an empty entry", "10.0.0.1:1234", []string{"198.51.100.1, "}, "10.0.0.1"},
		{"only proxies", "10.0.0.1:1234", []string{"10.1.1.1, 10.2.2.2"}, "10.0.0.1"},
		{"Unix socket", "@", []string{"198.51.100.1"}, ""},
	} {
		h := &Host{Options: Options{TrustedProxies: proxies}}
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.remote
		r.Header["X-Forwarded-For"] = c.forwarded
		if got := h.address(r); got != c.want {
			t.Errorf("%s: address %q, want %q", c.name, got, c.want)
		}
		h.TrustedProxies = nil
		if got, peer := h.address(r), peerOf(r); got != peer {
			t.Errorf("%s, without trusted proxies: address %q, want %q", c.name, got, peer)
		}
	}
}

// peerOf returns the connection's peer in canonical form, or "" if it has no address.
func peerOf(r *http.Request) string {
	address, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return address.Addr().Unmap().WithZone("").String()
}

// TestUnixSocketProxy: a proxy on a Unix socket is trusted if 127.0.0.1 is trusted.
func TestUnixSocketProxy(t *testing.T) {
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "@"
	for network, want := range map[string]string{"127.0.0.0/8": "198.51.100.1", "::1/128": "", "10.0.0.0/8": ""} {
		h := &Host{Options: Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix(network)}}}
		r.Header.Set("X-Forwarded-For", "203.0.113.9, 198.51.100.1")
		if got := h.address(r); got != want {
			t.Errorf("trusting %s: address %q, want %q", network, got, want)
		}
		r.Header.Del("X-Forwarded-For")
		if got := h.address(r); got != "" {
			t.Errorf("trusting %s, without the header: address %q, want none", network, got)
		}
	}
}
