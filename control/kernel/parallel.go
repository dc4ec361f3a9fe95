package kernel

import (
	"errors"
	"sync"
)

// maxParallel is the maximum number of concurrent calls for one request, because a request to a Worker may use six
// connections.
const maxParallel = 6

// Parallel calls do for each element of a list, at most maxParallel at a time, and waits for all calls.
func Parallel[T any](list []T, do func(T) error) error {
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

// Indexes returns the indexes of a list.
func Indexes[T any](list []T) []int {
	all := make([]int, len(list))
	for i := range all {
		all[i] = i
	}
	return all
}
