// Package catalog contains the built-in catalog as data, which hosts pass to the core's configure. The core does not
// import it. core/config defines both of its forms.
package catalog

import _ "embed"

// Default is the catalog of this version of Postern, compiled by core/config's Compile. Reading it at startup takes a
// fraction of the time needed for its JSON. `make generate` and build.sh write it from JSON.
//
//go:generate go run ../../internal/compilecatalog catalog.json catalog.bin
//go:embed catalog.bin
var Default []byte

// JSON is the source of Default. The operator's overlay has the same format.
//
//go:embed catalog.json
var JSON []byte
