// Package apply uses the admin API to make a deployment match a file. The file contains groups with their budgets, and
// projects with their limits, budgets, routes, Governor settings, keys and model registry. The package computes the difference and makes the
// changes one by one. Each change is based on the version from which it was computed. Things that the file does not
// name stay as they are.
package apply

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/postern-ai/postern/internal/nearest"
	"github.com/postern-ai/postern/internal/yamltree"
)

// MaxFileBytes is the maximum size of a file.
const MaxFileBytes = 4 << 20

// File is a parsed file.
type File struct {
	groups    []group
	hasGroups bool // the file has a list of groups, which may be empty
	projects  []project
}

// project is a project in the file. Values are JSON.
type project struct {
	line     int
	id, name string
	fields   map[string]json.RawMessage // fields of the API's project, without the fields below
	status   string                     // empty: not declared
	governor map[string]json.RawMessage // nil: not declared
	keys     []key
	hasKeys  bool
	registry *registry
}

type key struct {
	line     int
	id, name string
	fields   map[string]json.RawMessage // without status
	status   string
}

type registry struct {
	enforcement string
	models      []entry
}

type entry struct {
	line          int
	model, state  string
	reason        string
	keys          []string                   // names or IDs
	fields        map[string]json.RawMessage // owner, purpose, …
	sunsetAt      json.RawMessage
	hasSunset     bool
	declaresState bool
}

// shape describes the fields of a map. nil allows any value.
type shape map[string]shape

// many marks the shape of a list's elements, and any marks the shape of a map's values under arbitrary keys.
const many, anyKey = "[]", "{}"

var (
	targetShape  = shape{"model": nil, "weight": nil}
	actions      = shape{"input": nil, "output": nil, "system": nil}
	keyShape     = shape{"id": nil, "name": nil, "kind": nil, "environment": nil, "models": nil, "permissions": nil, "budget": nil, "budgetPeriod": nil, "enforce": nil, "limits": {"requestsPerSecond": nil, "requestsPerDay": nil, "tokensPerMinute": nil, "requestsPerPeriod": nil, "tokensPerPeriod": nil}, "expiresAt": nil, "status": nil}
	entryShape   = shape{"model": nil, "state": nil, "reason": nil, "owner": nil, "purpose": nil, "riskTier": nil, "dataClasses": nil, "regions": nil, "retention": nil, "links": nil, "reviewDate": nil, "successor": nil, "sunsetAt": nil, "keys": nil}
	projectShape = shape{
		"id": nil, "name": nil, "plan": nil, "budget": nil, "budgetPeriod": nil, "enforce": nil, "region": nil, "cache": nil, "cacheTtlSeconds": nil, "unbounded": nil, "recordProviderErrors": nil, "contact": nil, "group": nil, "limits": periodLimits, "models": nil, "status": nil,
		"routes": {anyKey: {"strategy": nil, "targets": {many: targetShape}}}, "alerts": {"url": nil}, "governor": governorShape,
		"keys": {many: keyShape}, "registry": {"enforcement": nil, "models": {many: entryShape}},
	}
	governorShape = shape{
		"enabled": nil, "strictMode": nil, "autoApproveThreshold": nil, "reversible": nil, "unchecked": nil, "rules": {anyKey: actions},
		"keywords":   {many: {"name": nil, "severity": nil, "input": nil, "output": nil, "system": nil, "matchCase": nil, "words": nil}},
		"patterns":   {many: {"name": nil, "pattern": nil, "severity": nil, "input": nil, "output": nil, "system": nil}},
		"exemptions": {many: {"rule": nil, "value": nil, "pattern": nil}}, "exemptAgentAddresses": nil,
		"answerSchema": {"schema": nil, "action": nil, "severity": nil}, "maxInputCharacters": nil, "maxOutputCharacters": nil,
		"classifier": {"kind": nil, "model": nil, "mode": nil, "timeoutMs": nil, "onFailure": nil, "threshold": nil},
	}
	fileShape = shape{"groups": {many: groupShape}, "projects": {many: projectShape}}
)

