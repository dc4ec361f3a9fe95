package crash

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// response is a complete response from the server.
type response struct {
	status int
	header http.Header
	body   []byte
}

func (r *response) String() string { return fmt.Sprintf("%d %.500s", r.status, r.body) }

func (r *response) get(path string) gjson.Result { return gjson.GetBytes(r.body, path) }

// send sends a request. An error means that no complete response has arrived. In that case, the test fails, unless it
// has killed the server.
func (d *deployment) send(method, path, header, value, body string) (*response, error) {
	request, err := http.NewRequest(method, d.url(path), reader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set(header, value)
	return d.do(request)
}

func reader(body string) io.Reader { return strings.NewReader(body) }

func (d *deployment) do(request *http.Request) (*response, error) {
	if request.Method != "GET" {
		request.Header.Set("Content-Type", "application/json")
	}
	got, err := d.client.Do(request)
	if err == nil {
		defer got.Body.Close()
		var text []byte
		if text, err = io.ReadAll(got.Body); err == nil {
			return &response{got.StatusCode, got.Header, text}, nil
		}
	}
	if !d.killed.Load() {
		d.Errorf("%s %s: %v, but the server was not killed", request.Method, request.URL.Path, err)
	}
	return nil, err
}

func (d *deployment) admin(method, path, body string) (*response, error) {
	return d.send(method, "/api/admin/"+path, "Authorization", "Bearer "+adminToken, body)
}

// mustAdmin does the same as admin for a server that is up.
func (d *deployment) mustAdmin(method, path, body string) *response {
	d.Helper()
	got, err := d.admin(method, path, body)
	if err != nil {
		d.Fatal(err)
	}
	if got.status >= 300 {
		d.Fatalf("%s %s: %s", method, path, got)
	}
	return got
}

// prompt is a completion request.
type prompt struct {
	tag, text string
	maxTokens int
	stream    bool
	anthropic bool // in Anthropic's format, to a model of that provider
}

func (p prompt) String() string {
	if p.anthropic {
		return fmt.Sprintf(`{"model":"poet","max_tokens":%d,"messages":[{"role":"user","content":"[%s] %s"}]}`, p.maxTokens, p.tag, p.text)
	}
	return fmt.Sprintf(`{"quality":"cheap","maxTokens":%d,"stream":%t,"messages":[{"role":"user","content":"[%s] %s"}]}`,
		p.maxTokens, p.stream, p.tag, p.text)
}

// complete sends a completion request with an account's key and counts its outcome. refusals are the statuses that
// the account's limits allow. If the server was killed in the meantime, it returns nil.
func (d *deployment) complete(a *account, p prompt, refusals ...int) *response {
	p.tag = a.tag
	a.count(func(n *counts) { n.sent++ })
	path := "/api/ai/chat"
	if p.anthropic {
		path = "/v1/messages"
	}
	got, err := d.send("POST", path, "X-Api-Key", a.value, p.String())
	if err != nil {
		return nil
	}
	switch {
	case got.status == 200 && (!p.stream || bytes.HasSuffix(got.body, []byte("data: [DONE]\n\n"))):
		a.count(func(n *counts) { n.served++ })
	case slices.Contains(refusals, got.status):
		a.count(func(n *counts) { n.refused++ })
	case !d.killed.Load():
		d.Errorf("%s with maxTokens %d got %s", a.tag, p.maxTokens, got)
	}
	return got
}
