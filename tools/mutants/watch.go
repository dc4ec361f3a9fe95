package main

import "bytes"

// watch keeps the tail of a suite's output and calls failed at the first failed test, because -test.failfast lets other
// parallel tests continue.
type watch struct {
	failed func()
	seen   bool
	tail   []byte
}

// tailBytes is the length of the kept output, for the report of a suite that fails without a mutant.
const tailBytes = 8 << 10

var failMark = []byte("--- FAIL:")

func (w *watch) Write(p []byte) (int, error) {
	from := max(0, len(w.tail)-len(failMark))
	w.tail = append(w.tail, p...)
	if !w.seen && bytes.Contains(w.tail[from:], failMark) {
		w.seen = true
		w.failed()
	}
	if extra := len(w.tail) - tailBytes; extra > 0 {
		w.tail = append(w.tail[:0], w.tail[extra:]...)
	}
	return len(p), nil
}
