//go:build js && wasm

// The control plane as a Worker: control's http.Handler on github.com/syumai/workers, compiled by the
// standard Go compiler. entry.mjs makes the instance and hands it requests.
package main

import (
	"crypto/rand"
	"log"
	"time"

	"github.com/syumai/workers"
	"github.com/syumai/workers/cloudflare"

	"github.com/postern-ai/postern/control"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
)

const envAdminToken = "POSTERN_ADMIN_TOKEN"

func main() {
	workers.ServeNonBlock(lean(control.New(control.Config{
		Objects:    newObjects(),
		AdminToken: func() string { return cloudflare.Getenv(envAdminToken) },
		Plans:      plans(),
		Now:        time.Now,
		Rand:       rand.Reader,
	})))
	workers.Ready()
	// Not workers.Serve, which returns, and ends the program, after the first response: this instance
	// serves all requests of its isolate.
	select {}
}

// plans are the catalog's. With a catalog that the core would refuse too, the program ends, and entry.mjs
// answers for it.
func plans() []control.Plan {
	overlay := abi.Header{Name: config.EnvCatalog, Value: cloudflare.Getenv(config.EnvCatalog)}
	parsed, wrong := config.Parse(abi.Config{Catalog: catalog.Default, Env: []abi.Header{overlay}})
	if wrong != "" {
		log.Fatalf("control: %s", wrong)
	}
	return control.PlansOf(parsed)
}
