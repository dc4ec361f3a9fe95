//go:build !linux && !darwin

package doctor

func freeBytes(string) (uint64, bool) { return 0, false }

func openFiles() (uint64, bool) { return 0, false }

func isWritable(string) bool { return true }
