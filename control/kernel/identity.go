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
	Name    string // the role, if authenticated by its token; otherwise the email address
	Role    Role
	Via     string
	Expires time.Time // when the proof expires; zero: never
}

// Ways to authenticate, as the API and the audit log name them.
const (
	ViaBearer  = "bearer"
	ViaSession = "session"
	ViaAccess  = "access"
	ViaKey     = "key"
)

// ProjectKey is the role of a project key: it may do what its permissions say, in its project.
const ProjectKey Role = "project key"
