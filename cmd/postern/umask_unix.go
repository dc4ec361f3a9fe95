//go:build linux || darwin || freebsd || netbsd || openbsd

package main

import "golang.org/x/sys/unix"

// othersBits are the permissions of the group and of others.
const othersBits = 0o077

// keepPrivate makes new files readable only for this user. This includes the log and the index that SQLite creates
// next to the database.
func keepPrivate() { unix.Umask(othersBits) }
