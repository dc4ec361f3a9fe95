package control

import (
	"net/http"
	"net/netip"
)

// ipv6SiteBits is what one customer has at least of IPv6.
const ipv6SiteBits = 64

// clientAddress is where a request came from, as the platform says, or false if it does not.
// Source: developers.cloudflare.com/fundamentals/reference/http-headers/#cf-connecting-ip
func clientAddress(r *http.Request) (netip.Addr, bool) {
	address, err := netip.ParseAddr(headerValue(r.Header, "Cf-Connecting-Ip"))
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
