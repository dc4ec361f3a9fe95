package compliance

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/chain"
	"github.com/postern-ai/postern/core/directory"
)

// Limits of one verification request. The client continues with the cursor in the response's field "next".
const (
	verifyEntries     = 2000
	verifyCheckpoints = 500
)

// verifyPrefix makes a cursor look like an ID. It is followed by the number of the object and the number of the next
// entry.
const verifyPrefix = "ver_"

// verifyView is the result of verifying part of the chains.
type verifyView struct {
	OK          bool        `json:"ok"`          // no fault has been found so far
	Complete    bool        `json:"complete"`    // both chains were verified to their ends
	Entries     int         `json:"entries"`     // verified by this request
	Checkpoints int         `json:"checkpoints"` // checkpoints that were compared with the entries
	Broken      *brokenView `json:"broken"`      // the first fault
	Next        *string     `json:"next"`        // pass as "after" to continue; null: complete or broken
}

// brokenView describes the first entry at which a chain is broken.
type brokenView struct {
	Object  string `json:"object"`
	Seq     uint64 `json:"seq"`
	Problem string `json:"problem"`
}

var chainProblems = map[chain.Problem]string{
	chain.OutOfOrder:     "out of order",
	chain.PayloadChanged: "payload changed",
	chain.EntryChanged:   "entry changed",
	chain.NotLinked:      "does not continue the entry before: one of the two was replaced",
	chain.TimeReversed:   "older than the entry before",
}

type verification struct {
	*handler
	*kernel.Call
	project     *directory.Project
	public      []compliance.PublicKey
	checkpoints map[string]map[uint64]*compliance.Checkpoint // by object and entry
	pruned      map[string]compliance.Checkpoint
	view        verifyView
}

// verifyCompliance serves GET …/compliance/verify?after=. It verifies the stored chains and compares them with the
// stored checkpoints.
func (h *handler) verifyCompliance(c *kernel.Call) (kernel.Answer, error) {
	q, err := kernel.ReadQuery(c.Request, verifyPrefix)
	if err != nil {
		return kernel.Answer{}, err
	}
	object, seq, ok := readVerifyCursor(q.After)
	if !ok {
		q.Problem("after", kernel.BadCursor+kernel.Got(q.After))
	}
	if err := q.Err(); err != nil {
		return kernel.Answer{}, err
	}
	p, err := h.Store.Project(c, c.Project)
	if err != nil {
		return kernel.Answer{}, err
	}
	v := &verification{handler: h, Call: c, project: &p, public: publicKeys(signingKeys(h.Plane)), view: verifyView{OK: true}}
	if err := v.load(); err != nil {
		return kernel.Answer{}, err
	}
	for ; object < len(chainObjects) && v.view.OK; object, seq = object+1, 0 {
		next, err := v.chain(chainObjects[object], seq)
		if err != nil {
			return kernel.Answer{}, err
		}
		if next > 0 {
			cursor := verifyPrefix + strconv.Itoa(object) + "x" + strconv.FormatUint(next, 10)
			v.view.Next = &cursor
			return kernel.OK(v.view), nil
		}
	}
	v.view.Complete = v.view.OK
	return kernel.OK(v.view), nil
}

func readVerifyCursor(after string) (object int, seq uint64, ok bool) {
	if after == "" {
		return 0, 0, true
	}
	number, entry, _ := strings.Cut(strings.TrimPrefix(after, verifyPrefix), "x")
	object, err := strconv.Atoi(number)
	seq, wrong := strconv.ParseUint(entry, 10, 47)
	return object, seq, err == nil && wrong == nil && object >= 0 && object < len(chainObjects) && seq > 0
}

func (v *verification) load() error {
	known, _, err := newestCheckpoints(v, v.Store, v.project.ID)
	if err != nil {
		return err
	}
	v.pruned = known.Prune
	v.checkpoints = map[string]map[uint64]*compliance.Checkpoint{chain.Directory: {}, chain.Ledger: {}}
	docs, err := v.Store.List(v, directory.List{Prefix: checkpointsOf(v.project.ID), Limit: verifyCheckpoints})
	for _, d := range docs {
		if c, err := decodeCheckpoint(d); err == nil && v.checkpoints[c.Object] != nil {
			v.checkpoints[c.Object][c.Seq] = &c
		}
	}
	for object, c := range known.Daily {
		if v.checkpoints[object] != nil {
			v.checkpoints[object][c.Seq] = &c
		}
	}
	return err
}

