// Generateabi reads core/abi/wire.schema, which explains its own format. It writes the types, constants and codec of
// the wire between the core and its hosts in Go and TypeScript.
//
//	generateabi ROOT
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const schemaFile = "core/abi/wire.schema"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generateabi:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: generateabi ROOT")
	}
	text, err := os.ReadFile(filepath.Join(args[0], schemaFile))
	if err != nil {
		return err
	}
	files, err := generate(string(text))
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(args[0], name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the files made from a schema. They are keyed by their paths from the root.
func generate(text string) (map[string][]byte, error) {
	s, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", schemaFile, err)
	}
	constants, err := goConstants(s)
	if err != nil {
		return nil, err
	}
	messages, err := goMessages(s)
	return map[string][]byte{
		"core/abi/constants_gen.go": constants,
		"core/abi/messages_gen.go":  messages,
		"worker/gateway/src/abi.ts": typeScript(s),
	}, err
}
