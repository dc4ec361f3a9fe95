package host

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// address returns the client's IP address. If the peer is not a trusted proxy, this is the peer's address. Otherwise,
// it is the rightmost address in X-Forwarded-For that is not a trusted proxy: addresses further to the left could be
// forged. A peer on a Unix socket has no address and is trusted if 127.0.0.1 is trusted. If X-Forwarded-For then
// names no client, the result is "".
func (h *Host) address(r *http.Request) string {
	peer, ok := parseAddress(r.RemoteAddr)
	if h.trusts(peer) || !ok && h.trusts(thisMachine) {
		if forwarded, ok := h.forwardedFor(r.Header); ok {
			return forwarded.String()
		}
	}
	if !ok {
		return ""
	}
	return peer.String()
}

var thisMachine = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// forwardedFor returns the client's address according to X-Forwarded-For. It returns false if the header contains a
// malformed address or only trusted proxies.
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

// parseAddress parses an IP address with or without a port.
func parseAddress(text string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		var both netip.AddrPort
		both, err = netip.ParseAddrPort(text)
		address = both.Addr()
	}
	return address.Unmap().WithZone(""), err == nil
}
