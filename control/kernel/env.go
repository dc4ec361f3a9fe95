package kernel

// Environment variables of the control plane, in addition to those of core/config and compliance. All but the first
// are optional.
const (
	EnvAdminToken     = "POSTERN_ADMIN_TOKEN"
	EnvViewerToken    = "POSTERN_VIEWER_TOKEN"
	EnvWebhooks       = "POSTERN_PRIVATE_WEBHOOKS"
	EnvAccessTeam     = "POSTERN_ACCESS_TEAM"
	EnvAccessAudience = "POSTERN_ACCESS_AUD"
	EnvAccessOwners   = "POSTERN_ACCESS_OWNERS"
)
