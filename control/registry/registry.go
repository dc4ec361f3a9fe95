// Package registry is the model registry resource of a project.
package registry

import (
	"net/http"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/doc"
)

const maxEntries = 500 // per project

const registryPath = "/models-registry"

type handler struct{ *kernel.Plane }

// Routes returns the endpoints for a project's model registry.
func Routes(p *kernel.Plane) []kernel.Route {
	h := &handler{p}
	return append(kernel.ForBoth(
		kernel.Route{Method: http.MethodGet, Path: registryPath, For: kernel.Operators, Permission: doc.MaySeeRegistry,
			Operation: "projectListRegistry", KeyOperation: "listRegistry", Serve: h.listRegistry},
		kernel.Route{Method: http.MethodPost, Path: registryPath, For: kernel.Owners, Permission: doc.MayEditRegistry, Body: kernel.MaxBody, Audit: "registry.create",
			Operation: "projectRegisterModel", KeyOperation: "registerModel", Serve: h.createEntry},
		kernel.Route{Method: http.MethodGet, Path: registryPath + "/{entry}", For: kernel.Operators, Permission: doc.MaySeeRegistry,
			Operation: "projectGetRegistryEntry", KeyOperation: "getRegistryEntry", Serve: h.getEntry},
		kernel.Route{Method: http.MethodPatch, Path: registryPath + "/{entry}", For: kernel.Owners, Permission: doc.MayEditRegistry, Body: kernel.MaxBody, Audit: "registry.update",
			Operation: "projectChangeRegistryEntry", KeyOperation: "changeRegistryEntry", Serve: h.patchEntry},
		kernel.Route{Method: http.MethodPost, Path: registryPath + "/{entry}/transitions", For: kernel.Owners, Permission: doc.MayEditRegistry, Body: kernel.MaxBody, Audit: "registry.transition",
			Operation: "projectMoveRegistryEntry", KeyOperation: "moveRegistryEntry", Serve: h.moveEntry},
	), kernel.Route{Method: http.MethodPut, Path: kernel.ProjectPath + registryPath + "/enforcement", For: kernel.Owners, Body: kernel.MaxBody, Audit: "registry.enforcement",
		Operation: "setRegistryEnforcement", Serve: h.putEnforcement})
}
