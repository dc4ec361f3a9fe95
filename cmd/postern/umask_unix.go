//go:build linux || darwin || freebsd || netbsd || openbsd

package main

import "golang.org/x/sys/unix"

// othersBits are the permissions of the group and of others.
const othersBits = 0o077

// keepPrivate makes new files readable for this user only. SQLite creates its log and index beside the database by itself.
func keepPrivate() { unix.Umask(othersBits) }
