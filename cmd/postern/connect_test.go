package main

import (
	"encoding/pem"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// With --ca-file or POSTERN_CA_FILE, a server with a self-signed certificate can be reached. Without them, the error
// says why it cannot.
func TestOwnCertificate(t *testing.T) {
	target, err := url.Parse(deployment(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
	defer server.Close()
	s := newShell(t, server.URL)
	s.fails(exitFailed, "--ca-file or POSTERN_CA_FILE", "projects", "list")
	file := s.file("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	s.ok("projects", "list", "--ca-file", file)
	s.fails(exitUsage, "no certificate", "projects", "list", "--ca-file", s.file("empty.pem", ""))
	s.environ = append(s.environ, "POSTERN_CA_FILE="+file)
	s.ok("projects", "list")
}

func TestNumbersOfFlags(t *testing.T) {
	s := newShell(t, "http://127.0.0.1:1")
	for _, text := range []string{"-3", "x", "99999999999999999999"} {
		_, message, code := s.run("keys", "create", "--name", "k", "--limit-per-second", text)
		if code != exitUsage || strings.Contains(message, "strconv") || !strings.Contains(message, "--limit-per-second") || !strings.Contains(message, text) {
			t.Errorf("%s: %d %s", text, code, message)
		}
	}
}

func TestServeNeedsTogether(t *testing.T) {
	s := &shell{t: t, environ: []string{"POSTERN_DATABASE=postgres://user@127.0.0.1:1/x"}}
	s.fails(exitUsage, "POSTERN_ADMIN_TOKEN", "serve")
	s.environ = []string{"POSTERN_ACCESS_TEAM=acme.cloudflareaccess.com", "POSTERN_DATA=/dev/null"}
	s.fails(exitUsage, "POSTERN_ACCESS_AUD", "serve")
	s.environ = []string{"POSTERN_DATA=/dev/null"}
	s.fails(exitFailed, "POSTERN_DATA", "serve")
}
