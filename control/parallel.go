package control

import (
	"errors"
	"sync"
)

// maxParallel is how many calls of one request are under way at once: a Worker's request has six connections.
const maxParallel = 6

// parallel does something with each of a list, a few at a time, and waits for all.
func parallel[T any](list []T, do func(T) error) error {
	var (
		all   sync.WaitGroup
		slots = make(chan struct{}, maxParallel)
		errs  = make([]error, len(list))
	)
	for i, one := range list {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(one)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
