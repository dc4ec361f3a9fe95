// Package catalog is the catalog as data, for hosts to hand to the core's configure. The core itself does
// not import it: what the shape means is said in core/config.
package catalog

import _ "embed"

// Default is the catalog that this version of Postern ships.
//
//go:embed catalog.json
var Default []byte
