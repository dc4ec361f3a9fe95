//go:build !wasm_engine

package corewasm

import "errors"

// Module returns an error: this binary was built without the module.
func Module() ([]byte, error) {
	return nil, errors.New("this binary has no WebAssembly core; set POSTERN_ENGINE=native, or use a binary made by `make build`")
}
