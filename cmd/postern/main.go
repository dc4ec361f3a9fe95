// Command postern runs and administers the gateway.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // root certificates, for images without any

	"github.com/postern-ai/postern/server"
)

func main() {
	root := &cobra.Command{Use: "postern", SilenceUsage: true}
	root.AddCommand(serve())
	if err := root.ExecuteContext(context.Background()); err != nil {
		os.Exit(1)
	}
}

func serve() *cobra.Command {
	return &cobra.Command{Use: "serve", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		load := func() (server.Config, error) {
			return server.Config{
				Env: map[string]string{"POSTERN_ADMIN_TOKEN": os.Getenv("POSTERN_ADMIN_TOKEN")}, Data: "postern-data",
				Log: slog.Default(), Out: c.OutOrStdout(),
			}, nil
		}
		config, _ := load()
		s, err := server.New(c.Context(), config)
		if err != nil {
			return err
		}
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		return s.RunSignals(c.Context(), signals, load)
	}}
}
