// Package conformance runs the scenarios of testdata/conformance, and tests of its own, against every host: the core in
// Go, as wasm under wazero, and in workerd. It checks each response against docs/openapi.yaml.
package conformance
