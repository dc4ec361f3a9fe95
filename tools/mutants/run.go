package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// suite has the compiled tests of a package.
type suite struct {
	folder  string
	flags   []string
	binary  string
	took    time.Duration // duration without a mutant
	timeout time.Duration // for a run with a mutant
	reaches map[int]bool  // IDs of the mutants that the suite executes; it cannot kill others
}

const (
	leastTimeout  = 10 * time.Second
	timeoutFactor = 4 // a multiple of the suite's duration without a mutant
	memoryKiB     = 6 << 20
)

// start runs the tests until they end, one fails or ctx is done. Memory is limited because a mutant may allocate
// without bound. With -test.v=test2json, a subtest's failure is printed immediately instead of after its parent ends.
func (s *suite) start(ctx context.Context, root string, environment ...string) (*watch, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &watch{failed: cancel}
	limited := fmt.Sprintf(`ulimit -v %d 2>/dev/null; exec "$0" "$@"`, memoryKiB)
	command := exec.CommandContext(ctx, "sh", append([]string{"-c", limited, s.binary, "-test.failfast", "-test.v=test2json"}, s.flags...)...)
	command.Dir = filepath.Join(root, s.folder)
	command.Env = append(os.Environ(), "GOMAXPROCS=1", "GOTRACEBACK=none")
	command.Env = append(command.Env, environment...)
	command.WaitDelay = time.Second
	command.Stdout, command.Stderr = out, out
	return out, command.Run()
}

// measure runs the tests without a mutant and records their duration and the mutants that they reach. They must pass.
func (s *suite) measure(root, traceFile string) error {
	if err := os.RemoveAll(traceFile); err != nil {
		return err
	}
	began := time.Now()
	if out, err := s.start(context.Background(), root, "MUTANT_TRACE="+traceFile); err != nil {
		return fmt.Errorf("%s fails without a mutant: %w\n%s", s.folder, err, out.tail)
	}
	s.took = time.Since(began)
	s.timeout = max(leastTimeout, timeoutFactor*s.took)
	trace, err := os.ReadFile(traceFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	s.reaches = map[int]bool{}
	for word := range bytes.FieldsSeq(trace) {
		id, err := strconv.Atoi(string(word))
		if err != nil {
			return err
		}
		s.reaches[id] = true
	}
	return nil
}

// end is the result of a suite's run.
type end int

const (
	passed end = iota
	failed
	timedOut
)

func (s *suite) try(root string, m mutant) (end, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	out, err := s.start(ctx, root, "MUTANT="+strconv.Itoa(m.ID))
	var status *exec.ExitError
	switch {
	case err == nil:
		return passed, nil
	case out.seen:
		return failed, nil
	case ctx.Err() != nil:
		return timedOut, nil
	case errors.As(err, &status):
		return failed, nil
	}
	return passed, err
}

// unreached is the verdict on a mutant that no test reaches.
const unreached = "unreached"

// verdict is the result for a mutant. By is the suite that killed the mutant. If the mutant survived, By is "" or
// unreached.
type verdict struct {
	Key      string `json:"mutant"`
	By       string `json:"by"`
	TimedOut bool   `json:"timedOut,omitempty"` // killed by the suite's timeout
}

func (v verdict) killed() bool { return v.By != "" && v.By != unreached }

// judge runs the suites that reach a mutant until one kills it, in the order of inOrder.
func judge(root string, suites []suite, m mutant) (verdict, error) {
	v := verdict{m.key(), unreached, false}
	for _, s := range inOrder(suites, path.Dir(m.File)) {
		if !s.reaches[m.ID] {
			continue
		}
		v.By = ""
		end, err := s.try(root, m)
		if err != nil {
			return v, fmt.Errorf("%s with %s: %w", s.folder, m, err)
		}
		if end != passed {
			return verdict{m.key(), s.folder, end == timedOut}, nil
		}
	}
	return v, nil
}

// inOrder sorts suites: the mutated package's own suite first, then by duration.
func inOrder(suites []suite, own string) []suite {
	sorted := slices.Clone(suites)
	slices.SortStableFunc(sorted, func(a, b suite) int { return cmp.Compare(a.took, b.took) })
	slices.SortStableFunc(sorted, func(a, b suite) int { return cmp.Compare(others(a, own), others(b, own)) })
	return sorted
}

func others(s suite, own string) int {
	if s.folder == own {
		return 0
	}
	return 1
}

// judgeAll judges mutants in parallel. It passes each verdict to done, one at a time.
func judgeAll(root string, suites []suite, mutants []mutant, workers int, done func(verdict) error) error {
	work := make(chan mutant)
	var lock sync.Mutex
	var failure error
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for m := range work {
				v, err := judge(root, suites, m)
				lock.Lock()
				if err == nil && failure == nil {
					err = done(v)
				}
				failure = errors.Join(failure, err)
				lock.Unlock()
			}
		})
	}
	for _, m := range mutants {
		lock.Lock()
		stop := failure != nil
		lock.Unlock()
		if stop {
			break
		}
		work <- m
	}
	close(work)
	group.Wait()
	return failure
}
