package host

import (
	"container/list"
	"sync"

	"github.com/postern-ai/postern/core"
	"github.com/postern-ai/postern/store"
)

// decodedBytes limits the memory for objects that the native engine keeps decoded. decodedEntryBytes is the approximate memory
// of an entry without them.
const (
	decodedBytes      = 16 << 20
	decodedEntryBytes = 256
)

// decodedObjects is an LRU cache of decoded objects. A command takes out the value of its object, and puts it back, changed,
// after the commit. Nothing is left after a failure.
type decodedObjects struct {
	mu      sync.Mutex
	bytes   int
	order   list.List // of *decodedObject, most recently used first
	objects map[store.Object]*list.Element
}

type decodedObject struct {
	object store.Object
	kept   core.Kept // nil: a command has taken it
	bytes  int
}

// take removes and returns the value of an object, or nil.
func (k *decodedObjects) take(o store.Object) (kept core.Kept) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if element := k.objects[o]; element != nil {
		entry := element.Value.(*decodedObject)
		kept, entry.kept = entry.kept, nil
		k.resize(entry, decodedEntryBytes)
	}
	return kept
}

func (k *decodedObjects) put(o store.Object, kept core.Kept) {
	if kept == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	element := k.objects[o]
	if element == nil {
		if k.objects == nil {
			k.objects = map[store.Object]*list.Element{}
		}
		element = k.order.PushFront(&decodedObject{object: o})
		k.objects[o] = element
	}
	k.order.MoveToFront(element)
	entry := element.Value.(*decodedObject)
	entry.kept = kept
	for k.resize(entry, decodedEntryBytes+kept.Bytes()); k.bytes > decodedBytes; {
		oldest := k.order.Remove(k.order.Back()).(*decodedObject)
		k.resize(oldest, 0)
		delete(k.objects, oldest.object)
	}
}

func (k *decodedObjects) resize(entry *decodedObject, bytes int) {
	k.bytes += bytes - entry.bytes
	entry.bytes = bytes
}