// chain verifies a chain from entry seq on. If seq is 0, it begins at the start of the chain. next is the entry to
// continue with. It is 0 if the end was reached or the chain is broken.
func (v *verification) chain(object string, seq uint64) (next uint64, err error) {
	state, err := chainPage(v, v.Store, v.project, object, 0, 0)
	if err != nil {
		return 0, err
	}
	if state.Head.Seq == 0 {
		v.end(object, 0)
		return 0, nil
	}
	w, err := v.walk(object, max(seq, state.Oldest), &state)
	if err != nil || !v.view.OK {
		return 0, err
	}
	for v.view.OK && w.Seq < state.Head.Seq {
		if v.view.Entries >= verifyEntries {
			return w.Seq + 1, nil
		}
		page, err := chainPage(v, v.Store, v.project, object, w.Seq+1, chain.MaxPage)
		if err != nil {
			return 0, err
		}
		if len(page.Entries) == 0 {
			v.broken(object, w.Seq+1, "missing")
		}
		for i := 0; i < len(page.Entries) && v.view.OK; i++ {
			v.entry(w, &page.Entries[i])
		}
	}
	if v.view.OK {
		v.end(object, w.Seq)
	}
	return 0, nil
}

// walk prepares a walk over the entries from number first on. It is anchored in the previous entry, or in the
// checkpoint of the last pruned entry.
func (v *verification) walk(object string, first uint64, state *chain.PageReply) (*chain.Walk, error) {
	w := &chain.Walk{ID: chainID(v.project, object), Seq: first - 1}
	if first > state.Oldest {
		before, err := entryAt(v, v.Store, v.project, object, first-1)
		w.Previous, w.TimeMs, w.Anchored = before.Hash, before.TimeMs, true
		return w, err
	}
	if first == 1 || len(v.public) == 0 {
		return w, nil // entry 1 has no predecessor; without keys, nothing can prove that entries were pruned
	}
	c, ok := v.pruned[object]
	e, err := entryAt(v, v.Store, v.project, object, first)
	switch {
	case err != nil:
		return w, err
	case !ok || c.Seq != first-1:
		v.broken(object, first, "the entries before are missing, and no checkpoint says that they were pruned")
	case c.Verify(v.public) != nil:
		v.broken(object, first, "the checkpoint of the pruned entries "+c.Verify(v.public).Error())
	case e.Previous.String() != c.Hash:
		v.broken(object, first, "does not continue the pruned entries: replaced")
	}
	return w, nil
}

// entry verifies one entry, and its checkpoint if it has one.
func (v *verification) entry(w *chain.Walk, e *chain.Entry) {
	switch problem := w.Next(e); problem {
	case chain.OK:
	case chain.Missing:
		v.broken(w.ID.Object, w.Seq+1, "missing")
		return
	default:
		v.broken(w.ID.Object, e.Seq, chainProblems[problem])
		return
	}
	v.view.Entries++
	c := v.checkpoints[w.ID.Object][e.Seq]
	if c == nil || len(v.public) == 0 {
		return
	}
	v.view.Checkpoints++
	if err := c.Verify(v.public); err != nil {
		v.broken(w.ID.Object, e.Seq, "its checkpoint "+err.Error())
	} else if c.Hash != e.Hash.String() {
		v.broken(w.ID.Object, e.Seq, "not the entry that was signed at "+c.Time+": this one, or one before, was replaced")
	}
}

// end reports entries that a checkpoint covers but that no longer exist.
func (v *verification) end(object string, last uint64) {
	covered := last
	for seq := range v.checkpoints[object] {
		covered = max(covered, seq)
	}
	if covered > last {
		at := v.checkpoints[object][covered].Time
		v.broken(object, last+1, "missing: the checkpoint of "+at+" covers the entries up to "+strconv.FormatUint(covered, 10))
	}
}

func (v *verification) broken(object string, seq uint64, problem string) {
	v.view.OK, v.view.Broken = false, &brokenView{object, seq, problem}
}
