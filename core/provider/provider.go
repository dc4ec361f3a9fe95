// Package provider is the registry of wire families: how each is asked, and how its answers are read.
package provider

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/provider/openai"
	"github.com/postern-ai/postern/core/provider/wire"
)

// Params and Result are what all families take and give.
type (
	Params = wire.Params
	Result = wire.Result
)

// Family is one wire format.
type Family struct {
	// Request makes the fetch: method, URL, headers and body. A family without one is answered in the core.
	Request func(*config.Model, *Params) abi.Action
	// Response reads the body of a 200; ok is false if it is not what the family sends.
	Response func(contentType string, body []byte) (result Result, ok bool)
	// Dropped names the parameters that a model does not take, with commas.
	Dropped func(*config.Model) string
}

// For finds a family by its name in the catalog.
func For(name string) Family {
	switch name {
	case "openai":
		return Family{openai.Request, openai.Response, openai.Dropped}
	}
	return Family{}
}

// RetryAfterMs reads how long a provider asks to wait: retry-after-ms, else retry-after in seconds. (Its
// other form, a date, is not used by providers.) 0 is not said.
func RetryAfterMs(ms, seconds string) uint64 {
	if n, err := strconv.ParseFloat(strings.TrimSpace(ms), 64); err == nil && n > 0 && n < 1e12 {
		return uint64(n)
	}
	if n, err := strconv.ParseFloat(strings.TrimSpace(seconds), 64); err == nil && n > 0 && n < 1e9 {
		return uint64(n * 1000)
	}
	return 0
}
