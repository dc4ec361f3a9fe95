package main

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// errStopped means that a signal has ended the startup.
var errStopped = errors.New("stopped by a signal")

// stopTimeout is the time in which startup must end after a signal. Some work does not notice that its context has
// ended, such as a call to a file system that does not respond. That work must not keep the process alive.
const stopTimeout = 5 * time.Second

// interruptible runs start until start ends or a signal arrives. start may wait for a database, or for another
// replica's migration. The signal cancels start. interruptible then returns errStopped when start has ended, when a
// second signal arrives, or after stopTimeout. A SIGHUP stays in signals for the server.
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
				if failure == nil { // the server shuts down as usual
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

func keep(signals chan os.Signal, signal os.Signal) {
	select {
	case signals <- signal:
	default: // full: other signals are already waiting
	}
}
