// Package web embeds the files that the control plane serves: the dashboard, which tools/web.mjs builds from src into
// dist, and the OpenAPI document. The control Worker has them as static assets instead.
package web

import (
	"context"
	"embed"
	"io/fs"
	"strings"

	"github.com/postern-ai/postern/control"
	"github.com/postern-ai/postern/docs"
)

//go:embed all:dist
var dist embed.FS

// File is control.Config.Files. Before the first build, there is no dashboard.
func File(_ context.Context, name string) ([]byte, error) {
	if name == control.OpenAPIFile {
		return docs.OpenAPI, nil
	}
	name, ok := strings.CutPrefix(name, control.DashboardFolder)
	if !ok {
		return nil, fs.ErrNotExist
	}
	return dist.ReadFile("dist/" + name)
}
