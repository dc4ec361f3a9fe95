// Package reference writes the reference pages in docs/reference. It makes them from tables in the source, so they
// cannot differ from the source. Its tests compare the pages and, for `make generate`, write them. cli.md needs the
// commands of cmd/postern, so a test in cmd/postern calls CLI.
package reference

import (
	"fmt"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/catalog"
	"github.com/postern-ai/postern/core/config"
)

// Page is a file in docs/reference.
type Page struct{ Name, Text string }

// Pages returns all pages except cli.md. It fails if the catalog is malformed.
func Pages() ([]Page, error) {
	parsed, problem := config.Parse(abi.Config{Catalog: catalog.JSON})
	if problem != "" {
		return nil, fmt.Errorf("catalog: %s", problem)
	}
	shown, err := readCatalog(catalog.JSON)
	if err != nil {
		return nil, err
	}
	return []Page{
		{"errors.md", Errors()},
		{"headers.md", Headers()},
		{"configuration.md", Configuration(shown)},
		{"plans.md", Plans(parsed)},
		{"catalog.md", Catalog(shown, parsed)},
	}, nil
}
