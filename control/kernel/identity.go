package kernel

import "time"

// Role is a level of access to the API. See also ProjectKey.
type Role string

const (
	Owner  Role = "owner"  // may do everything
	Viewer Role = "viewer" // may only read
)

// Identity is an authenticated person or program.
type Identity struct {
	Name    string // role if authenticated by a role's token; otherwise email address
	Role    Role
	Via     string
	Expires time.Time // when the credential expires; zero: never
}

// Ways to authenticate, as named in the API and the audit log.
const (
	ViaBearer  = "bearer"
	ViaSession = "session"
	ViaAccess  = "access"
	ViaKey     = "key"
)

// ProjectKey is the role of a project key, which may do what its permissions allow in its own project.
const ProjectKey Role = "project key"
