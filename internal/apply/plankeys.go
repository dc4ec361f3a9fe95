package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/postern-ai/postern/internal/admin"
)

// keys plans a project's keys. A key is created once. Its value is not declared.
func (p *planner) keys(t *target, declared *project, o Options) error {
	if !declared.hasKeys && !namesKeys(declared.registry) {
		return nil
	}
	var all []admin.Key
	if t.id != "" {
		var err error
		if all, err = p.client.Keys(p.ctx, t.id, ""); err != nil {
			return err
		}
	}
	for i := range all {
		if all[i].ReplacedBy == nil {
			t.keyIDs[all[i].Name] = all[i].ID
		}
	}
	named := map[string]bool{}
	for i := range declared.keys {
		current, err := findKey(all, &declared.keys[i])
		switch {
		case err != nil:
			return fmt.Errorf("line %d: %w", declared.keys[i].line, err)
		case current == nil:
			p.createKey(t, &declared.keys[i])
		case named[current.ID]:
			p.fail(declared.keys[i].line, "the file names key %s twice", current.ID)
		default:
			named[current.ID] = true
			p.updateKey(t, &declared.keys[i], current)
		}
	}
	if o.Prune && declared.hasKeys {
		for i := range all {
			if one := &all[i]; !named[one.ID] && one.ReplacedBy == nil && one.Status == "active" {
				p.moveKey(t, one.Name, one.ID, one.Status, "inactive")
			}
		}
	}
	return nil
}

func namesKeys(r *registry) bool {
	return r != nil && slices.ContainsFunc(r.models, func(e entry) bool { return len(e.keys) > 0 })
}

// findKey returns the declared key in the project, or nil if it has to be created.
func findKey(all []admin.Key, declared *key) (*admin.Key, error) {
	if declared.id != "" {
		for i := range all {
			if all[i].ID == declared.id {
				return &all[i], nil
			}
		}
		return nil, fmt.Errorf("there is no key %s in the project", declared.id)
	}
	if !slices.ContainsFunc(all, func(one admin.Key) bool { return one.Name == declared.name && one.ReplacedBy == nil }) {
		return nil, nil
	}
	found, err := admin.PickKey(all, declared.name)
	return &found, err
}

func (p *planner) createKey(t *target, declared *key) {
	c := &Change{Action: "create", Kind: "key", Name: declared.name, Project: t.name, Fields: declaredFields(declared.fields, func(name string, raw json.RawMessage) json.RawMessage {
		return keyField(name, raw, nil)
	})}
	p.NewKeys = true
	c.do = func(ctx context.Context, r *run) error {
		var made admin.Key
		if err := r.client.Do(ctx, http.MethodPost, admin.ProjectPath(t.id)+"/keys", body(c.Fields, 0), &made); err != nil {
			if !admin.Answered(err) {
				err = fmt.Errorf("%w; the key may have been created without its value having arrived: see postern keys list, and rotate it", err)
			}
			return err
		}
		c.ID, t.keyIDs[made.Name] = made.ID, made.ID
		if err := r.keep(Secret{Kind: "key", Project: t.name, ProjectID: t.id, Name: made.Name, ID: made.ID, Value: made.Value}); err != nil {
			return fmt.Errorf("the key %s was created, but its value could not be kept; rotate it: %w", made.ID, err)
		}
		return nil
	}
	p.add(c)
	if declared.status == "inactive" {
		p.moveKey(t, declared.name, "", "active", "inactive")
	}
}

func (p *planner) updateKey(t *target, declared *key, current *admin.Key) {
	now, _ := object(encode(current))
	now["permissions"] = sorted(now["permissions"])
	fields := differences(declaredFields(declared.fields, func(name string, raw json.RawMessage) json.RawMessage {
		if raw = keyField(name, raw, now["limits"]); name == "permissions" {
			raw = sorted(raw)
		}
		return raw
	}), now)
	for _, f := range fields {
		if f.Name == "kind" || f.Name == "environment" {
			p.fail(declared.line, "the %s of key %q cannot be changed from %s to %s; create another key", f.Name, current.Name, f.Before, f.After)
		}
	}
	if len(fields) > 0 {
		p.add(&Change{
			Action: "update", Kind: "key", Name: current.Name, ID: current.ID, Project: t.name, Fields: fields,
			do: func(ctx context.Context, r *run) error {
				return r.client.Do(ctx, http.MethodPatch, admin.KeyPath(t.id, current.ID), body(fields, current.Version), nil)
			},
		})
	}
	isActive := current.Status != "inactive" // an expired key is active, too
	if declared.status != "" && isActive != (declared.status == "active") {
		p.moveKey(t, current.Name, current.ID, current.Status, declared.status)
	}
}

// moveKey plans a change of a key's status. An empty id means the key that an earlier change creates.
func (p *planner) moveKey(t *target, name, id, before, after string) {
	action, endpoint := "activate", "/reactivate"
	if after == "inactive" {
		action, endpoint = "deactivate", "/deactivate"
	}
	c := &Change{Action: action, Kind: "key", Name: name, ID: id, Project: t.name, Fields: []Field{{"status", encode(before), encode(after)}}}
	c.do = func(ctx context.Context, r *run) error {
		if c.ID == "" {
			c.ID = t.keyIDs[name]
		}
		return r.client.Do(admin.WithRetry(ctx), http.MethodPost, admin.KeyPath(t.id, c.ID)+endpoint, nil, nil)
	}
	p.add(c)
}

// sorted sorts a list of strings whose order has no meaning.
func sorted(raw json.RawMessage) json.RawMessage {
	var list []string
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return raw
	}
	slices.Sort(list)
	return encode(slices.Compact(list))
}
