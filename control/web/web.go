// Package web embeds the dashboard's files, which tools/web.mjs builds from src into dist.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files returns the built dashboard: index.html and the files it links to. It has no index.html before the first build.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // only an invalid path gives an error, and "dist" is valid
	}
	return files
}
