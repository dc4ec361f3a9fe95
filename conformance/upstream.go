package conformance

import "github.com/postern-ai/postern/test/fakeprovider"

// Upstream is the provider of all runs. It speaks every provider format and fails on command.
type (
	Upstream = fakeprovider.Server
	Behavior = fakeprovider.Behavior
)

// NewUpstream starts an Upstream. By default every request succeeds.
func NewUpstream() *Upstream { return fakeprovider.New() }
