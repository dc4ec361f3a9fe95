package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

type runner struct {
	root  string
	out   io.Writer
	cores float64
}

func (r *runner) logs() string { return filepath.Join(r.root, "build/parts") }

// run runs parts and prints the result of each, then the summary. It returns an error if a part did not pass.
func (r *runner) run(ctx context.Context, parts []*part) error {
	if err := os.MkdirAll(r.logs(), 0o755); err != nil {
		return err
	}
	begun := time.Now()
	ended := r.schedule(ctx, parts)
	r.summarize(parts, ended, time.Since(begun))
	for _, p := range parts {
		if got := ended[p.name]; got == nil || got.problem != "" {
			return errors.New("not all parts passed")
		}
	}
	return nil
}

// schedule runs parts in order. Each starts once the parts that it needs have passed and there are cores for it.
func (r *runner) schedule(ctx context.Context, parts []*part) map[string]*result {
	ended, waiting := map[string]*result{}, slices.Clone(parts)
	results, running, free := make(chan *result), 0, r.cores
	for len(waiting) > 0 || running > 0 {
		waiting = slices.DeleteFunc(waiting, func(p *part) bool {
			switch cause := unmet(p, ended); {
			case cause == "later":
				return false
			case cause != "" || ctx.Err() != nil:
				ended[p.name] = &result{part: p, problem: notRun(cause)}
				r.print(ended[p.name])
				return true
			case p.cores > free && running > 0:
				return false
			}
			running, free = running+1, free-p.cores
			go func() { results <- r.do(ctx, p) }()
			return true
		})
		if running > 0 {
			got := <-results
			running, free = running-1, free+got.part.cores
			ended[got.part.name] = got
			r.print(got)
		}
	}
	return ended
}

// unmet returns "" if a part can start, "later" if a part that it needs has not ended, or the name of a part that did
// not pass.
func unmet(p *part, ended map[string]*result) string {
	later := ""
	for _, name := range p.needs {
		switch got := ended[name]; {
		case got == nil:
			later = "later"
		case got.problem != "":
			return name
		}
	}
	return later
}

func notRun(cause string) string {
	if cause == "" {
		return "did not run: interrupted"
	}
	return fmt.Sprintf("did not run: it needs %s", cause)
}
