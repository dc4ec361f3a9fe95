// Package header lists the HTTP headers that Postern reads and writes. names.go has the names of Postern's own
// headers, which the code uses. table.go explains all headers.
package header

// Postern's own request headers.
const (
	Govern = "x-postern-govern"
	Rerun  = "x-postern-idempotency-rerun"
	Strict = "x-postern-strict"
)

// Postern's own response headers.
const (
	Attempts      = "x-postern-attempts"
	Budget        = "x-postern-budget"
	Cache         = "x-postern-cache"
	CostCents     = "x-postern-cost-cents"
	DroppedParams = "x-postern-dropped-params"
	Estimated     = "x-postern-estimated"
	Governor      = "x-postern-governor"
	MaxTokens     = "x-postern-max-tokens"
	Model         = "x-postern-model"
	Next          = "x-postern-next"
	PriceVersion  = "x-postern-price-version"
	Provider      = "x-postern-provider"
	Registry      = "x-postern-registry"
	Successor     = "x-postern-successor"
)

// Providers is a header from the gateway to the control plane. It contains an isolate's view of the providers: which
// of them have credentials, and the circuit states of the targets that the isolate has called. The control plane only
// displays this.
const Providers = "x-postern-providers"

// Docs is a header from the gateway to the control plane. Its value is "on" if this deployment serves the
// documentation, and otherwise "off".
const Docs = "x-postern-docs"
