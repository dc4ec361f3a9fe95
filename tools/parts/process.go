package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

type result struct {
	part *part
	outcome
	problem     string        // "": it passed
	log         string        // the file
	took, busy  time.Duration // busy is processor time, without processes that nobody waited for, such as browsers that were killed
	interrupted bool
}

// limit is the time after which a part is killed.
const limit = 40 * time.Minute

func (r *runner) do(ctx context.Context, p *part) *result {
	got := &result{part: p, log: filepath.Join(r.logs(), p.name+".log")}
	begun := time.Now()
	err := r.watch(ctx, p, got)
	got.took = time.Since(begun)
	got.interrupted = ctx.Err() != nil
	switch {
	case err != nil:
		got.problem = err.Error()
	case len(got.failed) > 0:
		got.problem = "tests failed"
	case got.tests == 0 && p.tool.read != nil:
		got.problem = "no test ran"
	}
	return got
}

// watch runs a part's command and reads its output.
func (r *runner) watch(ctx context.Context, p *part, got *result) error {
	log, err := os.Create(got.log)
	if err != nil {
		return err
	}
	defer log.Close()
	report := strings.TrimSuffix(got.log, ".log") + ".report"
	if err := os.Remove(report); err != nil && !os.IsNotExist(err) {
		return err
	}
	var lines reader = silent{}
	if p.tool.read != nil {
		lines = p.tool.read(p, report)
	}
	err = r.execute(ctx, p, report, got, func(line string) { _, _ = io.WriteString(log, lines.line(line)) })
	got.outcome = lines.end()
	return err
}

// execute runs a part's command with one pipe for its output. Processes that the command leaves running are killed
// with it.
func (r *runner) execute(ctx context.Context, p *part, report string, got *result, each func(string)) error {
	output, input, err := os.Pipe()
	if err != nil {
		return err
	}
	words := p.tool.start(p.args, report)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v", limit))
	defer cancel()
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.Dir, command.Env = filepath.Join(r.root, p.dir), append(os.Environ(), p.env...)
	command.Stdout, command.Stderr = input, input
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	err = command.Start()
	_ = input.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		eachLine(output, each)
	}()
	if err == nil {
		err = command.Wait()
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		got.busy = command.ProcessState.SystemTime() + command.ProcessState.UserTime()
	}
	<-read
	_ = output.Close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// eachLine calls f for every line, however long it is.
func eachLine(from io.Reader, f func(string)) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			f(strings.TrimSuffix(line, "\n"))
		}
		if err != nil {
			return
		}
	}
}

// silent is the reader of a tool without tests. Everything goes to the log.
type silent struct{}

func (silent) line(text string) string { return text + "\n" }
func (silent) end() outcome            { return outcome{} }
