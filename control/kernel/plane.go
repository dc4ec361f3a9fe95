// Package kernel contains what all resources of the control plane share: routes, requests and their bodies, responses
// and errors, paging, audit entries, and documents with their versions and deliveries. It does not depend on any
// resource.
package kernel

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/header"
)

// Objects calls the deployment's objects.
type Objects interface {
	// Call sends one command to the object with the given class and name, and returns the object's reply. The first
	// call creates the object near region, which is a location hint of the platform or empty. Even if Call returns an
	// error, the command may have been executed.
	Call(ctx context.Context, class abi.Class, name, region string, command []byte) ([]byte, error)
}

// Config configures a control plane. Its functions are called on every use, so a changed secret takes effect at once.
// Optional functions may be nil.
type Config struct {
	Objects Objects
	// AdminToken is the owner token, of at least 16 bytes. With an empty or shorter token, the API rejects
	// all requests.
	AdminToken func() string
	// ViewerToken is the read-only token, of at least 16 bytes. With an empty or shorter token, there are no viewers.
	// Optional.
	ViewerToken func() string
	// PrivateWebhooks reports whether alerts may be sent to private networks and to this machine. Optional;
	// default false.
	PrivateWebhooks func() bool
	// Runtime is the program whose environment variables configure the control plane: "control Worker" or "server".
	// The remedies in error messages name it.
	Runtime string
	// Addresses returns the addresses at which browsers may reach the control plane. If the function is nil, the URL
	// of each request counts. That is safe on Workers, because the platform has already matched the host with a
	// route.
	Addresses func() Addresses
	// Access configures authentication by Cloudflare Access. Optional.
	Access func() Access
	// MasterKeys are the secrets that seal provider keys. Without them, projects cannot store provider keys.
	// Optional.
	MasterKeys func() string
	// SigningKeys are the secrets that sign checkpoints of the compliance data; see compliance.ParseSigningKeys.
	// Without them, there are no checkpoints. Optional.
	SigningKeys func() string
	// Catalog is the parsed catalog, including the operator's overlay.
	Catalog *config.Config
	// Fetch sends a GET request without following redirects and returns the body of a 200, at most
	// MaxFetchBytes. Any other response is an error. Required for Access.
	Fetch func(ctx context.Context, url string) ([]byte, error)
	// Seal encrypts with AES-256-GCM and a fresh nonce. It returns the nonce (12 bytes), the ciphertext and the tag
	// (16 bytes). Required with MasterKeys.
	Seal func(ctx context.Context, key []byte, additionalData string, plaintext []byte) ([]byte, error)
	// Exports stores a usage file or a checkpoint under the given name. If Exports is nil, nothing is exported.
	Exports func(ctx context.Context, name string, body []byte) error
	// Sleep waits for a duration. If ctx is done first, Sleep returns the error of ctx. If Sleep is nil, a Go timer
	// is used, which does not work on Workers.
	Sleep func(ctx context.Context, d time.Duration) error
	// Files returns a file that the control plane serves: OpenAPIFile, DocsHashesFile, or a folder followed by the
	// name of a file in the built dashboard or documentation. The error is fs.ErrNotExist if there is no such file.
	Files func(ctx context.Context, name string) (Asset, error)
	Now   func() time.Time
	Rand  io.Reader // must be cryptographically secure, because key values are made from it
}

// MaxFetchBytes is the maximum size of a body that Config.Fetch returns.
const MaxFetchBytes = 64 << 10

// orEmpty returns an optional function or, if it is nil, one that returns the zero value.
func orEmpty[T any](f func() T) func() T {
	if f == nil {
		return func() (empty T) { return empty }
	}
	return f
}

// Access configures authentication by Cloudflare Access. Everyone who is admitted to the Access application is either
// an owner or a viewer.
type Access struct {
	Team     string // team domain, such as acme.cloudflareaccess.com; empty: Access is off
	Audience string // AUD tag of the Access application; empty: Access is off
	Owners   string // email addresses of owners, separated by commas; everyone else is a viewer
}

// Addresses are where browsers reach the control plane.
type Addresses struct {
	Public string   // the configured address, such as https://gateway.example; optional
	Bound  net.Addr // address of the listener; nil: not listening
}

// OpenAPIFile is the name of the OpenAPI document for Config.Files.
const OpenAPIFile = "openapi.yaml"

// DashboardFolder and DocsFolder are the folders for Config.Files that contain the dashboard and the documentation.
const (
	DashboardFolder = "dashboard/"
	DocsFolder      = "docs/"
)

// DocsHashesFile is the name for Config.Files of the file with the hashes of the documentation's inline scripts and
// styles: {"scripts": ["'sha256-…'"], "styles": […]}.
const DocsHashesFile = "docs.json"

// ServesDocs reports whether the deployment serves the documentation. The gateway says so in a header of the request.
func ServesDocs(r *http.Request) bool { return HeaderValue(r.Header, header.Docs) != "off" }

// Plane is what all resources share: the configuration and access to the documents.
type Plane struct {
	Config
	Store  Store
	warned sync.Map // messages that WarnOnce has logged
}

// NewPlane returns a plane. It supplies the optional functions that config lacks.
func NewPlane(config Config) *Plane {
	if config.Sleep == nil {
		config.Sleep = sleepNatively
	}
	h := &Plane{Config: config, Store: Store{config.Objects, func() uint64 { return uint64(config.Now().UnixMilli()) }, config.Sleep}}
	h.ViewerToken = orEmpty(h.ViewerToken)
	h.PrivateWebhooks = orEmpty(h.PrivateWebhooks)
	h.MasterKeys = orEmpty(h.MasterKeys)
	h.SigningKeys = orEmpty(h.SigningKeys)
	h.Access = orEmpty(h.Access)
	return h
}
