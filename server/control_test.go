package server

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// ask sends a request to the admin API and returns the status and the body. If host is set, it replaces the host of
// the address.
func (r *running) ask(method, path, host, body string, header ...string) (int, string) {
	r.t.Helper()
	request, _ := http.NewRequest(method, r.url+path, strings.NewReader(body))
	request.Host = host
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := r.client.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

// TestPrivateWebhookRemedy checks that the error about a private webhook names the server, because that is where the
// variable is set.
func TestPrivateWebhookRemedy(t *testing.T) {
	r := start(t, testConfig(nil), nil)
	status, body := r.ask("PATCH", "/api/admin/projects/"+r.project, "", `{"alerts":{"url":"https://10.0.0.1/hook"}}`, "Authorization", "Bearer "+testToken)
	if status != 400 || !strings.Contains(body, "the operator sets POSTERN_PRIVATE_WEBHOOKS=on on the server\"") {
		t.Errorf("%d %s", status, body)
	}
}

// TestSessionsNeedTheServersHost checks that a page can sign in at the listener's address and at POSTERN_PUBLIC_URL.
// Under any other name that leads to the server, it cannot.
func TestSessionsNeedTheServersHost(t *testing.T) {
	c := testConfig(nil)
	c.PublicURL = "https://gate.example"
	r := start(t, c, nil)
	bound := strings.TrimPrefix(r.url, "http://")
	_, port, _ := strings.Cut(bound, ":")
	for _, o := range []struct {
		host, origin string
		want         int
	}{
		{bound, r.url, 200},
		{"localhost:" + port, "http://localhost:" + port, 200},
		{"backend", "https://gate.example", 200},
		{"evil.example:" + port, "http://evil.example:" + port, 403},
		{bound, "http://evil.example:" + port, 403},
	} {
		status, body := r.ask("POST", "/api/admin/session", o.host, `{"token":"`+testToken+`"}`, "Origin", o.origin)
		if status != o.want || status == 403 && !strings.Contains(body, "cross_origin") {
			t.Errorf("%s at %s: %d %s", o.origin, o.host, status, body)
		}
		if isForeign := o.host == "evil.example:"+port; isForeign && !strings.Contains(body, "set POSTERN_PUBLIC_URL") {
			t.Errorf("without a remedy: %s", body)
		}
	}
}
