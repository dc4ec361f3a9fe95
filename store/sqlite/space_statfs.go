//go:build linux || darwin

package sqlite

import "syscall"

// free returns the bytes on the disk of a directory that are free for this user.
func free(dir string) (bytes uint64, ok bool) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return 0, false
	}
	return disk.Bavail * uint64(disk.Bsize), true
}
