package compliance

import (
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/postern-ai/postern/core/chain"
)

// Input is what Verify checks.
type Input struct {
	Files       []File       // files of one export, in the order of its pages
	Checkpoints []Checkpoint // checkpoints that were kept from earlier; those of other chains are ignored
	Keys        []PublicKey  // the keys that the auditor trusts
	Partial     bool         // accept an export of a period: it does not contain older entries
	Unsigned    bool         // accept an export without any checkpoint, or with pages that are not signed
}

// Report is the result of Verify.
type Report struct {
	Type, Project string
	Object        string
	First, Last   uint64         // entries of the export; if Last is less than First, there are none
	Omitted       int            // entries whose payload the export does not include
	Others        map[string]int // lines that are not in the chain, by record
	Signed        uint64         // the last entry that a checkpoint covers; 0: none
	Checkpoints   int            // checkpoints that were checked
	SignedPages   int            // pages whose signatures were checked
}

// Verify checks an export. The error is *Invalid if the export, or a checkpoint, is not as Postern wrote it. Any
// other error means that the input is wrong or cannot be read.
func Verify(in *Input) (Report, error) {
	x, err := read(in.Files)
	if err != nil {
		return Report{}, err
	}
	r := Report{Type: x.first.Type, Project: x.first.Project, Others: x.others}
	if x.first.Chain == nil {
		return r, fmt.Errorf("an export of type %s has no chain to check; its changes are in the export of type audit", r.Type)
	}
	v := verifier{in: in, x: x, rng: *x.first.Chain}
	r.Object, r.First, r.Last = v.rng.Object, v.rng.First, v.rng.Last
	for _, check := range []func() error{v.collect, v.start, v.walk, v.end, v.anchor, v.pages} {
		if err := check(); err != nil {
			return r, err
		}
	}
	r.Omitted, r.Signed, r.Checkpoints, r.SignedPages = v.omitted, v.signed, len(v.checkpoints), v.signedPages
	if len(in.Keys) == 0 {
		r.Checkpoints = 0
	}
	return r, nil
}

type verifier struct {
	in          *Input
	x           *exported
	rng         ChainRange
	checkpoints []Checkpoint // checkpoints of this chain with valid signatures
	hashes      map[uint64]string
	omitted     int
	signed      uint64
	signedPages int
}

func invalid(format string, args ...any) error { return &Invalid{Text: fmt.Sprintf(format, args...)} }

// collect checks the signatures of all checkpoints of the chain. If there is no key, it compares the checkpoints with
// the entries, but they count as unsigned.
func (v *verifier) collect() error {
	for _, c := range slices.Concat(v.in.Checkpoints, v.x.checkpoints) {
		if c.Project != v.x.first.Project || c.Object != v.rng.Object {
			continue
		}
		if err := c.Verify(v.in.Keys); err != nil && len(v.in.Keys) > 0 {
			return invalid("the checkpoint of entry %d of %s (%s, key %s) %v", c.Seq, c.Object, c.Time, c.KeyID, err)
		}
		v.checkpoints = append(v.checkpoints, c)
	}
	return nil
}

// start decides whether the export may begin where it does.
func (v *verifier) start() error {
	if v.rng.First == 0 || v.rng.Last+1 < v.rng.First {
		return invalid("the header's range of entries is malformed")
	}
	if (v.x.first.From != nil || v.x.first.To != nil) && !v.in.Partial {
		return &Invalid{Text: "the export is of a period only; verify that part with -partial", Incomplete: true}
	}
	if v.rng.First == 1 || v.x.first.From != nil {
		return nil
	}
	for _, c := range v.checkpoints {
		if c.Reason == Prune && c.Seq == v.rng.First-1 {
			return nil
		}
	}
	return invalid("entries 1 to %d are missing at the start, and no checkpoint says that they were pruned", v.rng.First-1)
}

