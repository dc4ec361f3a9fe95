package control

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/base64"
)

// What a project's alerts may be.
const (
	maxURLBytes        = 512
	maxPort            = 65535
	webhookSecretBytes = 24
)

// What is wrong with a webhook's address.
const (
	wrongURL     = "must be an https URL of at most 512 characters, without a user or a fragment"
	wrongNetwork = "must not be an address or a name of a private network or of this machine; POSTERN_PRIVATE_WEBHOOKS=on allows them"
)

// alerts takes the field "alerts": {"url"}, or null for none.
func (h *handler) alerts(f *fields) (address string, given bool) {
	if f.null("alerts") {
		return "", true
	}
	inner, given := f.object("alerts")
	if !given {
		return "", false
	}
	address, _ = inner.text("url", "")
	if len(inner.problems) == 0 {
		if wrong := wrongWebhook(address, h.PrivateWebhooks()); wrong != "" {
			inner.wrong("url", wrong)
		}
	}
	f.close("alerts", inner)
	return address, true
}

// wrongWebhook says what is wrong with a webhook's address, or "". It must be https, and lead out of this
// machine and its networks as far as its text tells. Where private ones are allowed, it may be plain http to
// this machine, where a developer tries it out. What a name resolves to is not known here.
func wrongWebhook(text string, private bool) string {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxURLBytes || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return wrongURL
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) || !isPort(u.Port()) {
		return wrongURL
	}
	where := reachOf(strings.TrimSuffix(u.Host, ":"+u.Port()))
	switch {
	case where == noHost, u.Scheme != "https" && (u.Scheme != "http" || where != thisMachine):
		return wrongURL
	case where != public && !private:
		return wrongNetwork
	}
	return ""
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 32)
	return text == "" || err == nil && n <= maxPort
}

// hostOf is a webhook's address without what may be secret in it.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + "/***"
}

// webhookSecret is a secret as the receiver's library wants it (Standard Webhooks).
func webhookSecret(secret []byte) string { return string(base64.Append([]byte("whsec_"), secret)) }
