//go:build !linux && !darwin

package sqlite

// free returns the free bytes on the disk of a directory. It is not implemented for this system.
func free(string) (bytes uint64, ok bool) { return 0, false }
