package control

import (
	"github.com/postern-ai/postern/control/auditlog"
	"github.com/postern-ai/postern/control/auth"
	"github.com/postern-ai/postern/control/catalog"
	"github.com/postern-ai/postern/control/compliance"
	"github.com/postern-ai/postern/control/deployment"
	"github.com/postern-ai/postern/control/governor"
	"github.com/postern-ai/postern/control/groups"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/keys"
	"github.com/postern-ai/postern/control/projects"
	"github.com/postern-ai/postern/control/providerkeys"
	"github.com/postern-ai/postern/control/registry"
	"github.com/postern-ai/postern/control/usage"
	"github.com/postern-ai/postern/control/violations"
)

var resources = []func(*kernel.Plane) []kernel.Route{
	auditlog.Routes, catalog.Routes, compliance.Routes, exports, governor.Routes, groups.Routes, keys.Routes, projects.Routes, providerkeys.Routes,
	registry.Routes, usage.Routes, violations.Routes,
}

func exports(p *kernel.Plane) []kernel.Route { return deployment.Routes(p, groups.CoverAll) }

func routesOf(p *kernel.Plane, a *auth.Authenticator) []kernel.Route {
	all := a.Routes()
	for _, routes := range resources {
		all = append(all, routes(p)...)
	}
	return all
}
