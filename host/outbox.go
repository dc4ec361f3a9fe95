package host

import (
	"context"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/object"
	"github.com/postern-ai/postern/store"
)

// deliver sends the deliveries in the outbox, oldest first. It stops at the first failure, and the object's alarm
// retries later.
func (o *StoredObjects) deliver(ctx context.Context, id store.Object) error {
	a := o.begin(id)
	defer o.end(id)
	a.delivering.Lock()
	defer a.delivering.Unlock()
	for {
		key, d, err := o.next(ctx, id)
		if err != nil || key == "" {
			return err
		}
		if err := o.send(ctx, d); err != nil {
			o.Stats.DeliveryFailures.Add(1)
			return err
		}
		if err := o.remove(ctx, id, key); err != nil {
			return err
		}
	}
}

// next returns the oldest delivery to an object. If deliveries to KV come before it, next makes them here. Each is
// made in the transaction that removes its row. Another replica that delivers the same outbox therefore cannot
// overwrite a newer value with an older one.
func (o *StoredObjects) next(ctx context.Context, id store.Object) (key string, d abi.Delivery, err error) {
	for {
		err = o.Store.Run(ctx, id, func(rows store.Rows, _ uint64) (err error) {
			if key, d, err = object.NextDelivery(rows); err != nil || key == "" || d.Class != abi.ClassKV {
				return err
			}
			rows.WriteKV(d.Name, d.Data)
			return rows.Commit(nil, []string{key}, 0)
		})
		if err != nil || key == "" || d.Class != abi.ClassKV {
			return key, d, err
		}
	}
}

func (o *StoredObjects) remove(ctx context.Context, id store.Object, key string) error {
	return o.Store.Run(ctx, id, func(rows store.Rows, _ uint64) error {
		return rows.Commit(nil, []string{key}, 0)
	})
}

func (o *StoredObjects) send(ctx context.Context, d abi.Delivery) error {
	if o.Send != nil {
		return o.Send(ctx, d)
	}
	_, err := o.Call(ctx, d.Class, d.Name, d.Region, d.Data)
	return err
}
