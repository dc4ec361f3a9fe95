// Package smallfile reads files with secrets and configurations.
package smallfile

import (
	"crypto/tls"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// MaxBytes is the maximum size of a file.
const MaxBytes = 1 << 20

// Read returns the content of a regular file of at most MaxBytes. It refuses other kinds of files: a FIFO without a
// writer would block, and a device has no end. Its errors are like the ones of package os.
func Read(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, refused(name, "%s, not a regular file", kind(info.Mode()))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, MaxBytes+1)) // the size of a file in /proc is 0
	if err == nil && len(text) > MaxBytes {
		return nil, refused(name, "larger than %d bytes", MaxBytes)
	}
	return text, err
}

// KeyPair reads a certificate with its chain and its private key from PEM files.
func KeyPair(certificate, key string) (tls.Certificate, error) {
	chain, err := Read(certificate)
	if err != nil {
		return tls.Certificate{}, err
	}
	private, err := Read(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(chain, private)
}

func refused(name, format string, args ...any) error {
	return &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf(format, args...)}
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}
