package inventory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/policy"
)

// Bounds of a model registry.
const (
	maxHistory      = 50       // maximum number of state changes, and maximum number of approvals, in an entry; the audit log has all of them
	maxHistoryBytes = 16 << 10 // of both together, as JSON
	entryIDBytes    = 12
)

// Entry is an entry in a project's model registry. Its JSON form is both the Directory document under doc.RegistryKey
// and the API's view. Each model in the catalog has at most one entry per project.
type Entry struct {
	ID           string     `json:"id"`
	Model        string     `json:"model"` // name in the catalog
	State        State      `json:"state"`
	Owner        Optional   `json:"owner"`
	Purpose      Optional   `json:"purpose"`
	RiskTier     Optional   `json:"riskTier"`
	DataClasses  TextList   `json:"dataClasses"`
	Regions      TextList   `json:"regions"`
	Retention    Optional   `json:"retention"`
	Links        TextList   `json:"links"`
	ReviewDate   Instant    `json:"reviewDate"`
	Successor    Optional   `json:"successor"` // name of a model in the catalog
	Keys         TextList   `json:"keys"`      // IDs of the keys that may use the model; empty if the model was never restricted
	DeprecatedAt Instant    `json:"deprecatedAt"`
	SunsetAt     Instant    `json:"sunsetAt"`
	Approvals    []Approval `json:"approvals"` // oldest first
	History      []Move     `json:"history"`   // likewise
	Version      uint64     `json:"version"`   // version of the document; 0: there is no document
	CreatedAt    Instant    `json:"createdAt"`
	UpdatedAt    Instant    `json:"updatedAt"`
	Overdue      *bool      `json:"reviewOverdue,omitempty"` // only in responses
	*modelUse               // only in responses to GET
}

// Approval is the record of a transition to approved or restricted.
type Approval struct {
	By     string  `json:"by"` // the actor, as in the audit log
	At     Instant `json:"at"`
	Reason string  `json:"reason"`
	State  State   `json:"state"`
}

// Move is the record of a transition.
type Move struct {
	From   State    `json:"from"`
	To     State    `json:"to"`
	By     string   `json:"by"`
	At     Instant  `json:"at"`
	Reason Optional `json:"reason"`
}

// State is a registry state that is encoded in JSON as its name. 0 is "discovered", the state of a model without an
// entry.
type State doc.RegistryState

// Discovered is the name of the state of a model without an entry.
const Discovered = "discovered"

// String returns the API's name for the state.
func (s State) String() string {
	if s == 0 {
		return Discovered
	}
	return policy.StateWord(doc.RegistryState(s))
}

// MarshalJSON encodes the state's name.
func (s State) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// UnmarshalJSON decodes the state's name. An unknown name is an error.
func (s *State) UnmarshalJSON(data []byte) error {
	var word string
	if err := json.Unmarshal(data, &word); err != nil {
		return err
	}
	state, ok := policy.StateOf(word)
	if !ok && word != Discovered {
		return errors.New("unknown registry state")
	}
	*s = State(state)
	return nil
}

// Optional is a string that becomes null in JSON if it is empty.
type Optional string

// MarshalJSON encodes the string or null.
func (o Optional) MarshalJSON() ([]byte, error) { return json.Marshal(kernel.NullIfEmpty(string(o))) }

// TextList is a list that becomes [] in JSON even if it is nil.
type TextList []string

// MarshalJSON encodes the list.
func (t TextList) MarshalJSON() ([]byte, error) { return json.Marshal(append([]string{}, t...)) }

// Instant is a time in Unix milliseconds. In JSON, it is an RFC 3339 time in UTC, or null if it is 0.
type Instant uint64

// MarshalJSON encodes the time or null.
func (t Instant) MarshalJSON() ([]byte, error) {
	return json.Marshal(kernel.TimestampOrNull(uint64(t)))
}

// UnmarshalJSON decodes what MarshalJSON encodes.
func (t *Instant) UnmarshalJSON(data []byte) error {
	var at *time.Time
	if err := json.Unmarshal(data, &at); err != nil || at == nil {
		return err
	}
	*t = Instant(at.UnixMilli())
	return nil
}

// EntryID returns the ID of a model's entry. The ID is derived from the model's name, so a model cannot have two
// entries.
func EntryID(model string) string {
	sum := sha256.Sum256([]byte(model))
	return kernel.EntryPrefix + hex.EncodeToString(sum[:entryIDBytes])
}

// IsOverdue reports whether the entry's review date has passed. A retired model needs no review.
func (e *Entry) IsOverdue(nowMs uint64) bool {
	return e.ReviewDate != 0 && uint64(e.ReviewDate) < nowMs && e.State != State(doc.RegistryRetired)
}

// Compact returns the part of the entry that the gateway needs to enforce the entry.
func (e *Entry) Compact() doc.RegistryModel {
	m := doc.RegistryModel{Model: e.Model, State: doc.RegistryState(e.State)}
	switch m.State {
	case doc.RegistryRestricted:
		m.Keys = e.Keys
	case doc.RegistryDeprecated:
		m.Keys, m.Successor = e.Keys, string(e.Successor)
		m.DeprecatedMs, m.SunsetMs = uint64(e.DeprecatedAt), uint64(e.SunsetAt)
	case doc.RegistryRetired, doc.RegistryBlocked:
		m.Successor = string(e.Successor)
	}
	return m
}

// Encode returns the entry's Directory document.
func (e Entry) Encode() ([]byte, error) {
	e.Overdue, e.modelUse = nil, nil
	return kernel.Encode(e)
}

// Trim drops the oldest records of a history that has become too long.
func (e *Entry) Trim() {
	e.History = e.History[max(0, len(e.History)-maxHistory):]
	e.Approvals = e.Approvals[max(0, len(e.Approvals)-maxHistory):]
	for {
		text, err := kernel.Encode(map[string]any{"approvals": e.Approvals, "history": e.History})
		if err != nil || len(text) <= maxHistoryBytes || len(e.History)+len(e.Approvals) < 2 {
			return
		}
		if len(e.Approvals) > 0 && (len(e.History) == 0 || e.Approvals[0].At < e.History[0].At) {
			e.Approvals = e.Approvals[1:]
		} else {
			e.History = e.History[1:]
		}
	}
}

func decodeEntry(d directory.Document) (e Entry, err error) {
	err = json.Unmarshal(d.Value, &e)
	e.Version = d.Version
	return e, err
}

// entryPage is the number of entries that one call reads. An entry is at most about 45 KB.
const entryPage = 100

// readAll reads all entries of a project's registry, sorted by model name.
func readAll(ctx context.Context, cp *kernel.Plane, projectID string) (all []Entry, err error) {
	query := directory.List{Prefix: doc.RegistryOf(projectID), Limit: entryPage}
	for {
		docs, err := cp.Store.List(ctx, query)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			e, err := decodeEntry(d)
			if err != nil {
				return nil, err
			}
			all = append(all, e)
			query.After = d.Key
		}
		if len(docs) < entryPage {
			break
		}
	}
	kernel.SortBy(all, func(a, b *Entry) int { return strings.Compare(a.Model, b.Model) })
	return all, nil
}

// Read reads an entry. The error is kernel.ErrNotFound if the model has no entry.
func Read(ctx context.Context, cp *kernel.Plane, projectID, id string) (Entry, error) {
	found, err := cp.Store.Document(ctx, doc.RegistryKey(projectID, id))
	if err != nil {
		return Entry{}, err
	}
	return decodeEntry(found)
}
