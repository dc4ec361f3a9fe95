// Package sim is a deterministic simulator for tests: callers, isolates, objects, KV, providers, operators and a
// clock. A seed determines the whole run. The package has test files only and adds nothing to a build.
package sim
