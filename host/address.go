package host

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// address is the caller's IP address: the connection's peer, or if that is a trusted proxy, the rightmost address
// of X-Forwarded-For that is not one. What stands left of that anybody may have written. Empty: the connection has
// none, as a Unix socket.
func (h *Host) address(r *http.Request) string {
	peer, ok := parseAddress(r.RemoteAddr)
	if !ok {
		return ""
	}
	if h.trusts(peer) {
		if forwarded, ok := h.forwardedFor(r.Header); ok {
			return forwarded.String()
		}
	}
	return peer.String()
}

// forwardedFor is false if a proxy wrote something else than an address, or none but proxies are named.
func (h *Host) forwardedFor(header http.Header) (netip.Addr, bool) {
	hops := strings.Split(strings.Join(header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		address, ok := parseAddress(strings.TrimSpace(hop))
		if !ok || !h.trusts(address) {
			return address, ok
		}
	}
	return netip.Addr{}, false
}

func (h *Host) trusts(address netip.Addr) bool {
	return slices.ContainsFunc(h.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// parseAddress reads an address, or an address and a port.
func parseAddress(text string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		var both netip.AddrPort
		both, err = netip.ParseAddrPort(text)
		address = both.Addr()
	}
	return address.Unmap().WithZone(""), err == nil
}
