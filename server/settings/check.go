package settings

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/server"
)

type apply = func(c *server.Config, text string) (ok bool)

func text(field func(*server.Config) *string) apply {
	return func(c *server.Config, text string) bool {
		*field(c) = text
		return isPrintable(text)
	}
}

func choice(field func(*server.Config) *string, allowed ...string) apply {
	return func(c *server.Config, text string) bool {
		*field(c) = text
		return slices.Contains(allowed, text)
	}
}

func env(name string, valid func(string) bool) apply {
	return func(c *server.Config, text string) bool {
		c.Env[name] = text
		return valid(text)
	}
}

// address accepts host:port and the path of a Unix socket. An empty host means all addresses. It accepts off only if
// the variable allows it.
func address(field func(*server.Config) *string, off bool) apply {
	return func(c *server.Config, text string) bool {
		*field(c) = text
		if path, isSocket := strings.CutPrefix(text, "unix:"); isSocket || off && text == "off" {
			return !isSocket || strings.HasPrefix(path, "/") && isPrintable(path)
		}
		_, port, err := net.SplitHostPort(text)
		if err != nil {
			return false
		}
		_, err = strconv.ParseUint(port, 10, 16)
		return err == nil
	}
}

func database(c *server.Config, text string) bool {
	c.Database = text
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql")
}

// publicURL accepts an origin and an optional final slash. The host is in the form that browsers send in Origin.
func publicURL(c *server.Config, text string) bool {
	origin := strings.TrimSuffix(text, "/")
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || !strings.EqualFold(origin, u.Scheme+"://"+u.Host) {
		return false
	}
	c.PublicURL = origin
	return isHost(u.Host)
}

// maxHostName is the maximum length of a host name. Source: RFC 1035, section 2.3.4, which counts two more bytes
const maxHostName = 253

// isHost accepts an ASCII name, an IPv4 address or an IPv6 address in brackets, with an optional port. Browsers also
// open names with underscores.
func isHost(text string) bool {
	name, port := text, "1"
	if colon := strings.LastIndexByte(text, ':'); colon > strings.LastIndexByte(text, ']') {
		name, port = text[:colon], text[colon+1:]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return false
	}
	if inner, ok := strings.CutPrefix(name, "["); ok {
		ip, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		return err == nil && ip.Is6() && ip.Zone() == ""
	}
	return name != "" && len(name) <= maxHostName && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789-._") == ""
}

func proxies(c *server.Config, text string) bool {
	for part := range strings.SplitSeq(text, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			one, err := netip.ParseAddr(strings.TrimSpace(part))
			if err != nil {
				return false
			}
			prefix = netip.PrefixFrom(one, one.BitLen())
		}
		c.TrustedProxies = append(c.TrustedProxies, prefix.Masked())
	}
	return true
}

func shutdown(c *server.Config, text string) bool {
	d, err := time.ParseDuration(text)
	c.Drain = d
	return err == nil && d >= 0 && d <= time.Hour
}

func drainDelay(c *server.Config, text string) bool {
	d, err := time.ParseDuration(text)
	c.DrainDelay = d
	return err == nil && d >= 0 && d <= 10*time.Minute
}

func connections(c *server.Config, text string) bool {
	n, err := strconv.Atoi(text)
	c.MaxConnections = n
	return err == nil && n >= 1 && n <= 1_000_000
}

// tokenForm describes the form that isToken accepts. The minimum length is the same as in the control plane.
const (
	tokenForm     = "at least 16 printable ASCII characters without spaces"
	minTokenBytes = 16
)

func isToken(text string) bool { return len(text) >= minTokenBytes && isGraphic(text) }

func isGraphic(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// isPrintable allows everything except ASCII control characters: file names contain spaces and letters of other
// languages.
func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func isSwitch(text string) bool { return text == "on" || text == "off" }

func isLog(text string) bool { return text == "all" || text == "errors" || text == "off" }

func isBodyLimit(text string) bool {
	n, err := strconv.ParseUint(text, 10, 32)
	return err == nil && n > 0
}

func isMasterKeys(text string) bool {
	_, ok := config.ParseMasterKeys(text)
	return ok
}

func isSigningKeys(text string) bool {
	_, err := compliance.ParseSigningKeys(text)
	return err == nil
}

func check(valid func(string) bool) apply {
	return func(_ *server.Config, text string) bool { return valid(text) }
}
