// Package pricelists completes catalogs for tests.
package pricelists

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/catalog"
)

// Add returns a catalog with the provider tools and the forwarded fields of the shipped catalog added.
func Add(text string) string {
	lists := `"tools":` + gjson.GetBytes(catalog.JSON, "tools").Raw + `,"members":` + gjson.GetBytes(catalog.JSON, "members").Raw + ","
	return "{" + lists + strings.TrimPrefix(strings.TrimSpace(text), "{")
}
