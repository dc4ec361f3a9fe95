package control

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
)

// Keys of the audit log's documents are auditPrefix, the time from its end backwards, so that the newest is
// first, and random digits. An entry's id is the same with another prefix.
const (
	auditPrefix      = "a/"
	auditIDPrefix    = "aud_"
	auditRandomBytes = 8
	endOfTimeMs      = 1<<48 - 1
	maxEntryBytes    = 8 << 10
)

// auditEntry is who did what, as it is kept and shown.
type auditEntry struct {
	ID      string   `json:"id"`
	Time    string   `json:"time"`  // RFC 3339, UTC, milliseconds
	Actor   string   `json:"actor"` // "owner", "viewer", a person's address, or "unknown"
	Role    role     `json:"role"`  // "none" for the unknown
	Via     string   `json:"via"`
	Action  string   `json:"action"`
	Project *string  `json:"project"`
	Key     *string  `json:"key"`
	Address *string  `json:"address"` // the client's IP address; null: the platform gave none
	Before  fieldsOf `json:"before"`  // the fields that changed; null: it was not there
	After   fieldsOf `json:"after"`
}

// fieldsOf are an object's top-level fields.
type fieldsOf map[string]json.RawMessage

// audited is the write of an audit entry. It belongs into the commit of the change that it tells of, so
// that neither is there without the other.
//
// project and key are ids or empty. before and after are the API's views, or nil: the entry has those of
// their fields that differ, and never a secret.
func (h *handler) audited(c *call, action, project, key string, before, after any) (directory.Write, error) {
	now := uint64(h.Now().UnixMilli())
	var random [auditRandomBytes]byte
	if _, err := io.ReadFull(h.Rand, random[:]); err != nil {
		return directory.Write{}, err
	}
	id := abi.Fixed(endOfTimeMs-now) + hex.EncodeToString(random[:])
	entry := auditEntry{
		ID: auditIDPrefix + id, Time: timestamp(now), Actor: c.who.Name, Role: c.who.Role, Via: c.who.Via,
		Action: action, Project: orNull(project), Key: orNull(key),
	}
	if address, ok := clientAddress(c.request); ok {
		entry.Address = orNull(address.String())
	}
	var err error
	if entry.Before, entry.After, err = differing(before, after); err != nil {
		return directory.Write{}, err
	}
	value, err := entry.encode()
	return directory.Write{Key: auditPrefix + id, Value: value}, err
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// encode is the entry as JSON of at most maxEntryBytes. Of what is too long only the length is kept, of the
// longest fields first.
func (e auditEntry) encode() ([]byte, error) {
	for _, maxField := range []int{maxEntryBytes, 512, 32, 0} {
		cut(e.Before, maxField)
		cut(e.After, maxField)
		if maxField == 0 {
			e.Before, e.After = nil, nil
		}
		value, err := encode(e)
		if err != nil || len(value) <= maxEntryBytes {
			return value, err
		}
	}
	return nil, abi.ErrMalformed // names and ids alone are too long, which they cannot be
}

func cut(f fieldsOf, maxField int) {
	for name, value := range f {
		if len(value) > maxField {
			f[name] = json.RawMessage(`"(` + strconv.Itoa(len(value)) + ` bytes)"`)
		}
	}
}

// sayingWhich is the field of a provider key's view that stays although it is the same on both sides: an
// entry has no other place for it.
const sayingWhich = "provider"

// differing takes two views apart and keeps the fields that are not the same in both.
func differing(before, after any) (was, is fieldsOf, err error) {
	if was, err = apart(before); err != nil {
		return nil, nil, err
	}
	if is, err = apart(after); err != nil {
		return nil, nil, err
	}
	for name, value := range was {
		if other, ok := is[name]; ok && bytes.Equal(value, other) && name != sayingWhich {
			delete(was, name)
			delete(is, name)
		}
	}
	return was, is, nil
}

// apart is a view's fields without its secrets; nil for nil.
func apart(view any) (fieldsOf, error) {
	if view == nil {
		return nil, nil
	}
	text, err := encode(view)
	if err != nil {
		return nil, err
	}
	var f fieldsOf
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	for _, name := range slices.Collect(maps.Keys(f)) {
		if isSecret(name) {
			delete(f, name)
			continue
		}
		if f[name], err = withoutSecrets(f[name]); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// withoutSecrets removes secrets from within a value. Text that cannot have any stays as it is written.
func withoutSecrets(value json.RawMessage) (json.RawMessage, error) {
	if len(value) == 0 || value[0] != '{' && value[0] != '[' {
		return value, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var whole any
	if err := decoder.Decode(&whole); err != nil {
		return nil, err
	}
	strip(whole)
	return encode(whole)
}

func strip(value any) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			strip(element)
		}
	case map[string]any:
		for name, element := range v {
			if isSecret(name) {
				delete(v, name)
				continue
			}
			strip(element)
		}
	}
}

// isSecret knows the fields that views have secrets in. No view has one of these names for anything else.
func isSecret(name string) bool {
	return slices.Contains([]string{"value", "key", "secret", "token", "password"}, strings.ToLower(name))
}
