// Package docs embeds the documentation that Postern serves.
package docs

import _ "embed"

// OpenAPI is openapi.yaml, the description of the API.
//
//go:embed openapi.yaml
var OpenAPI []byte
