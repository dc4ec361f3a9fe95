// Compilecatalog compiles a catalog. It reads JSON and writes the format that the core reads at startup.
//
//	compilecatalog JSON OUT
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/postern-ai/postern/core/config"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "compilecatalog:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: compilecatalog JSON OUT")
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	compiled, problem := config.Compile(text)
	if problem != "" {
		return fmt.Errorf("%s: %s", args[0], problem)
	}
	return os.WriteFile(args[1], compiled, 0o644)
}
