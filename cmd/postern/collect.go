package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"time"
)

// A server that uses little memory gains little from frequent garbage collections: they cost more than the saved
// memory is worth. With Go's default, the heap may only double between two collections, and the live heap is just a
// few megabytes. Therefore, the heap may grow to five times its live size while total memory stays below usualMemory.
// If the live heap needs more than that, the limit rises. Collections are then still no more frequent than with Go's
// default. See https://go.dev/doc/gc-guide.
const (
	heapGrowthPercent = 400
	usualMemory       = 80 << 20
	limitPeriod       = time.Second
)

// Without allocations, there is no garbage collection, and the runtime keeps the memory that a busy period needed.
// Therefore, a server returns this memory to the operating system after idlePeriods quiet periods in a row. A period
// is quiet if at most idleBytes are allocated in it. If less than worthwhileBytes have been allocated since the last
// return, nothing is returned.
const (
	idleBytes       = 512 << 10
	idlePeriods     = 5
	worthwhileBytes = 16 << 20
)

// collectRarely sets the frequency of garbage collections until ctx ends. If the operator has set it, it does
// nothing.
func (p *program) collectRarely(ctx context.Context) {
	if slices.ContainsFunc(p.environ, setsCollector) {
		return
	}
	debug.SetGCPercent(heapGrowthPercent)
	debug.SetMemoryLimit(usualMemory)
	go func() {
		ticks := time.NewTicker(limitPeriod)
		defer ticks.Stop()
		var idle idleness
		for used := newMemoryUse(); ; {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
				debug.SetMemoryLimit(memoryLimit(used.read()))
				if idle.ends(allocated()) {
					debug.FreeOSMemory()
				}
			}
		}
	}()
}

// setsCollector reports whether an environment variable configures the garbage collector of Go's runtime.
func setsCollector(variable string) bool {
	name, value, _ := strings.Cut(variable, "=")
	return value != "" && (name == "GOGC" || name == "GOMEMLIMIT")
}

// memoryLimit returns the memory limit in bytes. Its arguments are the live heap, and the memory other than heap
// objects.
func memoryLimit(live, other uint64) int64 {
	return int64(max(usualMemory, other+2*live))
}

// idleness notices when a busy period is over.
type idleness struct {
	last, released uint64 // allocated bytes in total
	periods        int    // number of consecutive quiet periods
}

// ends is called once per period with the total bytes that the process has allocated. It reports whether memory
// should be returned now.
func (i *idleness) ends(total uint64) bool {
	if i.periods++; total-i.last > idleBytes {
		i.periods = 0
	}
	i.last = total
	if i.periods < idlePeriods || total-i.released < worthwhileBytes {
		return false
	}
	i.released = total
	return true
}

// allocated returns the number of bytes that the process has ever allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

type memoryUse []metrics.Sample

func newMemoryUse() memoryUse {
	return memoryUse{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
	}
}

// read returns two sizes in bytes: what the last collection found to be live, and the memory that stacks and the
// runtime use or that is lost between objects.
func (m memoryUse) read() (live, other uint64) {
	metrics.Read(m)
	other = m[1].Value.Uint64()
	for _, sample := range m[2:] {
		other -= min(other, sample.Value.Uint64())
	}
	return m[0].Value.Uint64(), other
}