// walk checks every entry: its number, payload, hash and link.
func (v *verifier) walk() error {
	w := chain.Walk{ID: chain.ID{Project: v.x.first.Project, Object: v.rng.Object}, Seq: v.rng.First - 1}
	v.hashes = map[uint64]string{}
	for i := range v.x.entries {
		e := &v.x.entries[i]
		if problem := w.Next(&e.Entry); problem != chain.OK {
			return v.explain(&w, i, problem)
		}
		if i == 0 {
			v.hashes[e.Seq-1] = e.Previous.String()
		}
		v.hashes[e.Seq] = e.Hash.String()
		if e.Payload == nil {
			if v.omitted++; HasPayload(v.x.first.Type, e.Kind) {
				return e.invalid("the payload of entry %d (%s) was removed", e.Seq, e.Kind)
			}
		}
	}
	return nil
}

func (v *verifier) explain(w *chain.Walk, i int, problem chain.Problem) error {
	e := &v.x.entries[i]
	switch problem {
	case chain.OutOfOrder:
		return e.invalid("entry %d is repeated or out of order: it comes after entry %d", e.Seq, w.Seq)
	case chain.Missing:
		for _, later := range v.x.entries[i+1:] {
			if later.Seq == w.Seq+1 {
				return e.invalid("entry %d is out of order: entry %d comes after it, in line %d of %s", e.Seq, later.Seq, later.line, later.file)
			}
		}
		return e.invalid("entries %d to %d are missing before this one", w.Seq+1, e.Seq-1)
	case chain.PayloadChanged:
		return e.invalid("the payload of entry %d (%s) was changed: it does not have its hash", e.Seq, e.Kind)
	case chain.EntryChanged:
		return e.invalid("entry %d (%s) was changed: it does not have its hash", e.Seq, e.Kind)
	case chain.NotLinked:
		return e.invalid("entry %d does not continue entry %d: one of the two was replaced", e.Seq, w.Seq)
	}
	return e.invalid("entry %d is older than the entry before it", e.Seq)
}

// end decides whether the export ends where it should.
func (v *verifier) end() error {
	last := v.rng.First - 1
	if n := len(v.x.entries); n > 0 {
		last = v.x.entries[n-1].Seq
	}
	switch next := v.x.last.Next; {
	case last > v.rng.Last:
		return invalid("entries %d to %d are not part of the range in the header", v.rng.Last+1, last)
	case last < v.rng.Last:
		return invalid("entries %d to %d are missing at the end", last+1, v.rng.Last)
	case next != nil:
		return invalid("the export is incomplete: the page after %q is missing", *next)
	case v.x.first.To == nil && v.rng.Last < v.rng.Head:
		return invalid("entries %d to %d are missing at the end", v.rng.Last+1, v.rng.Head)
	}
	return nil
}

// anchor compares the entries with the checkpoints.
func (v *verifier) anchor() error {
	for _, c := range v.checkpoints {
		hash, known := v.hashes[c.Seq]
		switch {
		case c.Seq > v.rng.Last && (v.x.first.To == nil || c.Time < *v.x.first.To):
			return invalid("entries %d to %d are missing at the end: the checkpoint of %s covers them (if the export is older, download another)",
				v.rng.Last+1, c.Seq, c.Time)
		case known && hash != c.Hash:
			return invalid("entry %d is not the one that was signed at %s: it, or an entry before it, was replaced and all later hashes computed again", c.Seq, c.Time)
		case known && len(v.in.Keys) > 0:
			v.signed = max(v.signed, c.Seq)
		}
	}
	if v.signed == 0 && v.rng.Last >= v.rng.First && !v.in.Unsigned {
		return invalid("no checkpoint covers any of these entries, so they could all have been replaced; allow this with -unsigned")
	}
	return nil
}

// pages checks the hash and the signature of each page. It runs last, because the other checks name the fault more
// exactly.
func (v *verifier) pages() error {
	for i := range v.x.pages {
		p := &v.x.pages[i]
		if hex.EncodeToString(p.lines.Sum(nil)) != p.LinesHash {
			return p.invalid("a line of this page was changed, added or removed: the lines do not have the hash in the header")
		}
		if len(v.in.Keys) == 0 || p.Signature == nil && v.in.Unsigned {
			continue
		}
		if err := p.verify(v.in.Keys); err != nil {
			return p.invalid("the page %v", err)
		}
		v.signedPages++
	}
	return nil
}
