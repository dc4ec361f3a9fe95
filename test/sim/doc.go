// Package sim is a deterministic simulator for tests. It simulates callers, isolates, objects, KV, providers,
// operators and a clock. A seed determines the whole run. The package has only test files and adds nothing to a
// build.
package sim
