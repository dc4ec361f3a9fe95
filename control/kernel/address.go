package kernel

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/postern-ai/postern/core/abi"
)

var addressHeader = http.CanonicalHeaderKey(abi.AddressHeader)

// ipv6SiteBits is the prefix length of an IPv6 site, the smallest block that is assigned to a customer.
const ipv6SiteBits = 64

// clientAddress returns the client's IP address as reported by the forwarding host. It returns false if there is
// none. Clients cannot forge the address, because each host sets the header itself on every request.
func clientAddress(r *http.Request) (netip.Addr, bool) {
	address, err := netip.ParseAddr(HeaderValue(r.Header, addressHeader))
	return address.Unmap().WithZone(""), err == nil
}

// ClientNetwork returns the network that lockouts apply to: an IPv4 address or an IPv6 /64. All requests without an
// address count as one network.
func ClientNetwork(r *http.Request) string {
	address, ok := clientAddress(r)
	if !ok {
		return "unknown"
	}
	if address.Is4() {
		return address.String()
	}
	site, _ := address.Prefix(ipv6SiteBits) // cannot fail: an IPv6 address has more than 64 bits
	return site.String()
}

// HeaderValue returns a header as it was sent. A host may have split the value at commas, so the parts are rejoined.
func HeaderValue(header http.Header, name string) string {
	return strings.Join(header.Values(name), ",")
}
