package control

import (
	"net/http"
	"net/netip"

	"github.com/postern-ai/postern/core/abi"
)

var addressHeader = http.CanonicalHeaderKey(abi.AddressHeader)

// ipv6SiteBits is what one customer has at least of IPv6.
const ipv6SiteBits = 64

// clientAddress is where a request came from, as the host says that forwarded it, or false if it does not. Nobody
// else can: the host takes away what a caller sends under that name, and only hosts reach this handler.
func clientAddress(r *http.Request) (netip.Addr, bool) {
	address, err := netip.ParseAddr(headerValue(r.Header, addressHeader))
	return address.Unmap().WithZone(""), err == nil
}

// clientNetwork is whom an address is counted with: itself, or all of an IPv6 site. Those who have no
// address are counted together.
func clientNetwork(r *http.Request) string {
	address, ok := clientAddress(r)
	if !ok {
		return "unknown"
	}
	if address.Is4() {
		return address.String()
	}
	site, _ := address.Prefix(ipv6SiteBits) // 64 bits fit any IPv6 address
	return site.String()
}
