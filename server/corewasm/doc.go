// Package corewasm holds the core as a WebAssembly module, for --engine wasm. The module is embedded only with the build tag
// wasm_engine, after build/core.wasm was copied into this folder; `make build` does both.
package corewasm
