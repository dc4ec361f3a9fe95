// Package web embeds the files that the control plane serves: the dashboard, which tools/web.mjs builds from src into
// dist; the documentation, which tools/pack-docs.mjs puts into docsite; and the OpenAPI document. The control Worker
// serves them as static assets instead.
package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"io"
	"strings"

	"github.com/postern-ai/postern/control"
	"github.com/postern-ai/postern/docs"
)

//go:embed all:dist
var dist embed.FS

//go:embed all:docsite
var docsite embed.FS

// File implements control.Config.Files. Before the first build, there are neither dashboard files nor documentation
// files.
func File(_ context.Context, name string) ([]byte, error) {
	if name == control.OpenAPIFile {
		return docs.OpenAPI, nil
	}
	if page, ok := strings.CutPrefix(name, control.DashboardFolder); ok {
		return dist.ReadFile("dist/" + page)
	}
	return unpacked(name)
}

// unpacked reads a compressed file of the documentation.
func unpacked(name string) ([]byte, error) {
	packed, err := docsite.ReadFile("docsite/" + name + ".gz")
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
