package control

import "github.com/postern-ai/postern/control/kernel"

// Config configures a control plane.
type Config = kernel.Config

// Objects calls the deployment's objects.
type Objects = kernel.Objects

// Access configures authentication by Cloudflare Access.
type Access = kernel.Access

// Addresses are where browsers reach the control plane.
type Addresses = kernel.Addresses

// Asset is a file that Config.Files returns.
type Asset = kernel.Asset

// NewAsset returns a file with its tag.
func NewAsset(data []byte) Asset { return kernel.NewAsset(data) }

// MaxFetchBytes is the maximum size of a body that Config.Fetch returns.
const MaxFetchBytes = kernel.MaxFetchBytes

// Names that Config.Files accepts: OpenAPIFile, or DashboardFolder followed by the name of a dashboard file.
const (
	OpenAPIFile     = kernel.OpenAPIFile
	DashboardFolder = kernel.DashboardFolder
)

// Environment variables of the control plane, in addition to those of core/config and compliance. All but the first
// are optional.
const (
	EnvAdminToken     = kernel.EnvAdminToken
	EnvViewerToken    = kernel.EnvViewerToken
	EnvWebhooks       = kernel.EnvWebhooks
	EnvAccessTeam     = kernel.EnvAccessTeam
	EnvAccessAudience = kernel.EnvAccessAudience
	EnvAccessOwners   = kernel.EnvAccessOwners
)

// ParseSwitch parses a variable that is "on", "off" or empty; empty means off. Any other value is an error.
func ParseSwitch(name, value string) (on bool, err error) { return kernel.ParseSwitch(name, value) }

// LogFailure logs a failure in the format of the control plane. requestID is empty if the failure does not belong to
// a request.
func LogFailure(requestID, code, message string) { kernel.LogFailure(requestID, code, message) }
