// Package corewasm contains the core as a WebAssembly module for --engine wasm. The module is embedded only if
// build/core.wasm has been copied into this folder and the build tag wasm_engine is set. `make build` does both.
package corewasm
