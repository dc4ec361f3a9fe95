package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3/vfs"
)

// The parts of a write-ahead log: https://sqlite.org/fileformat2.html#the_write_ahead_log
const (
	walHeader   = 32
	frameHeader = 24
	pageBytes   = 4096
	frameBytes  = frameHeader + pageBytes
	littleMagic = 0x377f0682 // the checksums read little-endian words
	bigMagic    = 0x377f0683
)

// errLog means that the disk has lost changes in the log that SQLite has read or written.
var errLog = errors.New("the write-ahead log has lost changes after a failed sync: if the error stays, start the server again")

// rewrite checks the header and the first frames of a log. Then it writes them again. It checks them because of
// failed syncs: after one, the kernel may have read old pages from the disk again.
func rewrite(log vfs.File, frames int) error {
	if frames == 0 {
		return nil
	}
	header := make([]byte, walHeader)
	if err := again(log, header, 0, func() error { return nil }); err != nil {
		return err
	}
	sum, err := newChain(header)
	if err != nil {
		return err
	}
	buffer := make([]byte, 64*frameBytes)
	for at := 0; at < frames; at += 64 {
		part := buffer[:min(64, frames-at)*frameBytes]
		err := again(log, part, walHeader+int64(at)*frameBytes, func() error { return sum.add(part) })
		if err != nil {
			return err
		}
	}
	return nil
}

// again reads a part of a file and writes it back.
func again(f vfs.File, part []byte, at int64, check func() error) error {
	if _, err := f.ReadAt(part, at); err != nil {
		return err
	}
	if err := check(); err != nil {
		return err
	}
	_, err := f.WriteAt(part, at)
	return err
}

// chain is the checksum of a log. It continues from frame to frame.
type chain struct {
	order binary.ByteOrder
	salt  []byte
	a, b  uint32
}

func newChain(header []byte) (*chain, error) {
	c := &chain{order: binary.LittleEndian, salt: header[16:24]}
	switch magic := binary.BigEndian.Uint32(header); magic {
	case littleMagic:
	case bigMagic:
		c.order = binary.BigEndian
	default:
		return nil, fmt.Errorf("%w (its header begins with %#x)", errLog, magic)
	}
	if c.sum(header[:24]); !c.matches(header[24:]) {
		return nil, fmt.Errorf("%w (the checksum of its header is wrong)", errLog)
	}
	return c, nil
}

// add adds frames to the checksum and checks them.
func (c *chain) add(frames []byte) error {
	for ; len(frames) > 0; frames = frames[frameBytes:] {
		f := frames[:frameBytes]
		c.sum(f[:8])
		if c.sum(f[frameHeader:]); !bytes.Equal(f[8:16], c.salt) || !c.matches(f[16:]) {
			return errLog
		}
	}
	return nil
}

func (c *chain) sum(data []byte) {
	for ; len(data) > 0; data = data[8:] {
		c.a += c.order.Uint32(data) + c.b
		c.b += c.order.Uint32(data[4:]) + c.a
	}
}

func (c *chain) matches(stored []byte) bool {
	return binary.BigEndian.Uint32(stored) == c.a && binary.BigEndian.Uint32(stored[4:]) == c.b
}
