package ledger

import (
	"crypto/sha256"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/core/keys"
)

// Rows of violations:
//
//	vs                the totals and the pending webhook
//	v/<id>            a violation, newest first
//	w/<time><hash>    its index entry, oldest first, for pruning
//
// The ID consists of the time left until endOfTimeMs at the first violation, and a hash of its key and rule. This
// lets the batches of a minute find the row without an index.
const (
	rowViolations    = "vs"
	rowViolation     = "v/"
	endViolation     = "v0"
	rowViolationAge  = "w/"
	endViolationAge  = "w0"
	idDigits         = 12 // of the time
	idHashBytes      = 8
	endOfTimeMs      = 1<<48 - 1
	pruneAhead       = 16 // number of rows older than KeepViolationDays that one batch deletes
	violationsFormat = 1
)

// ViolationID is the prefix of violations' IDs in the API.
const ViolationID = "vio_"

// Retention of violations. The oldest are deleted first.
const (
	KeepViolations    = 10_000 // per project
	KeepViolationDays = 400
)

// ViolationState is the state of a violation.
type ViolationState uint8

const (
	ViolationOpen ViolationState = iota
	ViolationAcknowledged
	ViolationResolved
	ViolationFalsePositive
	violationStates
)

// ViolationStates are the API's names of states, in the same order.
var ViolationStates = []string{"open", "acknowledged", "resolved", "false_positive"}

// MayBecome reports whether a violation may change from state s to next. A closed violation (resolved or false
// positive) can only be reopened.
func (s ViolationState) MayBecome(next ViolationState) bool {
	return next < violationStates && (s == next || next == ViolationOpen || s == ViolationOpen || s == ViolationAcknowledged)
}

// StoredViolation is a violation as stored in its project's Ledger.
type StoredViolation struct {
	ID    string // the row's ID; the API adds the prefix ViolationID
	KeyID string
	ViolationGroup
	State     ViolationState
	Note      string
	ChangedMs uint64 // time of the last change to state or note; 0: none
	ChangedBy string // the author's key ID, role or email address
	Version   uint64 // starts at 1 and grows by 1 with each change to state or note
}

// fields lists the fields of the row, whose key is the ID.
func (v *StoredViolation) fields(f *abi.Fields) {
	f.Format(violationsFormat)
	v.messageFields(f)
}

func (v *StoredViolation) messageFields(f *abi.Fields) {
	f.String(&v.KeyID)
	ViolationGroupFields(f, &v.ViolationGroup)
	abi.Enum(f, &v.State)
	f.String(&v.Note)
	f.Uint(&v.ChangedMs)
	f.String(&v.ChangedBy)
	f.Uint(&v.Version)
}

// violations is row "vs".
type violations struct {
	count     uint64                  // rows
	byState   [violationStates]uint64 // rows
	events    uint64                  // number of events so far
	outbox    uint64                  // number of the last outbox row
	announced announced
}

func (s *violations) fields(f *abi.Fields) {
	f.Format(violationsFormat)
	f.Uint(&s.count)
	for i := range s.byState {
		f.Uint(&s.byState[i])
	}
	f.Uint(&s.events)
	f.Uint(&s.outbox)
	s.announced.fields(f)
}

func (s *violations) encode() []byte { return abi.EncodeFields(0, 64, s.fields) }

func (c *call) loadViolations() (*violations, error) {
	if c.v != nil {
		return c.v, nil
	}
	c.v = &violations{}
	if row, ok := c.row(rowViolations); ok {
		return c.v, abi.DecodeFields(row, c.v.fields)
	}
	return c.v, nil
}

// groupID returns the ID of a group's row.
func groupID(g *ViolationGroup, keyID string) string {
	sum := sha256.Sum256([]byte(keyID + "\x00" + g.Rule))
	return abi.Fixed(endOfTimeMs-min(g.FirstMs, endOfTimeMs)) + keys.Hex(sum[:idHashBytes])
}

// ageKey returns the key of a violation's index entry. idOfAge is its inverse.
func ageKey(id string) string {
	return rowViolationAge + abi.Fixed(endOfTimeMs-abi.Unfixed(id[:idDigits])) + id[idDigits:]
}

