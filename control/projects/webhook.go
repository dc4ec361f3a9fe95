package projects

import (
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/base64"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
)

// Limits of a webhook.
const (
	maxURLBytes        = 512
	maxPort            = 65535
	webhookSecretBytes = 24
)

// Messages about the URL of a webhook. They do not repeat the URL, because it may contain a secret.
const (
	invalidURL = "must be an https URL, such as https://hooks.example.com/path"
	plainURL   = "must be an https URL, got http"
	longURL    = "must have at most 512 characters"
	extraURL   = "must not contain a user name, a password or a fragment (#…)"
	privateURL = "must not point to a private network or to the gateway's own machine; to allow it, the operator sets " +
		kernel.EnvWebhooks + "=on on the " // Runtime
)

// alerts takes the field "alerts", which is {"url"} or null.
func (h *handler) alerts(f *kernel.Fields) (address string, given bool) {
	if f.Null("alerts") {
		return "", true
	}
	inner, given := f.Object("alerts")
	if !given {
		return "", false
	}
	if !inner.Has("url") {
		inner.Problem("url", "is required")
	}
	address, isText := inner.Text("url", "")
	if isText {
		if problem := h.webhookProblem(address); problem != "" {
			inner.Problem("url", problem)
		}
	}
	f.AddProblems("alerts", inner)
	return address, true
}

// webhookProblem describes the problem with the URL of a webhook. It returns an empty string if there is none. The
// URL must be https and, judging by its text, point to the internet. If private hosts are allowed, plain http to this
// machine is also allowed, for development. Names are not resolved.
func (h *handler) webhookProblem(text string) string {
	u, err := url.Parse(text)
	switch {
	case len(text) > maxURLBytes:
		return longURL
	case err != nil || u.Opaque != "":
		return invalidURL
	case u.User != nil || u.Fragment != "":
		return extraURL
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) || !isPort(u.Port()) {
		return invalidURL
	}
	host := reachOf(strings.TrimSuffix(u.Host, ":"+u.Port()))
	switch {
	case host != noHost && u.Scheme == "http" && host != loopback:
		return plainURL
	case host == noHost, u.Scheme != "https" && u.Scheme != "http":
		return invalidURL
	case host != public && !h.PrivateWebhooks():
		return privateURL + h.Runtime
	}
	return ""
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 32)
	return text == "" || err == nil && n <= maxPort
}

// hostOf returns a webhook's URL without the parts that may be secret.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host + "/***"
}

// webhookSecret encodes a secret in the format of Standard Webhooks.
func webhookSecret(secret []byte) string { return string(base64.Append([]byte("whsec_"), secret)) }

func newWebhookSecret(rand io.Reader) ([]byte, error) {
	secret := make([]byte, webhookSecretBytes)
	_, err := io.ReadFull(rand, secret)
	return secret, err
}

// setAlerts sets the webhook's URL. A new URL gets the new secret.
func setAlerts(p *directory.Project, url string, secret []byte) {
	if url == p.Alerts.URL {
		return
	}
	p.Alerts = doc.Alerts{URL: url}
	kernel.Set(url != "", &p.Alerts.Secret, secret)
}
