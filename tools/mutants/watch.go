package main

import "bytes"

// watch keeps the end of a suite's output and calls failed once a test has failed: the other tests need not
// be waited for (-test.failfast lets parallel ones go on).
type watch struct {
	failed func()
	seen   bool
	tail   []byte
}

// tailBytes of the output are kept, for the report of a suite that fails without a mutant.
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
