package auth_test

import (
	"testing"

	"github.com/postern-ai/postern/control/auth"
	"github.com/postern-ai/postern/test/controltest"
)

func TestTeamDomains(t *testing.T) {
	controltest.CheckForm(t, auth.IsTeamDomain, `^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?){1,4}$`)
}
