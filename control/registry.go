package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/policy"
)

// Bounds of a model registry.
const (
	maxEntries       = 500      // per project
	maxRegistryBytes = 64 << 10 // of the part that is in the project's policy
	maxHistory       = 50       // state changes and approvals that an entry keeps; the audit log has all
	maxHistoryBytes  = 16 << 10 // of both as JSON
	entryIDBytes     = 12
)

// registryRoutes are the registry's endpoints for project keys and operators.
var registryRoutes = []route{
	{http.MethodGet, registryPath, (*handler).listRegistry, doc.MaySeeRegistry},
	{http.MethodPost, registryPath, (*handler).createEntry, doc.MayEditRegistry},
	{http.MethodGet, registryPath + "/{entry}", (*handler).getEntry, doc.MaySeeRegistry},
	{http.MethodPatch, registryPath + "/{entry}", (*handler).patchEntry, doc.MayEditRegistry},
	{http.MethodPost, registryPath + "/{entry}/transitions", (*handler).moveEntry, doc.MayEditRegistry},
}

// registryEntry is an entry of a project's model registry: the Directory's document under doc.RegistryKey, as JSON, and
// the API's view. Every model of the catalog has at most one per project.
type registryEntry struct {
	ID           string         `json:"id"`
	Model        string         `json:"model"` // name in the catalog
	State        registryState  `json:"state"`
	Owner        optional       `json:"owner"`
	Purpose      optional       `json:"purpose"`
	RiskTier     optional       `json:"riskTier"`
	DataClasses  textList       `json:"dataClasses"`
	Regions      textList       `json:"regions"`
	Retention    optional       `json:"retention"`
	Links        textList       `json:"links"`
	ReviewDate   instant        `json:"reviewDate"`
	Successor    optional       `json:"successor"` // name of a model in the catalog
	Keys         textList       `json:"keys"`      // IDs of the keys that may use the model; empty unless it is or was restricted
	DeprecatedAt instant        `json:"deprecatedAt"`
	SunsetAt     instant        `json:"sunsetAt"`
	Approvals    []approval     `json:"approvals"` // oldest first
	History      []registryMove `json:"history"`   // likewise
	Version      uint64         `json:"version"`   // of the document; 0: there is none
	CreatedAt    instant        `json:"createdAt"`
	UpdatedAt    instant        `json:"updatedAt"`
	Overdue      *bool          `json:"reviewOverdue,omitempty"` // only in responses
	*modelUse                   // only in responses to GET
}

// approval is the record of a transition to approved or restricted.
type approval struct {
	By     string        `json:"by"` // the actor in the audit log
	At     instant       `json:"at"`
	Reason string        `json:"reason"`
	State  registryState `json:"state"`
}

// registryMove is the record of a transition.
type registryMove struct {
	From   registryState `json:"from"`
	To     registryState `json:"to"`
	By     string        `json:"by"`
	At     instant       `json:"at"`
	Reason optional      `json:"reason"`
}

// registryState is a state in JSON; 0 is "discovered": a model without an entry.
type registryState doc.RegistryState

const discovered = "discovered"

// String is the API's name of the state.
func (s registryState) String() string {
	if s == 0 {
		return discovered
	}
	return policy.StateWord(doc.RegistryState(s))
}

// MarshalJSON encodes the state's name.
func (s registryState) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// UnmarshalJSON decodes the state's name; an unknown one is an error.
func (s *registryState) UnmarshalJSON(data []byte) error {
	var word string
	if err := json.Unmarshal(data, &word); err != nil {
		return err
	}
	state, ok := policy.StateOf(word)
	if !ok && word != discovered {
		return errors.New("unknown registry state")
	}
	*s = registryState(state)
	return nil
}

// optional is a text that is null in JSON if it is empty.
type optional string

// MarshalJSON encodes the text or null.
func (o optional) MarshalJSON() ([]byte, error) { return json.Marshal(nullIfEmpty(string(o))) }

// textList is a list that is [] in JSON if it is nil.
type textList []string

// MarshalJSON encodes the list.
func (t textList) MarshalJSON() ([]byte, error) { return json.Marshal(append([]string{}, t...)) }

// instant is a time in Unix milliseconds, in JSON as RFC 3339 in UTC; 0 is null.
type instant uint64

// MarshalJSON encodes the time or null.
func (t instant) MarshalJSON() ([]byte, error) { return json.Marshal(timestampOrNull(uint64(t))) }

// UnmarshalJSON decodes what MarshalJSON encodes.
func (t *instant) UnmarshalJSON(data []byte) error {
	var at *time.Time
	if err := json.Unmarshal(data, &at); err != nil || at == nil {
		return err
	}
	*t = instant(at.UnixMilli())
	return nil
}

// entryID is the ID of a model's entry. It depends on the model's name alone, so there cannot be two.
func entryID(model string) string {
	sum := sha256.Sum256([]byte(model))
	return entryPrefix + hex.EncodeToString(sum[:entryIDBytes])
}

// overdue reports whether the entry's review date has passed. A retired model needs no review.
func (e *registryEntry) overdue(nowMs uint64) bool {
	return e.ReviewDate != 0 && uint64(e.ReviewDate) < nowMs && e.State != registryState(doc.RegistryRetired)
}

// compact is the part of the entry that the gateway enforces.
func (e *registryEntry) compact() doc.RegistryModel {
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

// encode returns the document.
func (e registryEntry) encode() ([]byte, error) {
	e.Overdue, e.modelUse = nil, nil
	return encode(e)
}

// trim drops the oldest records of a history that is too long.
func (e *registryEntry) trim() {
	e.History = e.History[max(0, len(e.History)-maxHistory):]
	e.Approvals = e.Approvals[max(0, len(e.Approvals)-maxHistory):]
	for {
		text, err := encode(map[string]any{"approvals": e.Approvals, "history": e.History})
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

func decodeEntry(d directory.Document) (e registryEntry, err error) {
	err = json.Unmarshal(d.Value, &e)
	e.Version = d.Version
	return e, err
}

// entryPage is the number of entries that one call reads; an entry has at most about 45 KB.
const entryPage = 100

// registryEntries reads all entries of a project's registry, in the order of their models' names.
func (h *handler) registryEntries(ctx context.Context, projectID string) (all []registryEntry, err error) {
	query := directory.List{Prefix: doc.RegistryOf(projectID), Limit: entryPage}
	for {
		docs, err := h.store.list(ctx, query)
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
	sortBy(all, func(a, b *registryEntry) int { return strings.Compare(a.Model, b.Model) })
	return all, nil
}

// registryEntry reads an entry; errNotFound if the model has none.
func (h *handler) registryEntry(ctx context.Context, projectID, id string) (registryEntry, error) {
	found, err := h.store.document(ctx, doc.RegistryKey(projectID, id))
	if err != nil {
		return registryEntry{}, err
	}
	return decodeEntry(found)
}
