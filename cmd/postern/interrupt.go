package main

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// errStopped means that a signal has ended the start.
var errStopped = errors.New("stopped by a signal")

// stopTimeout is the time that a start gets to end after a signal. What does not notice the end of its context, such as a file
// system that does not answer, does not keep the process alive.
const stopTimeout = 5 * time.Second

// interruptible runs a start, which may wait for a database or for another replica's migration, until it ends or a signal comes.
// The signal cancels it; errStopped is returned when it has ended, at a second signal, or after stopTimeout. SIGHUP stays in
// signals for the server.
func interruptible[T any](signals chan os.Signal, cancel func(), start func() (T, error)) (result T, err error) {
	ended := make(chan struct{})
	var started T
	var failure error
	go func() {
		defer close(ended)
		started, failure = start()
	}()
	reload := false
	for {
		select {
		case <-ended:
			if reload {
				keep(signals, syscall.SIGHUP)
			}
			return started, failure
		case signal := <-signals:
			if signal == syscall.SIGHUP {
				reload = true
				continue
			}
			cancel()
			select {
			case <-ended:
				if failure == nil { // the server ends as it does at any time
					keep(signals, signal)
					return started, nil
				}
			case <-signals:
			case <-time.After(stopTimeout):
			}
			return result, errStopped
		}
	}
}

// keep puts a signal back.
func keep(signals chan os.Signal, signal os.Signal) {
	select {
	case signals <- signal:
	default: // others wait already
	}
}
