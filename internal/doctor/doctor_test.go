package doctor_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/internal/doctor"
	"github.com/postern-ai/postern/server"
	"github.com/postern-ai/postern/store"
	"github.com/postern-ai/postern/store/memory"
)

var now = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

func healthy(t *testing.T) *server.Config {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return &server.Config{Data: dir, Listen: "127.0.0.1:0", OpsListen: "off", MaxConnections: 1, Env: map[string]string{}}
}

// run returns the status of each check together with its text.
func run(t *testing.T, c *server.Config, o doctor.Options) map[string]doctor.Check {
	t.Helper()
	found := map[string]doctor.Check{}
	o.Now = func() time.Time { return now }
	for _, one := range doctor.Run(context.Background(), c, o) {
		if found[one.Name] = one; strings.Contains(one.Detail+one.Remedy, "s3cret") {
			t.Errorf("%s contains a secret: %+v", one.Name, one)
		}
	}
	return found
}

func expect(t *testing.T, checks map[string]doctor.Check, name string, status doctor.Status, text string) {
	t.Helper()
	if got := checks[name]; got.Status != status || !strings.Contains(got.Detail, text) {
		t.Errorf("%s: %+v, want %s with %q", name, got, status, text)
	}
}

func TestDataDirectory(t *testing.T) {
	c := healthy(t)
	secrets := filepath.Join(c.Data, "secrets.json")
	if err := os.WriteFile(secrets, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	checks := run(t, c, doctor.Options{})
	expect(t, checks, "data directory", doctor.OK, "writable")
	expect(t, checks, "secrets", doctor.OK, "closed")
	if err := errors.Join(os.Chmod(secrets, 0o640), os.Chmod(c.Data, 0o755)); err != nil {
		t.Fatal(err)
	}
	checks = run(t, c, doctor.Options{})
	expect(t, checks, "data directory", doctor.Warn, "755")
	expect(t, checks, "secrets", doctor.Fail, "640")
	c.Data = filepath.Join(c.Data, "none")
	expect(t, run(t, c, doctor.Options{}), "data directory", doctor.OK, "does not exist yet")
	c.Data = secrets
	expect(t, run(t, c, doctor.Options{}), "data directory", doctor.Fail, "not a directory")
}

type fixed time.Time

func (f fixed) Now() uint64 { return uint64(time.Time(f).UnixMilli()) }

// failing is a store that cannot commit.
type failing struct{ store.Store }

func (failing) Check(context.Context) error { return store.ErrUnavailable }

func TestStore(t *testing.T) {
	c := healthy(t)
	c.Database = "postgres://user:s3cret@db/postern"
	opens := func(s store.Store, err error) func(context.Context, *server.Config) (store.Store, error) {
		return func(context.Context, *server.Config) (store.Store, error) { return s, err }
	}
	checks := run(t, c, doctor.Options{Open: opens(memory.New(fixed(now.Add(-time.Minute))), nil), Integrity: func(context.Context, *server.Config) error { return errors.New("page 7 is corrupt") }})
	expect(t, checks, "store", doctor.OK, "commits")
	expect(t, checks, "database clock", doctor.Warn, "by 1m0s")
	expect(t, checks, "integrity", doctor.Fail, "page 7")
	checks = run(t, c, doctor.Options{Open: opens(memory.New(fixed(now)), nil)})
	expect(t, checks, "database clock", doctor.OK, "")
	expect(t, run(t, c, doctor.Options{Open: opens(failing{memory.New(fixed(now))}, nil)}), "store", doctor.Fail, "cannot commit")
	expect(t, run(t, c, doctor.Options{Open: opens(nil, errors.New("no such schema"))}), "store", doctor.Fail, "no such schema")
}

// If a running server is using the store, the store is checked through the server.
func TestRunningServer(t *testing.T) {
	ready := true
	ops := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || !ready {
			http.Error(w, "the disk is full", http.StatusServiceUnavailable)
		}
	}))
	defer ops.Close()
	inUse := errors.New("in use")
	c := healthy(t)
	c.OpsListen = ops.Listener.Addr().String()
	c.Listen = c.OpsListen // the server has its ports
	o := doctor.Options{Open: func(context.Context, *server.Config) (store.Store, error) { return nil, inUse }, InUse: func(err error) bool { return err == inUse }}
	checks := run(t, c, o)
	expect(t, checks, "store", doctor.OK, "running server")
	if _, checked := checks["listen"]; checked {
		t.Error("the port of the running server is a problem")
	}
	ready = false
	expect(t, run(t, c, o), "store", doctor.Fail, "the disk is full")
}

