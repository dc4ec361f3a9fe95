package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/postern-ai/postern/internal/admin"
	"github.com/postern-ai/postern/internal/smallfile"
	"github.com/postern-ai/postern/server/settings"
)

const defaultURL = "http://127.0.0.1:8787"

// connection holds the flags of commands that call the admin API.
type connection struct {
	url, data string
	caFile    string
	insecure  bool
	timeout   time.Duration
}

// connects adds the flags to a command and its subcommands.
func (p *program) connects(c *cobra.Command) (*cobra.Command, *connection) {
	o := &connection{}
	flags := c.PersistentFlags()
	flags.StringVar(&o.url, "url", "", "address of the deployment (default POSTERN_BASE_URL, or "+defaultURL+")")
	flags.StringVar(&o.data, "data", "", "data directory with the token of a deployment on this machine (default POSTERN_DATA, or postern-data)")
	flags.StringVar(&o.caFile, "ca-file", "", "PEM file with certificates to trust besides the system's (default POSTERN_CA_FILE)")
	flags.BoolVar(&o.insecure, "insecure", false, "allow sending the admin token over plain HTTP to another machine")
	flags.DurationVar(&o.timeout, "timeout", 30*time.Second, "time limit for one call to the admin API")
	return c, o
}

func (p *program) client(o *connection) (*admin.Client, error) {
	address := p.address(o)
	if o.timeout <= 0 {
		return nil, misused("--timeout must be a positive duration, got %s", o.timeout)
	}
	options := admin.Options{URL: address, Token: "checked-later", Insecure: o.insecure, Timeout: o.timeout, UserAgent: "postern/" + buildVersion()}
	if _, err := admin.New(options); err != nil { // before asking for a token
		return nil, misuse{err}
	}
	var err error
	if options.HTTP, err = trusting(firstOf(o.caFile, p.variable(settings.EnvCAFile))); err != nil {
		return nil, misuse{err}
	}
	token, err := p.token(o, address)
	if err != nil {
		return nil, err
	}
	options.Token = token
	return admin.New(options)
}

// trusting returns a client that also trusts the certificates in a PEM file. If there is no file, it returns nil,
// which means the default client.
func trusting(file string) (*http.Client, error) {
	if file == "" {
		return nil, nil
	}
	text, err := smallfile.Read(file)
	if err != nil {
		return nil, fmt.Errorf("--ca-file: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--ca-file: %s has no certificate in PEM form", file)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	return &http.Client{Transport: transport}, nil
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// token finds the admin token of a deployment.
func (p *program) token(o *connection, address string) (string, error) {
	text, file := p.variable(settings.EnvAdminToken), p.variable(settings.EnvAdminToken+"_FILE")
	switch {
	case text != "" && file != "":
		return "", misused("%s and %s_FILE are both set; remove one of them", settings.EnvAdminToken, settings.EnvAdminToken)
	case text != "":
		return text, nil
	case file != "":
		content, err := smallfile.Read(file)
		if err != nil {
			return "", fmt.Errorf("%s_FILE: %w", settings.EnvAdminToken, err)
		}
		return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r"), nil
	}
	if isHere(address) {
		if found := p.localToken(o, address); found != "" {
			return found, nil
		}
	}
	return p.askToken(address)
}

func isHere(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// localToken reads the token that `postern serve` or `make dev` has made on this machine. If it cannot read a file,
// it ignores the file.
func (p *program) localToken(o *connection, address string) string {
	var dev, served struct{ BaseURL, AdminToken string }
	read(filepath.Join(".dev", "keys.json"), &dev)
	if dev.BaseURL != "" && strings.TrimSuffix(dev.BaseURL, "/") == strings.TrimSuffix(address, "/") && o.data == "" {
		return dev.AdminToken
	}
	read(filepath.Join(firstOf(o.data, p.variable(settings.EnvData), "postern-data"), "secrets.json"), &served)
	return served.AdminToken
}

func read(name string, into any) {
	if text, err := smallfile.Read(name); err == nil {
		_ = json.Unmarshal(text, into)
	}
}

func (p *program) askToken(address string) (string, error) {
	terminal, isFile := p.in.(*os.File)
	if !p.interactive || !isFile {
		return "", errors.New("no admin token: set POSTERN_ADMIN_TOKEN or POSTERN_ADMIN_TOKEN_FILE, or pass --data with the data directory of a deployment on this machine")
	}
	fmt.Fprintf(p.err, "Admin token of %s: ", address)
	line, err := readSecretly(terminal)
	fmt.Fprintln(p.err)
	if err != nil {
		return "", fmt.Errorf("cannot read the admin token: %w", err)
	}
	return strings.TrimSpace(line), nil
}
