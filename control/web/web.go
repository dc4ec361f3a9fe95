// Package web is the dashboard's files, as tools/web.mjs builds them from src into dist.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files is what was built: index.html and what it links to. Without a build there is none of it.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // only for a path that is none
	}
	return files
}
