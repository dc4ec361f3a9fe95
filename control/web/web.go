// Package web embeds the files that the control plane serves. tools/web.mjs builds the dashboard from src into dist.
// tools/pack-docs.mjs puts the documentation into docsite. The OpenAPI document is embedded as well. The control
// Worker serves the files as static assets instead.
package web

import (
	"compress/gzip"
	"context"
	"embed"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/postern-ai/postern/control"
	"github.com/postern-ai/postern/docs"
)

//go:embed all:dist
var dist embed.FS

//go:embed all:docsite
var docsite embed.FS

var embedded = sync.OnceValue(func() files { return filesOf(dist, docsite, docs.OpenAPI) })

// File implements control.Config.Files. Before the first build, there are neither dashboard files nor documentation
// files.
func File(ctx context.Context, name string) (control.Asset, error) { return embedded().file(ctx, name) }

// files has a function per file that reads the file the first time, and returns the same bytes to every request. A
// caller that sends many requests and does not read the responses thus costs no memory per request.
type files map[string]func() (control.Asset, error)

// filesOf returns the files of the dashboard in dist/, of the documentation in docsite/, and the OpenAPI document. The
// names of the documentation's files have the suffix .gz, because they are compressed.
func filesOf(dashboard, documentation fs.FS, openAPI []byte) files {
	found := files{}
	found.add(control.OpenAPIFile, func() ([]byte, error) { return openAPI, nil })
	for _, path := range filesIn(dashboard, "dist") {
		found.add(control.DashboardFolder+strings.TrimPrefix(path, "dist/"), func() ([]byte, error) { return fs.ReadFile(dashboard, path) })
	}
	for _, path := range filesIn(documentation, "docsite") {
		if name, ok := strings.CutSuffix(path, ".gz"); ok {
			found.add(strings.TrimPrefix(name, "docsite/"), func() ([]byte, error) { return unpacked(documentation, path) })
		}
	}
	return found
}

func filesIn(folder fs.FS, root string) (paths []string) {
	_ = fs.WalkDir(folder, root, func(path string, entry fs.DirEntry, err error) error { // without the folder, there are no files
		if err == nil && !entry.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	return paths
}

func (f files) add(name string, read func() ([]byte, error)) {
	f[name] = sync.OnceValues(func() (control.Asset, error) {
		data, err := read()
		if err != nil {
			return control.Asset{}, err
		}
		return control.NewAsset(data), nil
	})
}

func (f files) file(_ context.Context, name string) (control.Asset, error) {
	if read, ok := f[name]; ok {
		return read()
	}
	return control.Asset{}, fs.ErrNotExist
}

// unpacked reads a compressed file.
func unpacked(folder fs.FS, path string) ([]byte, error) {
	packed, err := folder.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = packed.Close() }()
	r, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
