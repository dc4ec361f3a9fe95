// Command postern-verify checks exported compliance data offline.
package main

import (
	"os"

	"github.com/postern-ai/postern/compliance/verify"
)

func main() {
	os.Exit(verify.Run("postern-verify", os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
