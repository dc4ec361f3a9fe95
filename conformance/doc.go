// Package conformance runs the scenarios in testdata/conformance, and its own tests, against every host: the core as
// Go, as wasm under wazero, and in workerd. It checks each response against docs/openapi.yaml.
package conformance
