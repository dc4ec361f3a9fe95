package server

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/postern-ai/postern/control"
)

// welcome writes the addresses and, on the first start, the demo project's keys. The keys are shown only once.
func (s *Server) welcome(ctx context.Context, address net.Addr) {
	if s.config.Out == nil {
		return
	}
	var made *demo
	if s.config.Database == "" {
		s.guarded("demo_failed", func() (err error) {
			made, err = s.makeDemo(ctx)
			return err
		})
	}
	base := s.publicURL(address)
	text := fmt.Sprintf("\nPostern is ready on %s\n\nDashboard:    %s/dashboard\nAdmin token:  %s\n", base, base, s.tokenPlace())
	if made != nil {
		text += made.text(curl(address), base)
	}
	_, _ = fmt.Fprintln(s.config.Out, text)
}

// tokenPlace says where the admin token can be found. It does not show the token, because this output is often kept
// in logs, where the token does not belong.
func (s *Server) tokenPlace() string {
	if s.config.Env[control.EnvAdminToken] != "" {
		return "the value of POSTERN_ADMIN_TOKEN"
	}
	return filepath.Join(s.config.Data, SecretsFile)
}

// publicURL returns the address that users see.
func (s *Server) publicURL(address net.Addr) string {
	if s.config.PublicURL != "" {
		return strings.TrimSuffix(s.config.PublicURL, "/")
	}
	scheme := "http"
	if s.certificate.Load() != nil {
		scheme = "https"
	}
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return scheme + "://localhost"
	}
	host := *tcp
	if host.IP.IsUnspecified() {
		host.IP = net.IPv4(127, 0, 0, 1)
	}
	return scheme + "://" + host.String()
}

// curl returns the curl command that reaches an address.
func curl(address net.Addr) string {
	if address.Network() == "unix" {
		return "curl --unix-socket '" + address.String() + "'"
	}
	return "curl"
}

// text is what a first start shows. Its commands can be pasted into a shell.
func (d *demo) text(curl, base string) string {
	const contentType = "-H 'Content-Type: application/json'"
	return fmt.Sprintf(`
Send a request. This is a development key, so the built-in mock provider responds, free of charge:

  %s %s/v1/chat/completions -H 'Authorization: Bearer %s' %s -d '{"model":"gpt-4.1-mini","messages":[{"role":"user","content":"Hello!"}]}'

Read the project's usage:

  %s '%s/api/usage?projectId=%s' -H 'X-API-Key: %s'

The keys are shown only now. To call a real provider, start Postern with the provider's API key, for example
OPENAI_API_KEY=sk-…, and create a production key in the dashboard.
`, curl, base, d.gatewayKey, contentType, curl, base, d.projectID, d.projectKey)
}
