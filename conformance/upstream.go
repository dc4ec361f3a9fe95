package conformance

import "github.com/postern-ai/postern/internal/fakeprovider"

// The provider of all runs: it speaks every family, and misbehaves on command.
type (
	Upstream = fakeprovider.Server
	Behavior = fakeprovider.Behavior
)

// NewUpstream starts one. Without commands it answers every request well.
func NewUpstream() *Upstream { return fakeprovider.New() }
