//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package main

// keepPrivate does nothing, because this system has no file mode mask.
func keepPrivate() {}
