package control

import (
	"net/url"
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/base64"
)

// What a project's alerts may be.
const (
	maxURLBytes        = 512
	webhookSecretBytes = 24
)

// alerts takes the field "alerts": {"url"}, or null for none.
func (f *fields) alerts() (address string, given bool) {
	if f.null("alerts") {
		return "", true
	}
	inner, given := f.object("alerts")
	if !given {
		return "", false
	}
	address, _ = inner.text("url", "")
	if len(inner.problems) == 0 && !isWebhookURL(address) {
		inner.wrong("url", "must be an https URL of at most 512 characters, without a user or a fragment")
	}
	f.close("alerts", inner)
	return address, true
}

// isWebhookURL: https, or plain http to this machine, where a developer tries it out.
func isWebhookURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxURLBytes || u.Hostname() == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return false
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && slices.Contains([]string{"127.0.0.1", "localhost", "::1"}, u.Hostname())
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
