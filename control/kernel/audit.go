package kernel

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
)

// The key of an audit document consists of AuditPrefix, the time left until EndOfTimeMs (so that the newest entry
// sorts first) and random digits. The ID of an entry is the same, except that it begins with AuditIDPrefix.
const (
	AuditPrefix      = "a/"
	AuditIDPrefix    = "aud_"
	auditRandomBytes = 8
	EndOfTimeMs      = 1<<48 - 1
	maxEntryBytes    = 8 << 10
)

// AuditEntry is an audit log entry as it is stored and as the API returns it.
type AuditEntry struct {
	ID      string   `json:"id"`
	Time    string   `json:"time"`  // RFC 3339, UTC, milliseconds
	Actor   string   `json:"actor"` // "owner", "viewer", an email address, a key's ID, or "unknown"
	Role    Role     `json:"role"`  // "none" if the actor is unknown
	Via     string   `json:"via"`
	Action  string   `json:"action"`
	Project *string  `json:"project"`
	Key     *string  `json:"key"`
	Address *string  `json:"address"` // the client's IP address; null: not reported by the platform
	Before  fieldMap `json:"before"`  // previous values of the changed fields; null: the object did not exist
	After   fieldMap `json:"after"`
}

// fieldMap holds top-level fields of an object.
type fieldMap map[string]json.RawMessage

// AuditWrite returns the write of an audit entry with the action of the call's route. The write belongs in the same
// commit as the change that it describes, so neither exists without the other. An entry about a project is also an
// event in the project's chain.
//
// project and key are IDs or empty. before and after are API views or nil. The entry keeps the fields that differ,
// but never secrets.
func (cp *Plane) AuditWrite(c *Call, project, key string, before, after any) (directory.Write, error) {
	now := uint64(cp.Now().UnixMilli())
	var random [auditRandomBytes]byte
	if _, err := io.ReadFull(cp.Rand, random[:]); err != nil {
		return directory.Write{}, err
	}
	id := abi.Fixed(EndOfTimeMs-now) + hex.EncodeToString(random[:])
	entry := AuditEntry{
		ID: AuditIDPrefix + id, Time: Timestamp(now), Actor: c.Actor.Name, Role: c.Actor.Role, Via: c.Actor.Via,
		Action: c.Action, Project: NullIfEmpty(project), Key: NullIfEmpty(key),
	}
	if address, ok := clientAddress(c.Request); ok {
		entry.Address = NullIfEmpty(address.String())
	}
	var err error
	if entry.Before, entry.After, err = diff(before, after); err != nil {
		return directory.Write{}, err
	}
	value, err := entry.encode()
	return directory.Write{Key: AuditPrefix + id, Value: value, Event: directory.Event{Project: project, Kind: c.Action}}, err
}

// encode returns the entry as JSON of at most maxEntryBytes. If it is too long, values are replaced with their
// lengths, starting with the longest.
func (e AuditEntry) encode() ([]byte, error) {
	for _, maxField := range []int{maxEntryBytes, 512, 32, 0} {
		truncate(e.Before, maxField)
		truncate(e.After, maxField)
		if maxField == 0 {
			e.Before, e.After = nil, nil
		}
		value, err := Encode(e)
		if err != nil || len(value) <= maxEntryBytes {
			return value, err
		}
	}
	return nil, abi.ErrMalformed // unreachable: names and IDs alone are shorter
}

func truncate(f fieldMap, maxField int) {
	for name, value := range f {
		if len(value) > maxField {
			f[name] = json.RawMessage(`"(` + strconv.Itoa(len(value)) + ` bytes)"`)
		}
	}
}

// identifyingFields are kept even if they did not change, because nothing else in the entry names the provider, the
// violation, the model or the group.
var identifyingFields = []string{"provider", "violation", "model", "groupId"}

// diff returns the fields of two views that differ.
func diff(before, after any) (oldFields, newFields fieldMap, err error) {
	if oldFields, err = redactedFields(before); err != nil {
		return nil, nil, err
	}
	if newFields, err = redactedFields(after); err != nil {
		return nil, nil, err
	}
	for name, value := range oldFields {
		if other, ok := newFields[name]; ok && bytes.Equal(value, other) && !slices.Contains(identifyingFields, name) {
			delete(oldFields, name)
			delete(newFields, name)
		}
	}
	return oldFields, newFields, nil
}

// redactedFields returns the fields of a view without secrets. For a nil view, it returns nil.
func redactedFields(view any) (fieldMap, error) {
	if view == nil {
		return nil, nil
	}
	text, err := Encode(view)
	if err != nil {
		return nil, err
	}
	var f fieldMap
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	for _, name := range slices.Collect(maps.Keys(f)) {
		if isSecret(name) {
			delete(f, name)
			continue
		}
		if f[name], err = redact(f[name]); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// redact removes secrets nested in a value. Values other than objects and arrays are returned unchanged.
func redact(value json.RawMessage) (json.RawMessage, error) {
	if len(value) == 0 || value[0] != '{' && value[0] != '[' {
		return value, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var whole any
	if err := decoder.Decode(&whole); err != nil {
		return nil, err
	}
	removeSecrets(whole)
	return Encode(whole)
}

func removeSecrets(value any) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			removeSecrets(element)
		}
	case map[string]any:
		for name, element := range v {
			if isSecret(name) {
				delete(v, name)
				continue
			}
			removeSecrets(element)
		}
	}
}

// isSecret reports whether views use a field name for secrets. Such a name is used for nothing else.
func isSecret(name string) bool {
	return slices.Contains([]string{"value", "key", "secret", "token", "password"}, strings.ToLower(name))
}

// AuditRetention is the age at which audit entries are pruned.
const AuditRetention = 400 * 24 * time.Hour
