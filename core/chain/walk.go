package chain

import "crypto/sha256"

// Problem is the reason why an entry does not continue a chain, or OK.
type Problem uint8

// The problems are in the order in which Walk.Next checks for them.
const (
	OK             Problem = iota
	Missing                // at least one entry before this one is missing
	OutOfOrder             // the entry is repeated, or belongs before the last one
	PayloadChanged         // the payload does not have the payload hash
	EntryChanged           // the entry does not have its hash
	NotLinked              // the entry does not name the hash of the previous one, so one of the two was replaced
	TimeReversed           // the entry is older than the previous one
)

// Walk checks a chain's entries in order.
type Walk struct {
	ID       ID
	Seq      uint64 // the number of the last entry checked; at the start, one less than the first entry's number
	Previous Hash   // of the last entry
	Anchored bool   // Previous is known; otherwise, the first entry does not have to follow a known one
	TimeMs   uint64 // of the last entry
}

// Next checks the next entry. If it returns a Problem, the walk does not advance.
func (w *Walk) Next(e *Entry) Problem {
	switch {
	case e.Seq <= w.Seq:
		return OutOfOrder
	case e.Seq > w.Seq+1:
		return Missing
	case e.Payload != nil && sha256.Sum256(e.Payload) != e.PayloadHash:
		return PayloadChanged
	case w.ID.Sum(e) != e.Hash:
		return EntryChanged
	case (w.Anchored || e.Seq == 1) && e.Previous != w.Previous:
		return NotLinked
	case e.TimeMs < w.TimeMs:
		return TimeReversed
	}
	w.Seq, w.Previous, w.TimeMs, w.Anchored = e.Seq, e.Hash, e.TimeMs, true
	return OK
}
