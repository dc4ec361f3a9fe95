package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// secretFile is a new file that only this user can read.
type secretFile struct{ *os.File }

// createSecretFile creates a file. If the file exists, it fails, because others may be able to read an existing file.
func createSecretFile(name string) (*secretFile, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if os.IsExist(err) {
		return nil, fmt.Errorf("%s exists already; name a new file", name)
	}
	if err != nil {
		return nil, err
	}
	return &secretFile{f}, nil
}

// write appends text and makes it durable.
func (f *secretFile) write(text string) error {
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	return f.Sync()
}

// close closes the file and removes it if it is empty.
func (f *secretFile) close() {
	if info, err := f.Stat(); err == nil && info.Size() == 0 {
		_ = os.Remove(f.Name())
	}
	_ = f.Close()
}

// confirm asks a question. If yes is set, it does not ask. Without a terminal, yes must be set.
func (p *program) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if !p.interactive {
		return misused("pass --yes: standard input is not a terminal, and the command needs an answer: %s", question)
	}
	fmt.Fprint(p.err, question+" [y/N] ")
	line, _ := bufio.NewReader(p.in).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return fmt.Errorf("not confirmed, nothing was changed")
	}
	return nil
}

// appendSecretFile opens a file for appending. If the file exists, others must not be able to read it.
func appendSecretFile(name string) (*secretFile, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		_ = f.Close()
		return nil, fmt.Errorf("%s must be a regular file that only its owner can read; run chmod 600 %s, or name a new file", name, name)
	}
	return &secretFile{f}, nil
}
