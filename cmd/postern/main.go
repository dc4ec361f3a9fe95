// Command postern runs the gateway on your own machine and administers deployments, here and on Cloudflare.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	_ "golang.org/x/crypto/x509roots/fallback" // root certificates, for images without any
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ(), interactive: isTerminal(os.Stdin) && isTerminal(os.Stderr), release: stop}
	p.color = isTerminal(os.Stdout) && p.variable("NO_COLOR") == "" && p.variable("TERM") != "dumb"
	p.show = isTerminal(os.Stdout)
	os.Exit(p.run(ctx, os.Args[1:]))
}

// program is one invocation of the command.
type program struct {
	in          io.Reader
	out, err    io.Writer
	environ     []string
	interactive bool   // a person can answer questions
	show        bool   // a person reads the output
	color       bool   // the output may have colors
	release     func() // stops main's signal handling, for commands with their own
	json        bool   // --json
}