func TestPorts(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	c := healthy(t)
	c.OpsListen = busy.Addr().String()
	checks := run(t, c, doctor.Options{})
	expect(t, checks, "listen", doctor.OK, "free")
	expect(t, checks, "opsListen", doctor.Fail, "address already in use")
}

// certificate writes a self-signed certificate and its key.
func certificate(t *testing.T, c *server.Config, from, until time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: until, DNSNames: []string{"ai.example.com"}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	c.TLSCert, c.TLSKey = filepath.Join(c.Data, "tls.crt"), filepath.Join(c.Data, "tls.key")
	for name, block := range map[string]*pem.Block{c.TLSCert: {Type: "CERTIFICATE", Bytes: cert}, c.TLSKey: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTLS(t *testing.T) {
	c := healthy(t)
	const day = 24 * time.Hour
	for _, one := range []struct {
		from, until time.Duration
		status      doctor.Status
		text        string
	}{
		{-day, 90 * day, doctor.OK, "2027-02-20"}, {-day, 20 * day, doctor.Warn, "expires on 2026-12-12"},
		{-9 * day, -day, doctor.Fail, "expired on 2026-11-21"}, {day, 9 * day, doctor.Fail, "valid only from"},
	} {
		certificate(t, c, now.Add(one.from), now.Add(one.until))
		expect(t, run(t, c, doctor.Options{}), "TLS", one.status, one.text)
	}
	c.TLSKey = c.TLSCert
	expect(t, run(t, c, doctor.Options{}), "TLS", doctor.Fail, "private key")
}

func TestProviders(t *testing.T) {
	date := now
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", date.UTC().Format(http.TimeFormat))
		switch {
		case r.URL.Path == "/moved/models":
			http.Redirect(w, r, "/v1/models", http.StatusFound)
		case r.URL.Path != "/v1/models":
			http.NotFound(w, r)
		case r.Header.Get("Authorization") != "Bearer sk-s3cret-good" && r.Header.Get("x-api-key") != "sk-s3cret-good":
			http.Error(w, "your key sk-s3cret is wrong", http.StatusUnauthorized)
		}
	}))
	defer upstream.Close()
	c := healthy(t)
	expect(t, run(t, c, doctor.Options{Online: true}), "providers", doctor.Warn, "none is configured")
	c.Env = map[string]string{
		"OPENAI_API_KEY": "sk-s3cret-good", "OPENAI_BASE_URL": upstream.URL + "/v1", "GROQ_API_KEY": "sk-s3cret-bad", "GROQ_BASE_URL": upstream.URL + "/v1",
		"ANTHROPIC_API_KEY": "sk-s3cret-good", "ANTHROPIC_BASE_URL": upstream.URL + "/v1", "COHERE_API_KEY": "sk-s3cret", "COHERE_BASE_URL": upstream.URL,
		"XAI_API_KEY": "sk-s3cret", "XAI_BASE_URL": "http://127.0.0.1:1", "MISTRAL_API_KEY": "sk-s3cret-good", "MISTRAL_BASE_URL": upstream.URL + "/moved",
	}
	expect(t, run(t, c, doctor.Options{}), "providers", doctor.OK, "openai (also responses), anthropic, mistral, cohere, groq, xai (also responses)")
	checks := run(t, c, doctor.Options{Online: true})
	expect(t, checks, "provider openai", doctor.OK, "key is accepted")
	expect(t, checks, "provider anthropic", doctor.OK, "key is accepted")
	expect(t, checks, "provider groq", doctor.Fail, "key is rejected")
	expect(t, checks, "provider cohere", doctor.OK, "key was not checked")
	expect(t, checks, "provider mistral", doctor.OK, "status 302")
	expect(t, checks, "provider xai", doctor.Fail, "cannot be reached")
	expect(t, checks, "clock", doctor.OK, "")
	date = now.Add(-time.Hour)
	expect(t, run(t, c, doctor.Options{Online: true}), "clock", doctor.Warn, "differs")
}
