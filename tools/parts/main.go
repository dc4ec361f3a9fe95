// Command parts runs the parts of `make test`: sets of tests, and the builds that they need.
//
//	parts [-long] [-list] [NAME…]
//
// NAME selects parts. The parts that they need run first. Without a name, all parts run. Parts run in parallel as
// long as the processor has cores for them. A part that mostly waits needs only a fraction of a core. The output of
// each part goes to build/parts/NAME.log. If the part fails, the output is printed, with the commands that run only
// the failed tests. The last lines are a summary, one line per part.
//
// A part fails if its command fails or is killed, if it runs no tests, or if a part that it needs fails.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/postern-ai/postern/tools/internal/repo"
)

func main() {
	long := flag.Bool("long", false, "run the full forms of the parts that have one, and only these")
	list := flag.Bool("list", false, "list the parts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	root, err := repo.Root()
	if err == nil {
		err = run(ctx, root, options{long: *long, list: *list, names: flag.Args()}, os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "parts:", err)
		os.Exit(1)
	}
}

// spare is added to the number of cores, because every part has to wait at times.
const spare = 0.5

type options struct {
	long, list bool
	names      []string
}

func run(ctx context.Context, root string, o options, out io.Writer) error {
	paths, err := repo.Paths(root)
	if err != nil {
		return err
	}
	parts := table(paths)
	if o.long {
		parts = longForms()
	}
	parts, err = selected(parts, o.names)
	if err != nil {
		return err
	}
	if o.list {
		for _, p := range parts {
			fmt.Fprintf(out, "%-18s %s\n", p.name, p.command())
		}
		return nil
	}
	r := &runner{root: root, out: out, cores: float64(runtime.NumCPU()) + spare}
	return r.run(ctx, parts)
}
