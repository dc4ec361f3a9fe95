package host

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// TestAddress: what a caller writes counts only as far as proxies that are trusted vouch for it.
func TestAddress(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:f::/48")}
	for _, c := range []struct {
		name, remote string
		forwarded    []string
		want         string
	}{
		{"a stranger", "192.0.2.7:1234", nil, "192.0.2.7"},
		{"a stranger who claims another address", "192.0.2.7:1234", []string{"198.51.100.1"}, "192.0.2.7"},
		{"a stranger who claims to be a proxy", "192.0.2.7:1234", []string{"10.0.0.1"}, "192.0.2.7"},
		{"by a proxy", "10.0.0.1:1234", []string{"198.51.100.1"}, "198.51.100.1"},
		{"by a proxy, after what the caller wrote", "10.0.0.1:1234", []string{"203.0.113.9, 198.51.100.1"}, "198.51.100.1"},
		{"by a proxy, after rubbish that the caller wrote", "10.0.0.1:1234", []string{"<script>,,, 198.51.100.1"}, "198.51.100.1"},
		{"by two proxies", "10.0.0.1:1234", []string{"203.0.113.9, 198.51.100.1, 10.2.3.4"}, "198.51.100.1"},
		{"in two fields", "10.0.0.1:1234", []string{"203.0.113.9", "198.51.100.1,10.2.3.4"}, "198.51.100.1"},
		{"with a port", "10.0.0.1:1234", []string{"198.51.100.1:99"}, "198.51.100.1"},
		{"of IPv6 with a port", "10.0.0.1:1234", []string{"[2001:db8::1]:99"}, "2001:db8::1"},
		{"by a proxy of IPv6", "[2001:db8:f::9]:1234", []string{"2001:DB8::0:1"}, "2001:db8::1"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:1234", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		{"a zone", "[fe80::1%eth0]:1234", nil, "fe80::1"},
		{"by a proxy that says nothing", "10.0.0.1:1234", nil, "10.0.0.1"},
		{"by a proxy that says rubbish", "10.0.0.1:1234", []string{"198.51.100.1, unknown"}, "10.0.0.1"},
		{"by a proxy that says less than an address", "10.0.0.1:1234", []string{"198.51.100.1, "}, "10.0.0.1"},
		{"nothing but proxies", "10.0.0.1:1234", []string{"10.1.1.1, 10.2.2.2"}, "10.0.0.1"},
		{"a socket", "@", []string{"198.51.100.1"}, ""},
	} {
		h := &Host{Options: Options{TrustedProxies: proxies}}
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.remote
		r.Header["X-Forwarded-For"] = c.forwarded
		if got := h.address(r); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		h.TrustedProxies = nil
		if got, peer := h.address(r), peerOf(r); got != peer {
			t.Errorf("%s, nobody being trusted: %q, want %q", c.name, got, peer)
		}
	}
}

func peerOf(r *http.Request) string {
	address, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return address.Addr().Unmap().WithZone("").String()
}
