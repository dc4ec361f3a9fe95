package settings

import (
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/base64"
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

// TakeAlerts takes the field "alerts", which is {"url"} or null. For null, the address is empty.
func TakeAlerts(cp *kernel.Plane, f *kernel.Fields) (address string, given bool) {
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
		if problem := webhookProblem(cp, address); problem != "" {
			inner.Problem("url", problem)
		}
	}
	f.AddProblems("alerts", inner)
	return address, true
}

// webhookProblem describes the problem with the URL of a webhook. It returns an empty string if there is none. The
// URL must be https and, judging by its text, point to the internet. If private hosts are allowed, plain http to this
// machine is also allowed, for development. Names are not resolved.
func webhookProblem(cp *kernel.Plane, text string) string {
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
	case host != public && !cp.PrivateWebhooks():
		return privateURL + cp.Runtime
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

// AlertsView is the webhook for alerts as the API returns it. Secret is set only in the response to the request that
// creates the secret.
type AlertsView struct {
	URL         string `json:"url"`
	SecretLast4 string `json:"secretLast4"`
	Secret      string `json:"secret,omitempty"`
}

// ViewAlerts returns the API's view, or nil if no alerts are sent. It has the secret if the alerts before the request
// had another one.
func ViewAlerts(a, before *doc.Alerts) *AlertsView {
	if a.URL == "" {
		return nil
	}
	secret := webhookSecret(a.Secret)
	v := &AlertsView{URL: a.URL, SecretLast4: secret[len(secret)-4:]}
	kernel.Set(string(a.Secret) != string(before.Secret), &v.Secret, secret)
	return v
}

// Redacted returns the view for viewers and the audit log. Only owners see the webhook's full URL, because its path
// may contain a secret, as is common among chat services.
func (v *AlertsView) Redacted() *AlertsView {
	if v == nil {
		return nil
	}
	return &AlertsView{URL: hostOf(v.URL), SecretLast4: v.SecretLast4}
}

// webhookSecret encodes a secret in the format of Standard Webhooks.
func webhookSecret(secret []byte) string { return string(base64.Append([]byte("whsec_"), secret)) }

// NewWebhookSecret returns a random signing key.
func NewWebhookSecret(rand io.Reader) ([]byte, error) {
	secret := make([]byte, webhookSecretBytes)
	_, err := io.ReadFull(rand, secret)
	return secret, err
}

// SetAlerts sets the webhook's URL. A new URL gets the new secret.
func SetAlerts(a *doc.Alerts, url string, secret []byte) {
	if url == a.URL {
		return
	}
	*a = doc.Alerts{URL: url}
	kernel.Set(url != "", &a.Secret, secret)
}
