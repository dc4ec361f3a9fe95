package postgres

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/postern-ai/postern/store"
)

// TestPutBack: a command whose context ends while its transaction runs does not block its object if the transaction puts
// it back, even if it would lead the next one.
func TestPutBack(t *testing.T) {
	for _, first := range []bool{true, false} { // whether it is put back before another one
		synctest.Test(t, func(t *testing.T) {
			q, o := newQueue(10), store.Object{Name: "a"}
			q.join(o, nil)
			one, other := q.join(o, nil), q.join(o, nil)
			if !first {
				one, other = other, one
			}
			together := q.take(o)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := q.wait(ctx, o, one)
				ended <- err
			}()
			synctest.Wait() // it can no longer be withdrawn
			q.putBack(o, together[1:])
			q.pass(o)
			if leads, err := q.wait(t.Context(), o, other); !leads || err != nil {
				t.Errorf("first %t: the other command leads: %t, %v", first, leads, err)
			}
			finish(q.take(o), nil)
			if err := <-ended; first && !errors.Is(err, store.ErrOverloaded) || !first && err != nil {
				t.Errorf("first %t: %v", first, err)
			}
			q.pass(o)
			if len(q.objects) > 0 {
				t.Errorf("first %t: the object is still busy", first)
			}
		})
	}
}
