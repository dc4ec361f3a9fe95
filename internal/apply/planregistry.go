package apply

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/postern-ai/postern/internal/admin"
	"github.com/postern-ai/postern/internal/nearest"
)

// entryView contains the fields of a model registry's entry that are compared.
type entryView struct {
	ID, Model, State string
	Keys             []string
	SunsetAt         *string
	Version          uint64
	raw              map[string]json.RawMessage
}

// registry plans the models of a project and then the enforcement. In this order, models are approved before others
// are refused.
func (p *planner) registry(t *target, declared *registry) error {
	current := map[string]*entryView{}
	enforcement := "off"
	if t.id != "" {
		var page struct{ Enforcement string }
		if err := p.client.Do(p.ctx, http.MethodGet, admin.ProjectPath(t.id)+"/models-registry?limit=1", nil, &page); err != nil {
			return err
		}
		enforcement = page.Enforcement
		all, err := p.client.RegistryEntries(p.ctx, t.id)
		if err != nil {
			return err
		}
		for _, raw := range all {
			e := &entryView{}
			if err := json.Unmarshal(raw, e); err != nil {
				return err
			}
			e.raw, _ = object(raw)
			current[e.Model] = e
		}
	}
	for i := range declared.models {
		p.model(t, &declared.models[i], current)
	}
	if declared.enforcement != "" && declared.enforcement != enforcement {
		p.add(&Change{
			Action: "update", Kind: "enforcement", Name: t.name, ID: t.id, Project: t.name, Fields: []Field{{"enforcement", encode(enforcement), encode(declared.enforcement)}},
			do: func(ctx context.Context, r *run) error {
				return r.client.Do(ctx, http.MethodPut, admin.ProjectPath(t.id)+"/models-registry/enforcement", map[string]string{"enforcement": declared.enforcement}, nil)
			},
		})
	}
	return nil
}

// model plans one entry: its creation, its fields and its state.
func (p *planner) model(t *target, declared *entry, all map[string]*entryView) {
	name, known := p.models[declared.model]
	if !known {
		var names []string
		for one := range p.models {
			names = append(names, one)
		}
		slices.Sort(names)
		p.fail(declared.line, "there is no model %q in the catalog%s", declared.model, nearest.Hint(declared.model, names))
		return
	}
	e := all[name]
	if e == nil || e.Version == 0 {
		e = &entryView{Model: name, State: "pending"}
		p.registerModel(t, e, p.entryFields(declared))
	} else {
		p.updateModel(t, e, declared)
	}
	if declared.state == "" || !p.moves(t, declared, e) {
		return
	}
	if slices.Contains([]string{"approved", "restricted", "blocked"}, declared.state) && declared.reason == "" {
		p.fail(declared.line, "a reason is required to make the model %s %s", name, declared.state)
	}
	if slices.Contains([]string{"retired", "blocked"}, e.State) && declared.state != "blocked" && declared.state != "pending" {
		p.moveModel(t, e, &entry{state: "pending"}, e.State)
		p.moveModel(t, e, declared, "pending")
		return
	}
	p.moveModel(t, e, declared, e.State)
}

// entryFields returns the declared fields of an entry as the API shows them.
func (p *planner) entryFields(declared *entry) []Field {
	return declaredFields(declared.fields, func(name string, raw json.RawMessage) json.RawMessage {
		var text string
		switch isText := json.Unmarshal(raw, &text) == nil && !isNull(raw); {
		case name == "reviewDate":
			return moment(raw)
		case !isText:
			return raw
		case name == "successor" && p.models[text] != "":
			return encode(p.models[text])
		case strings.TrimSpace(text) == "":
			return json.RawMessage("null")
		default:
			return encode(strings.TrimSpace(text))
		}
	})
}

func (p *planner) registerModel(t *target, e *entryView, fields []Field) {
	c := &Change{Action: "create", Kind: "model", Name: e.Model, Project: t.name, Fields: fields}
	c.do = func(ctx context.Context, r *run) error {
		request := body(fields, 0)
		request["model"] = e.Model
		return r.changeEntry(ctx, c, e, http.MethodPost, admin.ProjectPath(t.id)+"/models-registry", request)
	}
	p.add(c)
}

func (p *planner) updateModel(t *target, e *entryView, declared *entry) {
	fields := differences(p.entryFields(declared), e.raw)
	if declared.hasSunset && e.State == "deprecated" && (declared.state == "" || declared.state == "deprecated") {
		sunset := []Field{{Name: "sunsetAt", After: moment(declared.sunsetAt)}}
		fields = append(fields, differences(sunset, e.raw)...)
	}
	if len(fields) == 0 {
		return
	}
	c := &Change{Action: "update", Kind: "model", Name: e.Model, ID: e.ID, Project: t.name, Fields: fields}
	c.do = func(ctx context.Context, r *run) error {
		return r.changeEntry(ctx, c, e, http.MethodPatch, admin.ProjectPath(t.id)+"/models-registry/"+e.ID, body(fields, e.Version))
	}
	p.add(c)
}

// moves reports whether the state differs. For a restricted model, it also compares the list of keys.
func (p *planner) moves(t *target, declared *entry, e *entryView) bool {
	if declared.state != e.State || declared.state != "restricted" {
		return declared.state != e.State
	}
	want := t.resolve(declared.keys)
	have := slices.Clone(e.Keys)
	slices.Sort(want)
	slices.Sort(have)
	return !slices.Equal(want, have)
}

// resolve returns the IDs of keys. If a key does not exist yet, it returns the key's name.
func (t *target) resolve(keys []string) (ids []string) {
	for _, one := range keys {
		if id := t.keyIDs[one]; id != "" {
			one = id
		}
		ids = append(ids, one)
	}
	return ids
}

func (p *planner) moveModel(t *target, e *entryView, declared *entry, before string) {
	fields := []Field{{"state", encode(before), encode(declared.state)}}
	if declared.state == "restricted" {
		fields = append(fields, Field{"keys", encode(append([]string{}, e.Keys...)), encode(append([]string{}, declared.keys...))})
	}
	c := &Change{Action: "update", Kind: "model", Name: e.Model, ID: e.ID, Project: t.name, Fields: fields}
	c.do = func(ctx context.Context, r *run) error {
		request := map[string]any{"to": declared.state, "version": e.Version}
		if declared.reason != "" {
			request["reason"] = declared.reason
		}
		if declared.state == "restricted" {
			request["keys"] = t.resolve(declared.keys)
		}
		if declared.state == "deprecated" && declared.hasSunset {
			request["sunsetAt"] = declared.sunsetAt
		}
		return r.changeEntry(ctx, c, e, http.MethodPost, admin.ProjectPath(t.id)+"/models-registry/"+e.ID+"/transitions", request)
	}
	p.add(c)
}
