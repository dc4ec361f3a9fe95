//go:build !linux && !darwin

package sqlite

// free would return the bytes that the disk of a directory has left.
func free(string) (bytes uint64, ok bool) { return 0, false }
