package faultvfs

import (
	"io"
	"sync"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// file is an open file.
type file struct {
	fs         *FS
	name       string
	node       *inode
	generation int
	shm        vfs.SharedMemory
	level      vfs.LockLevel
}

var _ vfs.FileSharedMemory = (*file)(nil)

// SharedMemory implements vfs.FileSharedMemory.
func (f *file) SharedMemory() vfs.SharedMemory { return f.shm }

// Close implements vfs.File.
func (f *file) Close() error {
	if f.shm != nil {
		_ = f.shm.Close()
	}
	return f.Unlock(vfs.LOCK_NONE)
}

// ReadAt implements vfs.File.
func (f *file) ReadAt(p []byte, offset int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.fs.begin(f.generation, Read, f.name); err != nil {
		return 0, err
	}
	if offset >= int64(len(f.node.live)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.live[offset:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements vfs.File.
func (f *file) WriteAt(p []byte, offset int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	err := f.fs.begin(f.generation, Write, f.name)
	if err != nil {
		if f.fs.off || f.generation != f.fs.generation {
			return 0, err
		}
		p = p[:f.fs.random.IntN(len(p)+1)]
	}
	c := change{offset: offset, data: append([]byte{}, p...)}
	f.node.live = put(f.node.live, offset, c.data)
	f.node.pending = append(f.node.pending, c)
	return len(p), err
}

// Truncate implements vfs.File.
func (f *file) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.fs.begin(f.generation, Truncate, f.name); err != nil {
		return err
	}
	f.node.live = resize(f.node.live, size)
	f.node.pending = append(f.node.pending, change{offset: size})
	return nil
}

// Sync implements vfs.File.
func (f *file) Sync(vfs.SyncFlag) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	err := f.fs.begin(f.generation, Sync, f.name)
	if f.fs.off || f.generation != f.fs.generation {
		return err
	}
	if err == nil {
		for _, c := range f.node.pending {
			f.node.durable = c.apply(f.node.durable)
		}
	}
	f.node.pending = nil
	return err
}

// Size implements vfs.File.
func (f *file) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.generation != f.fs.generation {
		return 0, ErrIO
	}
	return int64(len(f.node.live)), nil
}

// SectorSize implements vfs.File.
func (*file) SectorSize() int { return 4096 }

// DeviceCharacteristics implements vfs.File. It returns those of ordinary files.
func (*file) DeviceCharacteristics() vfs.DeviceCharacteristic {
	return vfs.IOCAP_POWERSAFE_OVERWRITE | vfs.IOCAP_SUBPAGE_READ
}

// locks are the locks of a file: https://sqlite.org/lockingv3.html
type locks struct {
	mu       sync.Mutex
	shared   int
	reserved *file // the file that has RESERVED, PENDING or EXCLUSIVE
}

// Lock implements vfs.File.
func (f *file) Lock(level vfs.LockLevel) error {
	l := &f.node.lock
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case f.level >= level:
		return nil
	case l.reserved != nil && l.reserved != f && (level > vfs.LOCK_SHARED || l.reserved.level > vfs.LOCK_RESERVED):
		return sqlite3.BUSY
	case level == vfs.LOCK_SHARED:
		l.shared++
	default:
		if l.reserved = f; level == vfs.LOCK_EXCLUSIVE && l.shared > 1 {
			f.level = vfs.LOCK_PENDING
			return sqlite3.BUSY
		}
	}
	f.level = level
	return nil
}

// Unlock implements vfs.File.
func (f *file) Unlock(level vfs.LockLevel) error {
	l := &f.node.lock
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.level <= level {
		return nil
	}
	if l.reserved == f && level < vfs.LOCK_RESERVED {
		l.reserved = nil
	}
	if level == vfs.LOCK_NONE {
		l.shared--
	}
	f.level = level
	return nil
}

// CheckReservedLock implements vfs.File.
func (f *file) CheckReservedLock() (bool, error) {
	f.node.lock.mu.Lock()
	defer f.node.lock.mu.Unlock()
	return f.node.lock.reserved != nil, nil
}
