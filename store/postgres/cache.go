package postgres

import (
	"container/list"
	"sync"

	"github.com/postern-ai/postern/store"
)

// cache is an LRU cache of facts about objects. A command takes out the facts about its object, so nothing else
// changes them. It puts them back together with the version for which they are true.
type cache struct {
	mu      sync.Mutex
	max     int // bytes
	bytes   int
	order   *list.List // of *cached, most recently used first
	objects map[store.Object]*list.Element
}

type cached struct {
	object  store.Object
	version int64
	shared  int // for this many more commands, the store expects that another replica has changed the object
	*facts
}

// objectOverhead is the approximate memory of an entry in addition to its facts.
const objectOverhead = 300

// sharedFor is the value that cached.shared gets when another replica has changed an object.
const sharedFor = 8

// An object may use at most 1/objectShare of the cache.
const objectShare = 8

func newCache(max int) *cache {
	return &cache{max: max, order: list.New(), objects: map[store.Object]*list.Element{}}
}

// take removes and returns the facts about an object, or nil.
func (c *cache) take(o store.Object) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	element := c.objects[o]
	if element == nil {
		return nil
	}
	return c.remove(element)
}

func (c *cache) remove(element *list.Element) *cached {
	entry := c.order.Remove(element).(*cached)
	delete(c.objects, entry.object)
	c.bytes -= entry.bytes + objectOverhead
	return entry
}

func (c *cache) put(entry *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.objects[entry.object]; old != nil {
		c.remove(old)
	}
	if entry.bytes > c.max/objectShare {
		return
	}
	c.objects[entry.object] = c.order.PushFront(entry)
	c.bytes += entry.bytes + objectOverhead
	for c.bytes > c.max {
		c.remove(c.order.Back())
	}
}
