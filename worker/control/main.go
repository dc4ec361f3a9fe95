//go:build js && wasm

// This Worker is the control plane: control's http.Handler on github.com/syumai/workers, compiled by the standard Go
// compiler. entry.mjs creates the instance. It passes requests and the hourly event to it.
package main

import (
	"context"
	"crypto/rand"
	"log"
	"os"
	"runtime/debug"
	"time"

	"github.com/syumai/workers"
	"github.com/syumai/workers/cloudflare"
	"github.com/syumai/workers/cloudflare/cron"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/control"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/fault"
)

func main() {
	log.SetFlags(0) // log lines are JSON
	private, err := control.ParseSwitch(control.EnvWebhooks, cloudflare.Getenv(control.EnvWebhooks))
	if err != nil {
		misconfigured(err.Error())
	}
	service := control.New(control.Config{
		Objects:         newObjects(),
		AdminToken:      variable(control.EnvAdminToken),
		ViewerToken:     variable(control.EnvViewerToken),
		MasterKeys:      variable(config.EnvMasterKeys),
		SigningKeys:     variable(compliance.EnvSigningKey),
		PrivateWebhooks: func() bool { return private },
		Runtime:         "control Worker",
		Access:          access,
		Catalog:         parsedCatalog(),
		Fetch:           fetch,
		Seal:            seal,
		Exports:         exports(),
		Sleep:           sleep,
		Files:           files(),
		Now:             time.Now,
		Rand:            rand.Reader,
	})
	workers.ServeNonBlock(lean(service))
	cron.ScheduleTaskNonBlock(func(ctx context.Context) error { return hourly(ctx, service) })
	workers.Ready()
	// workers.Serve would return and end the program after the first response, but this instance serves all
	// requests of its isolate.
	select {}
}

func variable(name string) func() string {
	return func() string { return cloudflare.Getenv(name) }
}

func access() control.Access {
	return control.Access{
		Team:     cloudflare.Getenv(control.EnvAccessTeam),
		Audience: cloudflare.Getenv(control.EnvAccessAudience),
		Owners:   cloudflare.Getenv(control.EnvAccessOwners),
	}
}

// hourly never returns an error. If it did, the library would end the program, and the requests in flight with it.
func hourly(ctx context.Context, service *control.Service) error {
	defer func() {
		if recover() != nil {
			control.LogFailure("", "panic", "hourly work: "+string(debug.Stack()))
		}
	}()
	if err := service.Hourly(ctx); err != nil {
		control.LogFailure("", "hourly_failed", err.Error())
	}
	return nil
}

// misconfigured ends the program. entry.mjs responds instead.
func misconfigured(problem string) {
	control.LogFailure("", fault.Misconfigured.Code(), problem)
	os.Exit(1)
}

// parsedCatalog returns the catalog with the operator's overlay, which must be valid.
func parsedCatalog() *config.Config {
	overlay := abi.Header{Name: config.EnvCatalog, Value: cloudflare.Getenv(config.EnvCatalog)}
	parsed, problem := config.Parse(abi.Config{Catalog: catalog.Default, Env: []abi.Header{overlay}})
	if problem != "" {
		misconfigured(problem)
	}
	return parsed
}
