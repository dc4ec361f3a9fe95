package projects_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/test/controltest"
)

func TestAlertURLs(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	for _, url := range []string{
		"", "hooks.example", "http://hooks.example/", "ftp://hooks.example/", "https://", "https://user@hooks.example/", "https://u:p@hooks.example/",
		"https://hooks.example/#part", "https:hooks.example", "//hooks.example/", "https:///path", "https://:443/", "https://hooks.example/ö",
		"https://hooks.example/a b", "https://hooks.example/\n", "javascript:alert(1)", "http://localhost.example/", "http://127.0.0.1.example/",
		"https://hooks.example/" + strings.Repeat("a", 512), "https://[::1", "https://%zz/", "https://hooks.example:port/",
		"https://hooks.example:65536/", "https://hooks.example\\@10.0.0.1/", "https://hooks.example%2e/", "https://%EF%BC%91%EF%BC%90.0.0.1/", "https://[1.2.3.4]/",
		"https://256.1.1.1/", "https://1.2.3.4.5/", "https://a.0x/", "https://hooks.example!/",
	} {
		body, _ := kernel.Encode(map[string]any{"alerts": map[string]string{"url": url}})
		got := b.Do("PATCH", path, string(body))
		b.Refused(got, fault.InvalidRequest)
		if !reflect.DeepEqual(got.Problems(), []string{"alerts.url"}) {
			t.Errorf("%q: %s", url, got.Body)
		}
	}
	for body, want := range map[string][]string{
		`{"alerts":{}}`: {"alerts.url"}, `{"alerts":"https://hooks.example/"}`: {"alerts"}, `{"alerts":[]}`: {"alerts"},
		`{"alerts":{"url":5}}`: {"alerts.url"}, `{"alerts":{"url":"https://hooks.example/","secret":"x"}}`: {"alerts.secret"},
	} {
		if got := b.Do("PATCH", path, body); got.Code != 400 || !reflect.DeepEqual(got.Problems(), want) {
			t.Errorf("%s: %d %q", body, got.Code, got.Problems())
		}
	}
	for _, url := range []string{"https://hooks.example", "https://hooks.example:8443/a%20b?c=%F0", "https://hooks.example:/", "https://9.9.9.9/", "https://[2606:4700::1]:8443/", "HTTPS://HOOKS.EXAMPLE/"} {
		body, _ := kernel.Encode(map[string]any{"alerts": map[string]string{"url": url}})
		if got := b.Must(200, "PATCH", path, string(body)); got.Fields["alerts"].(map[string]any)["url"] != url {
			t.Errorf("%q is missing in %s", url, got.Body)
		}
	}
}

// Private hosts are rejected with a separate message, unless the deployment allows them. If the deployment allows
// them, plain http is still allowed only to this machine.
func TestPrivateWebhooks(t *testing.T) {
	const (
		syntax  = "must be an https URL, got http"
		extra   = "must not contain a user name, a password or a fragment (#…)"
		network = "must not point to a private network or to the gateway's own machine; " +
			"to allow it, the operator sets POSTERN_PRIVATE_WEBHOOKS=on on the server"
	)
	for _, c := range []struct{ url, wrong, wrongIfAllowed string }{
		{"https://10.0.0.1/", network, ""},
		{"https://10.0.0.1:8443/x", network, ""},
		{"http://10.0.0.1/", syntax, syntax},
		{"https://192.168.1.1./", network, ""},
		{"https://[fd00::1]:443/", network, ""},
		{"https://hooks.internal/", network, ""},
		{"https://router/", network, ""},
		{"https://127.0.0.1/", network, ""},
		{"http://127.0.0.1:9/x", network, ""},
		{"http://2130706433/", network, ""},
		{"http://localhost:9/x", network, ""},
		{"http://[::1]:80/", network, ""},
		{"http://hooks.localhost/", network, ""},
		{"https://user@10.0.0.1/", extra, extra},
		{"https://hooks.example/", "", ""},
		{"http://hooks.example/", syntax, syntax},
	} {
		b := controltest.New(t)
		path := b.Project()
		body, _ := kernel.Encode(map[string]any{"alerts": map[string]string{"url": c.url}})
		for _, private := range []bool{false, true} {
			b.Private = private
			wrong := c.wrong
			if private {
				wrong = c.wrongIfAllowed
			}
			got := b.Do("PATCH", path, string(body))
			if wrong == "" {
				if got.Code != 200 {
					t.Errorf("%s, allowed %v: %s", c.url, private, got.Body)
				}
				continue
			}
			b.Refused(got, fault.InvalidRequest)
			if want := `"details":[{"field":"alerts.url","message":"` + wrong + `"}]`; !strings.Contains(got.Body.String(), want) {
				t.Errorf("%s, allowed %v: %s\nwant %s", c.url, private, got.Body, want)
			}
		}
	}
}
