package settings

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// reach says where the host of a URL is, judging by the text of the URL alone.
type reach uint8

const (
	noHost         reach = iota // not a valid host of a URL
	public                      // an address or name on the internet
	privateNetwork              // an address or name in a private network, or a reserved address
	loopback
)

// privateNames are top-level domains of private networks. All names with a single label are private, too. Source: RFC
// 6761 (localhost), RFC 6762 (local), ICANN board resolution 2024.07.29.06 (internal).
var privateNames = []string{"local", "internal"}

// privateRanges are not reachable from the internet. For a 6to4 or NAT64 address, the IPv4 address in it counts.
// Source: the IANA IPv4 and IPv6 Special-Purpose Address Registries.
var privateRanges = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "3fff::/20",
)

var (
	globalIPv6 = netip.MustParsePrefix("2000::/3") // covers all global unicast addresses that IANA has allocated
	sixToFour  = netip.MustParsePrefix("2002::/16")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// reachOf returns the reach of a URL's host. The host is a name, an IPv4 address in any form that browsers and fetch
// accept, or an IPv6 address in brackets. For a malformed host, reachOf returns noHost.
func reachOf(host string) reach {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		address, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || address.Zone() != "" || !strings.HasSuffix(inner, "]") || !address.Is6() {
			return noHost
		}
		return reachOfAddress(address)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "" || strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-._") != "" {
		return noHost
	}
	labels := strings.Split(host, ".")
	if last := labels[len(labels)-1]; isNumber(last) {
		address, ok := looseIPv4(labels)
		if !ok {
			return noHost
		}
		return reachOfAddress(address)
	} else if last == "localhost" {
		return loopback
	} else if len(labels) == 1 || slices.Contains(privateNames, last) {
		return privateNetwork
	}
	return public
}

func reachOfAddress(a netip.Addr) reach {
	a = a.Unmap()
	switch {
	case a.IsLoopback():
		return loopback
	case a.Is6() && (sixToFour.Contains(a) || nat64.Contains(a)):
		return reachOfAddress(embedded(a))
	case a.Is6() && !globalIPv6.Contains(a):
		return privateNetwork
	}
	if slices.ContainsFunc(privateRanges, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return privateNetwork
	}
	return public
}

// embedded returns the IPv4 address in a 6to4 or NAT64 address.
func embedded(a netip.Addr) netip.Addr {
	b := a.As16()
	if sixToFour.Contains(a) {
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return netip.AddrFrom4([4]byte(b[12:16]))
}

// isNumber reports whether a host is an IPv4 address, judging by its last label. Source: the URL Standard
// (url.spec.whatwg.org), "ends in a number checker".
func isNumber(label string) bool {
	_, ok := looseNumber(label)
	return ok || label != "" && strings.Trim(label, "0123456789") == ""
}

// looseIPv4 parses an IPv4 address of one to four numbers. The last number fills the remaining bytes.
// Source: the URL Standard, "IPv4 parser".
func looseIPv4(labels []string) (netip.Addr, bool) {
	if len(labels) > 4 {
		return netip.Addr{}, false
	}
	var address uint64
	for i, label := range labels {
		n, ok := looseNumber(label)
		bits := 8
		if i == len(labels)-1 {
			bits = 8 * (4 - i)
		}
		if !ok || n>>bits != 0 {
			return netip.Addr{}, false
		}
		address = address<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(address >> 24), byte(address >> 16), byte(address >> 8), byte(address)}), true
}

// looseNumber parses a number that is decimal, octal with the prefix 0, or hexadecimal with the prefix 0x. "0x" alone
// is 0. Source: the URL Standard, "IPv4 number parser".
func looseNumber(text string) (uint64, bool) {
	base := 10
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		base, text = 16, digits
		if digits == "" {
			return 0, true
		}
	} else if len(text) > 1 && text[0] == '0' {
		base = 8
	}
	if strings.Trim(text, "0123456789abcdef") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, base, 64)
	return n, err == nil
}
