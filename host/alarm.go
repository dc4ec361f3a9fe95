package host

import (
	"context"
	"errors"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/object"
	"github.com/postern-ai/postern/store"
)

// postponeMs is the time until a failed alarm is tried again.
const postponeMs = 60_000

// Ring runs the earliest alarm if it is due, and reports whether it ran one. To run an alarm, it sends the object an
// empty command and then delivers the object's outbox. If the command fails, the alarm is postponed, because it would
// otherwise stay the earliest alarm and block all others.
func (o *StoredObjects) Ring(ctx context.Context) (bool, error) {
	var id store.Object
	var out abi.ObjectOutput
	var failure error
	rang, err := o.Store.Ring(ctx, func(of store.Object, rows store.Rows, now uint64) (err error) {
		pending, _, err := object.NextDelivery(rows)
		if err != nil {
			return err
		}
		id = of
		c := &counted{Rows: rows, stats: o.Stats, now: now, outbox: pending != ""}
		if out, failure = o.apply(id, c, nil); failure != nil && !c.failed {
			out = abi.ObjectOutput{}
			return rows.Commit(nil, nil, now+postponeMs)
		}
		return failure
	})
	if err != nil || !rang {
		return rang, err
	}
	o.post(id, out.Posts)
	return true, errors.Join(failure, o.deliver(ctx, id))
}
