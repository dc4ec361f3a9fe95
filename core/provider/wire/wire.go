// Package wire holds what every wire family takes and gives.
package wire

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
)

// Params is a request without its model.
type Params struct {
	Temperature string // a JSON number
	MaxTokens   uint64
	JSON        bool     // the answer must be JSON
	Messages    abi.Part // the array of {"role","content"}, as JSON
}

// Result is a provider's answer.
type Result struct {
	Text     []byte // as a JSON string, with its quotes
	Complete bool   // the model stopped by itself
	Tokens   keymeter.Tokens
	Reported bool // Tokens came from the provider
}
