package exchange

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
)

// await issues an action whose reply arrives as an event. It panics if an action with this ID is outstanding, because
// nobody could tell their replies apart.
func (x *exchange) await(a abi.Action) {
	if slices.Contains(x.s.outstanding, a.ID) {
		panic("exchange: the action ID is already outstanding")
	}
	x.s.outstanding = append(x.s.outstanding, a.ID)
	x.do(a)
}

// do issues an action without a reply.
func (x *exchange) do(a abi.Action) { x.out.Actions = append(x.out.Actions, a) }

// The functions below issue the most frequent actions. They are not inlined, because an abi.Action is large.

// keep stores data in a buffer of the host.
//
//go:noinline
func (x *exchange) keep(buffer uint64, data []byte) {
	x.do(abi.Action{Kind: abi.ActionKeep, Buffer: buffer, Data: data})
}

// supply requests the content of a buffer.
//
//go:noinline
func (x *exchange) supply(id, buffer uint64) {
	x.await(abi.Action{Kind: abi.ActionSupply, ID: id, Buffer: buffer})
}

// sendPart sends a piece of the streamed body.
//
//go:noinline
func (x *exchange) sendPart(part abi.Part) {
	x.do(abi.Action{Kind: abi.ActionSend, Body: []abi.Part{part}})
}

// wait starts a timer.
//
//go:noinline
func (x *exchange) wait(id, ms uint64) {
	x.await(abi.Action{Kind: abi.ActionWait, ID: id, KeepMs: ms})
}

// remember stores a value in the isolate's memory. An empty value removes the key.
//
//go:noinline
func (x *exchange) remember(key string, value []byte, keepMs uint64) {
	a := abi.Action{Kind: abi.ActionWrite, Key: key, Where: abi.WhereMemory, KeepMs: keepMs}
	if len(value) > 0 {
		a.Body = []abi.Part{{Data: value}}
	}
	x.do(a)
}

func (x *exchange) pending(id uint64) bool { return slices.Contains(x.s.outstanding, id) }

func (x *exchange) pendingWithin(first, end uint64) bool {
	return slices.ContainsFunc(x.s.outstanding, func(id uint64) bool { return id >= first && id < end })
}

func (x *exchange) cancel(id uint64) {
	if at := slices.Index(x.s.outstanding, id); at >= 0 {
		x.s.outstanding = slices.Delete(x.s.outstanding, at, at+1)
		x.do(abi.Action{Kind: abi.ActionCancel, ID: id})
	}
}

// cancelWithin cancels all outstanding actions with first <= ID < end.
func (x *exchange) cancelWithin(first, end uint64) {
	for _, id := range slices.Clone(x.s.outstanding) {
		if id >= first && id < end {
			x.cancel(id)
		}
	}
}

// call sends a command to an object near the project's region. If id is 0, there is no reply.
func (x *exchange) call(id uint64, class abi.Class, name string, command []byte) {
	a := abi.Action{Kind: abi.ActionCall, ID: id, Class: class, Name: name, Region: x.s.record.Region, Data: command}
	if id == 0 {
		x.do(a)
		return
	}
	x.await(a)
}

func (x *exchange) header(name string) string {
	for _, h := range x.event.Headers {
		if h.Name == name {
			return h.Value
		}
	}
	return ""
}

// random returns the next number of the exchange's random sequence (splitmix64).
func (x *exchange) random() uint64 {
	x.s.seed += 0x9e3779b97f4a7c15
	z := x.s.seed
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// since returns the milliseconds since ms. If the clock has gone backward, it returns 0.
func (x *exchange) since(ms uint64) uint64 { return x.now - min(x.now, ms) }

func (x *exchange) enter(p phase) {
	if p != x.s.phase && !x.mayEnter.has(p) {
		panic("exchange: the row does not lead to this phase")
	}
	x.s.phase = p
}

// ignore accepts an event that changes nothing.
func (x *exchange) ignore() {}