// Parse parses a file. Its error lists every problem with its line under the file's name.
func Parse(name string, text []byte) (*File, error) {
	if len(text) > MaxFileBytes {
		return nil, fmt.Errorf("%s must not be larger than %d bytes", name, MaxFileBytes)
	}
	root, err := yamltree.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := &reader{name: name}
	r.check(root, fileShape, "")
	f := &File{}
	if len(r.problems) == 0 {
		projects := root.Member("projects")
		if projects == nil || projects.Kind != yamltree.List {
			// An empty file may come from a failed template. With --prune, it must not mean "no projects".
			return nil, fmt.Errorf("%s: the list projects is missing; a deployment without projects is projects: []", name)
		}
		r.groups(f, root.Member("groups"))
		for i, node := range projects.List {
			f.projects = append(f.projects, r.project(node, fmt.Sprintf("projects[%d]", i)))
		}
		r.unique(f)
	}
	if len(r.problems) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(r.problems, "\n"))
	}
	return f, nil
}

type reader struct {
	name     string
	problems []string
}

func (r *reader) fail(line int, format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf("%s: line %d: ", r.name, line)+fmt.Sprintf(format, args...))
}

// check reports values of the wrong kind, and fields that are not in the shape. Null is allowed everywhere, because
// the API decides where it has a meaning.
func (r *reader) check(n *yamltree.Node, s shape, path string) {
	if s == nil || n.Kind == yamltree.Null {
		return
	}
	if element, isList := s[many]; isList {
		if n.Kind != yamltree.List {
			r.fail(n.Line, "%s must be a list, got %s", path, n.Kind)
			return
		}
		for i, one := range n.List {
			if one.Kind != yamltree.Map {
				r.fail(one.Line, "%s[%d] must be a map, got %s", path, i, one.Kind)
				continue
			}
			r.check(one, element, fmt.Sprintf("%s[%d]", path, i))
		}
		return
	}
	if n.Kind != yamltree.Map {
		r.fail(n.Line, "%s must be a map, got %s", firstOf(path, "the file"), n.Kind)
		return
	}
	for _, m := range n.Members {
		inner, known := s[m.Key]
		if value, isAny := s[anyKey]; isAny {
			inner, known = value, true
		}
		if !known {
			r.fail(m.Line, "unknown field %q%s", join(path, m.Key), nearest.Hint(m.Key, keysOf(s)))
			continue
		}
		r.check(m.Value, inner, join(path, m.Key))
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func keysOf(s shape) (keys []string) {
	for name := range s {
		keys = append(keys, name)
	}
	slices.Sort(keys)
	return keys
}

// text takes a field that must be a string. It returns an empty string if the field is absent.
func (r *reader) text(n *yamltree.Node, member, path string) string {
	value := n.Member(member)
	if value == nil {
		return ""
	}
	if value.Kind != yamltree.String || value.Text == "" {
		r.fail(value.Line, "%s must be a non-empty string, got %s", join(path, member), value.Kind)
	}
	return value.Text
}

// choice does the same as text but allows only some values.
func (r *reader) choice(n *yamltree.Node, member, path string, allowed ...string) string {
	text := r.text(n, member, path)
	if text != "" && !slices.Contains(allowed, text) {
		r.fail(n.Member(member).Line, "%s must be %s, got %q", join(path, member), strings.Join(allowed, " or "), text)
	}
	return text
}

// rest returns the fields that are not in taken, as JSON.
func rest(n *yamltree.Node, taken ...string) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	for _, m := range n.Members {
		if !slices.Contains(taken, m.Key) {
			fields[m.Key] = m.Value.JSON()
		}
	}
	return fields
}

// identity takes id and name. At least one of them is required.
func (r *reader) identity(n *yamltree.Node, path, prefix string) (id, name string) {
	id, name = r.text(n, "id", path), r.text(n, "name", path)
	if id == "" && name == "" {
		r.fail(n.Line, "%s must have a name or an id", path)
	}
	if id != "" && !strings.HasPrefix(id, prefix) {
		r.fail(n.Member("id").Line, "%s.id must start with %s, got %q", path, prefix, id)
	}
	return id, name
}

func (r *reader) project(n *yamltree.Node, path string) project {
	p := project{line: n.Line, fields: rest(n, "id", "status", "governor", "keys", "registry")}
	p.id, p.name = r.identity(n, path, "proj_")
	p.status = r.choice(n, "status", path, "active", "archived")
	r.cache(n, path)
	r.amounts(n, path, true)
	if g := n.Member("governor"); g != nil && g.Kind == yamltree.Map {
		p.governor = rest(g)
	}
	if keys := n.Member("keys"); keys != nil {
		p.hasKeys = true
		for i, node := range keys.List {
			p.keys = append(p.keys, r.key(node, fmt.Sprintf("%s.keys[%d]", path, i)))
		}
	}
	if node := n.Member("registry"); node != nil && node.Kind == yamltree.Map {
		p.registry = r.registry(node, path+".registry")
	}
	return p
}

// cache checks that the scope and the TTL agree: if the cache is off, the TTL must be 0, and otherwise it must not be
// 0. The API would not notice a contradiction, because a run sends only fields that differ from the current ones.
// Each run would then undo one of the two fields.
func (r *reader) cache(n *yamltree.Node, path string) {
	scope, ttl := r.choice(n, "cache", path, "off", "colo", "global"), n.Member("cacheTtlSeconds")
	if scope == "" || ttl == nil || ttl.Kind != yamltree.Number {
		return
	}
	if zero := sameNumber(ttl.Text, "0"); zero != (scope == "off") {
		r.fail(ttl.Line, "%s must be 0 if cache is off, and greater otherwise, got %s with cache %s", join(path, "cacheTtlSeconds"), ttl.Text, scope)
	}
}

func (r *reader) key(n *yamltree.Node, path string) key {
	k := key{line: n.Line, fields: rest(n, "id", "status")}
	k.id, k.name = r.identity(n, path, "key_")
	k.status = r.choice(n, "status", path, "active", "inactive")
	r.amounts(n, path, false)
	return k
}

func (r *reader) registry(n *yamltree.Node, path string) *registry {
	found := &registry{enforcement: r.choice(n, "enforcement", path, "off", "warn", "enforce")}
	models := n.Member("models")
	if models == nil {
		return found
	}
	for i, node := range models.List {
		at := fmt.Sprintf("%s.models[%d]", path, i)
		e := entry{line: node.Line, model: r.text(node, "model", at), reason: r.text(node, "reason", at), fields: rest(node, "model", "state", "reason", "keys", "sunsetAt")}
		if e.model == "" {
			r.fail(node.Line, "%s must have a model", at)
		}
		e.state = r.choice(node, "state", at, "pending", "approved", "restricted", "deprecated", "retired", "blocked")
		if e.declaresState = e.state != ""; !e.declaresState && (e.reason != "" || node.Member("keys") != nil) {
			r.fail(node.Line, "%s: reason and keys belong to a state", at)
		}
		if keys := node.Member("keys"); keys != nil {
			for _, one := range keys.List {
				e.keys = append(e.keys, one.Text)
			}
		}
		if sunset := node.Member("sunsetAt"); sunset != nil {
			e.sunsetAt, e.hasSunset = sunset.JSON(), true
		}
		found.models = append(found.models, e)
	}
	return found
}

// unique reports projects, keys and models that appear twice. The second one would undo the first.
func (r *reader) unique(f *File) {
	projects := map[string]bool{}
	for i := range f.projects {
		p := &f.projects[i]
		r.once(projects, p.line, "project", p.id, p.name)
		keys, models := map[string]bool{}, map[string]bool{}
		for _, k := range p.keys {
			r.once(keys, k.line, "key", k.id, k.name)
		}
		if p.registry != nil {
			for _, e := range p.registry.models {
				r.once(models, e.line, "model", "", e.model)
			}
		}
	}
}

func (r *reader) once(seen map[string]bool, line int, what, id, name string) {
	for _, text := range []string{id, name} {
		if text != "" && seen[text] {
			r.fail(line, "the %s %q is there twice", what, text)
		}
		seen[text] = true
	}
}
