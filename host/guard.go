package host

import (
	"errors"
	"runtime/debug"
)

// errPanicked hides the panic value, which might contain secrets or request data.
var errPanicked = errors.New("host: panic")

// panicked reports a recovered panic with the stack of the calling goroutine. The stack contains no values.
func panicked(report func(code string, stack []byte), code string) {
	if report != nil {
		report(code, debug.Stack())
	}
}

// background runs f in a goroutine and counts it as work. A panic ends only f.
func background(w *working, report func(code string, stack []byte), f func()) {
	w.Go(func() {
		defer func() {
			if recover() != nil {
				panicked(report, "background_panicked")
			}
		}()
		f()
	})
}
