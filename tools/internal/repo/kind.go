package repo

import (
	"bytes"
	"strings"
)

// testFolders contain only code that is not shipped.
var testFolders = []string{"bench/", "clients/python/tests/", "conformance/", "test/", "worker/gateway/test/", "control/web/test/"}

// IsTest reports whether a source is a test or serves only tests.
func IsTest(path string) bool {
	for _, folder := range testFolders {
		if strings.HasPrefix(path, folder) {
			return true
		}
	}
	return strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".test.mjs")
}

// IsGenerated reports whether a file starts with a comment that marks generated code. In Go and TypeScript, it is the
// comment described in go.dev/s/generatedcode. In Python, it is the one that clients/python/tools/unasync.py writes.
func IsGenerated(text []byte) bool {
	return bytes.HasPrefix(text, []byte("// Code generated ")) || bytes.HasPrefix(text, []byte("# Made from "))
}
