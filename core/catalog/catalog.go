// Package catalog holds the built-in catalog as data, which hosts pass to the core's configure. The core does
// not import it. core/config defines the format.
package catalog

import _ "embed"

// Default is the catalog of this version of Postern, as JSON.
//
//go:embed catalog.json
var Default []byte
