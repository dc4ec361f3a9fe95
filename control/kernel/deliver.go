package kernel

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/keymeter"
)

// deliverAll makes a change's deliveries to objects and returns when the change is in force everywhere. It waits for
// the end of the last lease with which an isolate could still admit requests that contradict the change.
func (s Store) deliverAll(ctx context.Context, made *Change) error {
	waitMs, err := s.deliverInOrder(ctx, made.Deliveries)
	if err != nil {
		return err
	}
	if len(made.Republish) > 0 && !made.Later {
		more, others, err := s.updateKeys(ctx, made.Republish)
		if err != nil {
			return err
		}
		if waitMs = max(waitMs, others); made.Pending != nil {
			*made.Pending = more
		}
	}
	if err := s.Wait(ctx, waitMs); err != nil {
		return err
	}
	return s.Recall(ctx, &made.Recall)
}

// maxWait is the longest wait for leases. It is far longer than config.MaxLeaseMs but shorter than clients and
// proxies wait for a response.
const maxWait = 10 * time.Second

// Wait waits for leases to end. Waiting for the longest lease is enough for all of them.
func (s Store) Wait(ctx context.Context, ms uint64) error {
	if ms == 0 {
		return nil
	}
	if ms > uint64(maxWait.Milliseconds()) { // no plan has leases that long, so the meter's reply is wrong
		return Unavailable(fmt.Errorf("a meter has a lease of %d ms, longer than %v", ms, maxWait))
	}
	if err := s.sleep(ctx, time.Duration(ms)*time.Millisecond); err != nil {
		return Unavailable(err)
	}
	return nil
}

// sleepNatively is the default for Config.Sleep.
func sleepNatively(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// deliverInOrder delivers to ledgers before meters, because meters send the ledger requests that rely on the change.
func (s Store) deliverInOrder(ctx context.Context, deliveries []abi.Delivery) (waitMs uint64, err error) {
	for _, class := range []abi.Class{abi.ClassLedger, abi.ClassKeyMeter} {
		others := func(d abi.Delivery) bool { return d.Class != class }
		if waitMs, err = s.Deliver(ctx, slices.DeleteFunc(slices.Clone(deliveries), others)); err != nil {
			return 0, err
		}
	}
	return waitMs, nil
}

// Deliver makes deliveries to objects, a few at a time, and waits for all of them. waitMs is the longest wait that a
// meter asks for. The outbox makes the deliveries to KV, because nothing depends on fresh data in KV.
func (s Store) Deliver(ctx context.Context, deliveries []abi.Delivery) (waitMs uint64, err error) {
	waits := make([]uint64, len(deliveries))
	err = Parallel(Indexes(deliveries), func(i int) error {
		d := &deliveries[i]
		reply, err := s.Objects.Call(ctx, d.Class, d.Name, d.Region, d.Data)
		if err != nil || d.Class != abi.ClassKeyMeter {
			return err
		}
		put, err := keymeter.DecodePutReply(reply)
		waits[i] = put.WaitMs
		return err
	})
	if err != nil {
		return 0, Unavailable(err)
	}
	return slices.Max(append(waits, 0)), nil
}
