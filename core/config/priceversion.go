package config

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/blake2b"
	"github.com/postern-ai/postern/core/keys"
)

// priceVersionBytes is the number of bytes of the hash that identify a list of prices.
const priceVersionBytes = 8

// priceVersion returns a hash of everything that costs depend on. These are the prices and factors of all models and
// the prices of all tools, including those in an overlay.
func (c *Config) priceVersion() string {
	w := abi.Writer{Buf: make([]byte, 0, 16<<10)}
	f := abi.WriteTo(&w)
	for i := range c.Models {
		m := &c.Models[i]
		f.String(&m.Name)
		if m.Provider != nil {
			f.String(&m.Provider.Name)
		}
		pricesFields(f, m)
	}
	abi.List(f, &c.Tools, toolFields)
	sum := blake2b.Sum256(w.Buf)
	return keys.Hex(sum[:priceVersionBytes])
}