func idOfAge(key string) string {
	id := key[len(rowViolationAge):]
	return abi.Fixed(endOfTimeMs-abi.Unfixed(id[:idDigits])) + id[idDigits:]
}

// violationReads returns the additional rows that batches with violations need.
func (b *batch) violationReads() (ranges []abi.Range) {
	groups := 0
	for i := range b.absorbs {
		a := &b.absorbs[i]
		for j := range a.Violations {
			ranges = append(ranges, abi.Range{Start: rowViolation + groupID(&a.Violations[j], a.KeyID)})
			groups++
		}
	}
	if groups == 0 {
		return nil
	}
	return append(ranges, abi.Range{Start: rowViolations}, rowsChain.Head(),
		abi.Range{Start: rowViolationAge, End: endViolationAge, Limit: uint64(groups + pruneAhead)})
}

// addViolations adds the violations of a batch.
func (c *call) addViolations(a *Absorb) error {
	if len(a.Violations) == 0 {
		return nil
	}
	s, err := c.loadViolations()
	if err != nil {
		return err
	}
	for i := range a.Violations {
		g := &a.Violations[i]
		v := StoredViolation{ID: groupID(g, a.KeyID), KeyID: a.KeyID, ViolationGroup: *g, Version: 1}
		row, found := c.row(rowViolation + v.ID)
		if found {
			if err := abi.DecodeFields(row, v.fields); err != nil {
				return err
			}
			v.Merge(&g.Violation)
		}
		c.putViolation(&v)
		if found {
			continue
		}
		c.put(ageKey(v.ID), ageValue(v.State))
		s.count++
		s.byState[v.State]++
		s.announced.add(&v)
		c.event("violation.created", v.AppendJSON(nil))
	}
	return nil
}

func (c *call) putViolation(v *StoredViolation) {
	c.put(rowViolation+v.ID, abi.EncodeFields(0, 384, v.fields))
}

// event is called for each change to a violation, in the transaction of the change. violation.created and
// violation.changed have the violation as JSON, and violation.pruned has its ID.
func (c *call) event(kind string, violation []byte) {
	c.v.events++
	c.addChange(kind, violation)
}

// pruneViolations deletes the oldest violations: those beyond KeepViolations, and those older than KeepViolationDays
// whose index entries were read.
func (c *call) pruneViolations() {
	if c.v == nil {
		return
	}
	expired := abi.Fixed(c.in.NowMs - min(c.in.NowMs, KeepViolationDays*calendar.DayMs))
	for _, entry := range c.oldestViolations() {
		if c.v.count <= KeepViolations && timeOfAge(entry.Key) >= expired {
			break
		}
		c.deleteViolation(entry)
	}
	c.put(rowViolations, c.v.encode())
}

func timeOfAge(key string) string { return key[len(rowViolationAge):][:idDigits] }

// oldestViolations returns the index entries that were read and those of new rows, oldest first.
func (c *call) oldestViolations() (entries []abi.Row) {
	for _, rows := range [...][]abi.Row{c.in.Rows, c.out.Puts} {
		for _, row := range rows {
			if !strings.HasPrefix(row.Key, rowViolationAge) {
				continue
			}
			at := len(entries)
			for at > 0 && entries[at-1].Key > row.Key {
				at--
			}
			entries = append(entries, abi.Row{})
			copy(entries[at+1:], entries[at:])
			entries[at] = row
		}
	}
	return entries
}

// deleteViolation deletes the violation of an index entry.
func (c *call) deleteViolation(entry abi.Row) {
	id := idOfAge(entry.Key)
	c.delete(entry.Key)
	c.delete(rowViolation + id)
	c.v.count--
	if state := stateOfAge(entry.Value); state < violationStates {
		c.v.byState[state]--
	}
	c.event("violation.pruned", append(jsontext.AppendString([]byte(`{"id":`), ViolationID+id), '}'))
}

// The value of an index entry is the violation's state, so a violation can be deleted without being read.
func ageValue(s ViolationState) []byte { return []byte{byte(s) + 1} }

func stateOfAge(value []byte) ViolationState {
	if len(value) != 1 {
		return violationStates
	}
	return ViolationState(value[0] - 1)
}
