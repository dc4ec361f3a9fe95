package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a running postmaster.
type process struct {
	command *exec.Cmd
	ended   chan struct{} // closed when it has ended
}

// Ways to end a server (see https://www.postgresql.org/docs/15/server-shutdown.html).
const (
	politely = syscall.SIGINT  // "fast": disconnects clients, writes a checkpoint
	quickly  = syscall.SIGQUIT // "immediate": the next start runs recovery
)

var errMissing = errors.New("pgtest: PostgreSQL 15 or later is missing: run `tools/setup.sh postgres`, which installs Debian's postgresql-15")

// binary returns the path of one of PostgreSQL's programs. Debian installs the server's programs outside PATH.
func binary(name string) (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	if len(found) > 0 && version(found[0]) >= 15 {
		return found[0], nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	return "", errMissing
}

// version returns the major version in the path of a Debian binary.
func version(path string) int {
	n, _ := strconv.Atoi(strings.Split(path, "/")[4])
	return n
}

// unprivileged returns the user to run PostgreSQL as, because PostgreSQL refuses to run as root. It is nil if the
// tests do not run as root.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

func giveToUser(path string) error {
	credential, err := unprivileged()
	if err != nil || credential == nil {
		return err
	}
	return os.Chown(path, int(credential.Uid), int(credential.Gid))
}

// command prepares one of PostgreSQL's programs.
func command(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	path, err := binary(name)
	if err != nil {
		return nil, err
	}
	credential, err := unprivileged()
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, path, args...)
	c.Dir = "/"
	c.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "PGPASSWORD=" + Password}
	c.SysProcAttr = attributes(credential)
	return c, nil
}

// run runs one of PostgreSQL's programs to its end.
func run(name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := command(ctx, name, args...)
	if err != nil {
		return err
	}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: %s: %w\n%s", name, err, out)
	}
	return nil
}

// Start starts the server again after Stop or Kill, and waits until it responds.
func (s *Server) Start() error { return s.start() }

// Stop ends the server as an operator does. Clients are disconnected, and nothing is lost.
func (s *Server) Stop() error { return s.end(politely) }

// Kill ends all processes of the server at once, as a crash does.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

// Restart stops and starts the server.
func (s *Server) Restart() error {
	if err := s.Stop(); err != nil {
		return err
	}
	return s.Start()
}

// start starts the server. After a crash, PostgreSQL refuses to start until the last of the old processes is gone.
func (s *Server) start() error {
	deadline := time.Now().Add(patience)
	for {
		err := s.launch()
		if err == nil || errors.Is(err, errMissing) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (s *Server) launch() error {
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.Port)}
	defaults := []string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "max_connections=200",
		"shared_buffers=32MB", "max_wal_size=256MB", "log_line_prefix=%m %p ", "wal_receiver_status_interval=1s",
	}
	for _, setting := range slices.Concat(defaults, s.settings) {
		args = append(args, "-c", setting)
	}
	c, err := command(context.Background(), "postgres", args...)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	c.Stdout, c.Stderr = file, file
	if err := c.Start(); err != nil {
		return err
	}
	p := &process{command: c, ended: make(chan struct{})}
	go func() {
		_ = c.Wait()
		close(p.ended)
	}()
	s.process = p
	if err := s.ready(p); err != nil {
		_ = s.end(syscall.SIGKILL)
		return fmt.Errorf("pgtest: the server did not start: %w\n%s", err, s.Log())
	}
	return nil
}

// ready waits until the server accepts connections.
func (s *Server) ready(p *process) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := s.Exec(ctx, "postgres", "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return errors.New("it ended")
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Log returns the end of the server's log.
func (s *Server) Log() string {
	text, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	return string(text[max(0, len(text)-4000):])
}

// end sends a signal to the server and waits for its end.
func (s *Server) end(signal syscall.Signal) error {
	p := s.process
	if p == nil {
		return nil
	}
	s.process = nil
	children := childrenOf(p.command.Process.Pid)
	_ = p.command.Process.Signal(signal)
	if signal == syscall.SIGKILL { // a killed postmaster cannot end its children
		for _, pid := range children {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(patience):
		_ = p.command.Process.Kill()
		return errors.New("pgtest: the server did not end\n" + s.Log())
	}
}

// childrenOf returns the children of a process on Linux. On other systems, it returns none.
func childrenOf(pid int) (children []int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, field := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			children = append(children, child)
		}
	}
	return children
}
