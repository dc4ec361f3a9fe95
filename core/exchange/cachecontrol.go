package exchange

import "strings"

func parseCacheControl(text string) cacheControl {
	var c cacheControl
	for text != "" {
		var part string
		part, text, _ = strings.Cut(text, ",")
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch strings.ToLower(name) {
		case "no-store":
			c.noStore = true
		case "no-cache":
			c.noCache = true
		case "max-age":
			if n, ok := parseUint(strings.Trim(value, `" `)); ok {
				c.maxAge = n + 1
			}
		}
	}
	return c
}
