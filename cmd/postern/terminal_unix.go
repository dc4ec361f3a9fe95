//go:build linux || darwin || freebsd || netbsd || openbsd

package main

import (
	"bufio"
	"os"

	"golang.org/x/sys/unix"
)

func isTTY(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil
}

// readSecretly reads a line from a terminal without echo.
func readSecretly(f *os.File) (string, error) {
	descriptor := int(f.Fd())
	state, err := unix.IoctlGetTermios(descriptor, getTermios)
	if err != nil {
		return "", err
	}
	quiet := *state
	quiet.Lflag &^= unix.ECHO
	quiet.Lflag |= unix.ICANON | unix.ISIG
	if err := unix.IoctlSetTermios(descriptor, setTermios, &quiet); err != nil {
		return "", err
	}
	defer func() { _ = unix.IoctlSetTermios(descriptor, setTermios, state) }()
	return bufio.NewReader(f).ReadString('\n')
}
