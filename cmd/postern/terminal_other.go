//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd

package main

import (
	"errors"
	"os"
)

func isTTY(*os.File) bool { return false }

func readSecretly(*os.File) (string, error) {
	return "", errors.New("cannot ask without echo on this system")
}
