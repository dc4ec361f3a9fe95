// Package corewasm contains the core as a WebAssembly module for --engine wasm. The module is embedded only with the
// build tag wasm_engine and after build/core.wasm has been copied into this folder. `make build` does both.
package corewasm
