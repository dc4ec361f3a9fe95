package postern_test

import (
	"bufio"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	postern "github.com/postern-ai/postern/clients/go"
)

// proxyChild is the name of an environment variable. If it is set, this program runs as a client. net/http reads the
// proxy variables only once, so each case needs its own process.
const proxyChild = "POSTERN_TEST_PROXY_CHILD"

// runProxyChild calls a gateway, and prints its project or the error's type.
func runProxyChild() {
	client, err := postern.New(postern.WithRetries(0), postern.WithLogging(postern.Logging{Level: postern.LogOff}))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	health, err := client.Health.Get(ctx)
	var lost *postern.APIConnectionError
	switch {
	case errors.As(err, &lost), errors.Is(err, context.DeadlineExceeded):
		fmt.Println("no connection")
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Println(health.ProjectID)
	}
}

// proxy is a small HTTP proxy. It responds to requests for http addresses itself, and opens tunnels to one server.
type proxy struct {
	*httptest.Server
	target string
	mu     sync.Mutex
	seen   []string // methods and addresses
}

func newProxy(t *testing.T, target string) *proxy {
	p := &proxy{target: target}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.seen = append(p.seen, r.Method+" "+r.RequestURI)
	p.mu.Unlock()
	if r.Method != http.MethodConnect {
		_, _ = io.WriteString(w, `{"project_id":"of the proxy"}`)
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(server, buffered.Reader); server.Close() }()
	_, _ = io.Copy(client, bufio.NewReader(server))
}

// takeSeen returns the requests since the last call.
func (p *proxy) takeSeen() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := strings.Join(p.seen, ", ")
	p.seen = nil
	return text
}

// proxyCases list a client's variables, its output, and the request that the proxy receives.
var proxyCases = map[string]struct {
	url, variable, noProxy, want, seen string
}{
	"http":      {"http://postern.invalid", "HTTP_PROXY", "", "of the proxy", "GET http://postern.invalid/api/health"},
	"https":     {"https://example.com", "HTTPS_PROXY", "", "of the gateway", "CONNECT example.com:443"},
	"exception": {"http://postern.invalid", "HTTP_PROXY", "postern.invalid", "no connection", ""},
	"another":   {"http://postern.invalid", "HTTP_PROXY", "example.com", "of the proxy", "GET http://postern.invalid/api/health"},
	"of https":  {"http://postern.invalid", "HTTPS_PROXY", "", "no connection", ""},
}

// TestProxies checks that the default transport honors the proxy variables. The hosts in the addresses are never
// contacted.
func TestProxies(t *testing.T) {
	gateway := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"project_id":"of the gateway"}`)
	}))
	defer gateway.Close()
	p := newProxy(t, gateway.Listener.Addr().String())
	certificate := filepath.Join(t.TempDir(), "ca.pem") // of example.com
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: gateway.Certificate().Raw})
	if err := os.WriteFile(certificate, block, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range proxyCases {
		child := exec.Command(os.Args[0])
		child.Env = []string{
			proxyChild + "=1", "POSTERN_API_KEY=sk_test_proxy", "POSTERN_BASE_URL=" + c.url, c.variable + "=" + p.URL,
			"NO_PROXY=" + c.noProxy, "SSL_CERT_FILE=" + certificate,
		}
		output, err := child.CombinedOutput()
		if seen := p.takeSeen(); err != nil || string(output) != c.want+"\n" || seen != c.seen {
			t.Errorf("%s: printed %q, want %q; the proxy saw %q, want %q; %v", name, output, c.want, seen, c.seen, err)
		}
	}
}
