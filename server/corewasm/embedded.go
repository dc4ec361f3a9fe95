//go:build wasm_engine

package corewasm

import _ "embed" // of core.wasm

//go:embed core.wasm
var module []byte

// Module returns the module.
func Module() ([]byte, error) { return module, nil }
