package host

import (
	"context"
	"errors"
	"time"

	"github.com/postern-ai/postern/core/abi"
)

func (x *exchange) call(t *task) abi.Event {
	event := abi.Event{Kind: abi.EventReply, ID: t.ID}
	reply, err := x.callObject(t.ctx, &t.Action)
	switch {
	case errors.Is(err, ErrOverloaded):
		event.Code = abi.OutcomeOverloaded
	case err != nil:
		event.Code = abi.OutcomeFailed
	}
	event.Data = reply
	return event
}

// callObject calls an object. If the object is unavailable, it retries once. If the core gets no event for the call,
// more retries follow; see persist.
func (x *exchange) callObject(ctx context.Context, a *abi.Action) ([]byte, error) {
	reply, err := x.host.Objects.Call(ctx, a.Class, a.Name, a.Region, a.Data)
	if errors.Is(err, ErrUnavailable) {
		reply, err = x.host.Objects.Call(ctx, a.Class, a.Name, a.Region, a.Data)
	}
	if a.ID == 0 && isTemporary(err) {
		reply, err = x.persist(a, err)
	}
	if err != nil && ctx.Err() == nil {
		x.host.logFailure(abi.CallFailed, x.id)
	}
	return reply, err
}

// Pauses between the retries of a call for which the core gets no event.
const (
	firstPause = 250 * time.Millisecond
	maxPause   = 5 * time.Second
)

func isTemporary(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrOverloaded)
}

// persist repeats a call until its object is available again, the time Persistence has passed, or the host is cut.
func (x *exchange) persist(a *abi.Action, err error) (reply []byte, _ error) {
	end := time.Now().Add(x.host.Persistence)
	for pause := firstPause; isTemporary(err) && time.Now().Before(end); pause = min(2*pause, maxPause) {
		select {
		case <-time.After(pause):
		case <-x.host.cut.Done():
			return nil, err
		}
		reply, err = x.host.Objects.Call(context.Background(), a.Class, a.Name, a.Region, a.Data)
	}
	return reply, err
}

// Errors of a call to an object. Only a call that failed with ErrUnavailable may be retried at once.
var (
	ErrOverloaded  = errors.New("host: object overloaded")
	ErrUnavailable = errors.New("host: object unavailable")
)

// Objects runs commands on objects and returns their replies.
type Objects interface {
	Call(ctx context.Context, class abi.Class, name, region string, command []byte) ([]byte, error)
}
