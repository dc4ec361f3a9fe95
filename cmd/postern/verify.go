package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/postern-ai/postern/compliance/verify"
)

// verify runs package verify, which parses its own flags. -key and --key are the same.
func (p *program) verify() *cobra.Command {
	return &cobra.Command{
		Use: "verify --key PUBLIC_KEY [--checkpoint FILE]… [--partial] [--unsigned] EXPORT…", Short: "Check exported compliance data offline",
		Long: "Checks files from GET /api/compliance/export without a running gateway. Pass them in the order of their pages.\ndocs/guides/compliance.md explains the checks.\n" +
			"Run postern verify --help for all flags. The program postern-verify is the same command without the gateway.",
		Example:            "  postern verify --key O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik= --checkpoint kept.jsonl export-1.ndjson export-2.ndjson",
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			p.json = slices.Contains(args, "--json") || slices.Contains(args, "-json")
			switch verify.Run("postern verify", args, p.in, p.out, p.err) {
			case verify.Valid:
				return nil
			case verify.Broken:
				return errReported
			}
			return errMisused
		},
	}
}
