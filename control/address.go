package control

import (
	"net/http"
	"net/netip"

	"github.com/postern-ai/postern/core/abi"
)

var addressHeader = http.CanonicalHeaderKey(abi.AddressHeader)

// ipv6SiteBits is the prefix length of an IPv6 site, the smallest block that a customer is assigned.
const ipv6SiteBits = 64

// clientAddress is the client's IP address as reported by the forwarding host; ok is false without one.
// Clients cannot forge it: the host removes this header from incoming requests, and only hosts reach this
// handler.
func clientAddress(r *http.Request) (netip.Addr, bool) {
	address, err := netip.ParseAddr(headerValue(r.Header, addressHeader))
	return address.Unmap().WithZone(""), err == nil
}

// clientNetwork is the lockout bucket: an IPv4 address or an IPv6 /64. All requests without an address share
// one bucket.
func clientNetwork(r *http.Request) string {
	address, ok := clientAddress(r)
	if !ok {
		return "unknown"
	}
	if address.Is4() {
		return address.String()
	}
	site, _ := address.Prefix(ipv6SiteBits) // cannot fail: any IPv6 address has 64 bits
	return site.String()
}
