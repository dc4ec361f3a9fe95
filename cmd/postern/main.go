// Command postern runs and administers the gateway.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // root certificates, for images without any

	"github.com/postern-ai/postern/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{Use: "postern", SilenceUsage: true}
	root.AddCommand(serve())
	if err := root.ExecuteContext(ctx); err != nil {
		os.Exit(1)
	}
}

func serve() *cobra.Command {
	return &cobra.Command{Use: "serve", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		s, err := server.New(c.Context(), server.Config{
			Env:    map[string]string{"POSTERN_ADMIN_TOKEN": os.Getenv("POSTERN_ADMIN_TOKEN")},
			Listen: "127.0.0.1:8787", Log: slog.Default(),
		})
		if err != nil {
			return err
		}
		fmt.Fprintln(c.OutOrStdout(), "Postern is ready on http://127.0.0.1:8787")
		return s.Run(c.Context())
	}}
}
