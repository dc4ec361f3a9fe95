// Package faultvfs is an SQLite file layer for tests. Its files are in memory. A power loss drops or tears their
// unsynced writes, and their operations fail on command.
package faultvfs

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// Op is an operation on a file.
type Op string

// Operations.
const (
	Open     Op = "open"
	Read     Op = "read"
	Write    Op = "write"
	Truncate Op = "truncate"
	Sync     Op = "sync"
	SyncDir  Op = "syncdir"
	Delete   Op = "delete"
)

// Errors as the kernel reports them.
var (
	ErrNoSpace  = &fs.PathError{Op: "write", Path: "postern.db", Err: syscall.ENOSPC}
	ErrReadOnly = &fs.PathError{Op: "write", Path: "postern.db", Err: syscall.EROFS}
	ErrIO       = &fs.PathError{Op: "write", Path: "postern.db", Err: syscall.EIO}
)

// Fault decides whether an operation fails: if it returns an error, the operation fails. A failed write has written
// part of the data. A failed sync has dropped the unsynced writes. Readers still see them, but no later sync makes
// them durable (as on Linux).
type Fault func(op Op, file string) error

// FS is a file system. It is safe for concurrent use.
type FS struct {
	// Name is the name under which the file system is registered, for sqlite.Config.VFS.
	Name string

	shm        string // real directory for the memory that connections share
	mu         sync.Mutex
	random     *rand.Rand
	fault      Fault
	generation int
	off        bool // the power
	left       int  // operations until the power goes off; negative: it stays on
	files      map[string]*inode
	durable    map[string]*inode // directory entries that survive a power loss
}

// inode is a file's content.
type inode struct {
	lock    locks
	live    []byte // for readers
	durable []byte // after a loss of power
	pending []change
}

// change is a write that is not synced, or a truncation to offset if data is nil.
type change struct {
	offset int64
	data   []byte
}

func (c *change) apply(content []byte) []byte {
	if c.data == nil {
		return resize(content, c.offset)
	}
	return put(content, c.offset, c.data)
}

var count atomic.Int64

// New registers a file system whose random choices come from the seed. shm is a real empty directory.
func New(shm string, seed uint64) *FS {
	f := &FS{
		Name: "faulty" + strconv.FormatInt(count.Add(1), 10), shm: shm, random: rand.New(rand.NewPCG(seed, 1)), left: -1,
		files: map[string]*inode{}, durable: map[string]*inode{},
	}
	vfs.Register(f.Name, f)
	return f
}

// SetFault replaces the fault. nil removes it.
func (f *FS) SetFault(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// CutAfter cuts the power after a number of operations. Every later operation fails.
func (f *FS) CutAfter(operations int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = operations
}

// CutAfterLocked is like CutAfter, for use by a Fault, which must not call any methods without the suffix Locked.
func (f *FS) CutAfterLocked(operations int) { f.left = operations }

// EvictLocked makes readers of a file see the contents of the disk. It is for use by a Fault. It simulates that the
// kernel may drop pages from memory, including pages lost by a failed sync.
func (f *FS) EvictLocked(name string) {
	for path, node := range f.files {
		if filepath.Base(path) == name {
			node.live = append([]byte(nil), node.durable...)
			for _, c := range node.pending {
				node.live = c.apply(node.live)
			}
		}
	}
}

// IsOff reports whether the power is off.
func (f *FS) IsOff() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.off
}

// Restart cuts the power and turns it on again. Any subset of the unsynced writes has reached the disk, completely or
// in sectors, and the same applies to directory entries. Open files stay dead.
func (f *FS) Restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := map[string]*inode{}
	for _, entries := range []map[string]*inode{f.durable, f.files} {
		for name, old := range entries {
			if (f.durable[name] == old && f.files[name] == old) || f.random.IntN(2) == 0 {
				names[name] = old
			}
		}
	}
	f.files, f.durable = map[string]*inode{}, map[string]*inode{}
	for name, old := range names {
		content := old.afterCut(f.random)
		file := &inode{live: content, durable: append([]byte(nil), content...)}
		f.files[name], f.durable[name] = file, file
	}
	f.generation++
	f.off, f.left, f.fault = false, -1, nil
}

const sector = 512

// afterCut returns the content after a power loss.
func (n *inode) afterCut(random *rand.Rand) []byte {
	content := append([]byte(nil), n.durable...)
	keep := random.IntN(3) // 0: none, 1: some, 2: most
	for _, c := range n.pending {
		switch {
		case keep == 0 || random.IntN(10) >= 5*keep-1:
		case c.data == nil:
			content = resize(content, c.offset)
		case random.IntN(4) == 0: // torn
			for at := 0; at < len(c.data); {
				end := min(len(c.data), at+sector-int((c.offset+int64(at))%sector))
				if random.IntN(2) == 0 {
					content = put(content, c.offset+int64(at), c.data[at:end])
				}
				at = end
			}
		default:
			content = put(content, c.offset, c.data)
		}
	}
	return content
}

func resize(content []byte, size int64) []byte {
	if size <= int64(len(content)) {
		return content[:size]
	}
	return append(content, make([]byte, size-int64(len(content)))...)
}

func put(content []byte, offset int64, data []byte) []byte {
	if end := offset + int64(len(data)); end > int64(len(content)) {
		content = resize(content, end)
	}
	copy(content[offset:], data)
	return content
}

// begin is called with f.mu held before each operation.
func (f *FS) begin(generation int, op Op, name string) error {
	if f.left > 0 {
		f.left--
	}
	f.off = f.off || f.left == 0
	if f.off || generation != f.generation {
		return ErrIO
	}
	if f.fault != nil {
		return f.fault(op, filepath.Base(name))
	}
	return nil
}

// Open implements vfs.VFS.
func (f *FS) Open(name string, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	if name == "" {
		return nil, flags, sqlite3.CANTOPEN // a temporary file
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin(f.generation, Open, name); err != nil {
		return nil, flags, err
	}
	node := f.files[name]
	if node == nil {
		if flags&vfs.OPEN_CREATE == 0 {
			return nil, flags, sqlite3.CANTOPEN
		}
		node = &inode{}
		f.files[name] = node
	}
	opened := &file{fs: f, name: name, node: node, generation: f.generation}
	opened.shm = vfs.NewSharedMemory(filepath.Join(f.shm, strconv.Itoa(f.generation)+filepath.Base(name)+"-shm"), flags)
	return opened, flags, nil
}

// Delete implements vfs.VFS.
func (f *FS) Delete(name string, syncDir bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin(f.generation, Delete, name); err != nil {
		return err
	}
	if f.files[name] == nil {
		return sqlite3.IOERR_DELETE_NOENT
	}
	delete(f.files, name)
	if syncDir {
		delete(f.durable, name)
	}
	return nil
}

// Access implements vfs.VFS.
func (f *FS) Access(name string, _ vfs.AccessFlag) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.files[name] != nil, nil
}

// FullPathname implements vfs.VFS.
func (f *FS) FullPathname(name string) (string, error) { return name, nil }

// SyncDir makes the entries of the directory durable.
func (f *FS) SyncDir(string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.begin(f.generation, SyncDir, ""); err != nil {
		return err
	}
	clear(f.durable)
	for name, node := range f.files {
		f.durable[name] = node
	}
	return nil
}

// Flip changes a bit of a file, for tests of damage.
func (f *FS) Flip(name string, offset int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for path, node := range f.files {
		if filepath.Base(path) == name && offset < len(node.live) {
			node.live[offset] ^= 1
			return nil
		}
	}
	return errors.New("no such place")
}
