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

// MaxFetchBytes is the maximum size of a body that Config.Fetch returns.
const MaxFetchBytes = kernel.MaxFetchBytes

// Files that Config.Files returns: OpenAPIFile, and DashboardFolder with the name of a file of the dashboard.
const (
	OpenAPIFile     = kernel.OpenAPIFile
	DashboardFolder = kernel.DashboardFolder
)

// Variables of the control plane, in addition to those of core/config and compliance. All but the first are optional.
const (
	EnvAdminToken     = kernel.EnvAdminToken
	EnvViewerToken    = kernel.EnvViewerToken
	EnvWebhooks       = kernel.EnvWebhooks
	EnvAccessTeam     = kernel.EnvAccessTeam
	EnvAccessAudience = kernel.EnvAccessAudience
	EnvAccessOwners   = kernel.EnvAccessOwners
)

// ParseSwitch parses a variable that is on, off or empty, which is off. Any other value is an error.
func ParseSwitch(name, value string) (on bool, err error) { return kernel.ParseSwitch(name, value) }

// LogFailure logs a failure in the format of the control plane. An empty request ID means that it is not about a request.
func LogFailure(requestID, code, message string) { kernel.LogFailure(requestID, code, message) }
