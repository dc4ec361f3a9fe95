package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/postern-ai/postern/internal/nearest"
)

// ErrAmbiguous means that a name is not unique.
var ErrAmbiguous = errors.New("the name is not unique; use the ID")

// FindProject returns the project with the given ID (proj_…) or name. If several projects have the same name but only
// one of them is active, it returns the active one.
func (c *Client) FindProject(ctx context.Context, ref string) (Project, error) {
	if strings.HasPrefix(ref, "proj_") {
		var p Project
		err := c.Do(ctx, http.MethodGet, ProjectPath(ref), nil, &p)
		return p, err
	}
	all, err := c.Projects(ctx, "")
	if err != nil {
		return Project{}, err
	}
	return PickProject(all, ref)
}

// PickProject does the same as FindProject for a name in a list of projects.
func PickProject(all []Project, name string) (Project, error) {
	var names []string
	var found, active []Project
	for _, p := range all {
		names = append(names, p.Name)
		if p.Name == name {
			found = append(found, p)
			if p.Status == "active" {
				active = append(active, p)
			}
		}
	}
	switch {
	case len(found) == 0:
		return Project{}, fmt.Errorf("there is no project %q%s", name, nearest.Hint(name, names))
	case len(active) == 1:
		return active[0], nil
	case len(found) > 1:
		var ids []string
		for _, p := range found {
			ids = append(ids, p.ID)
		}
		return Project{}, fmt.Errorf("project %q: %w: %s", name, ErrAmbiguous, strings.Join(ids, ", "))
	}
	return found[0], nil
}

// FindKey returns a project's key with the given ID (key_…) or name. It ignores rotated keys, because their
// successors have the same name.
func (c *Client) FindKey(ctx context.Context, projectID, ref string) (Key, error) {
	if strings.HasPrefix(ref, "key_") {
		var k Key
		err := c.Do(ctx, http.MethodGet, KeyPath(projectID, ref), nil, &k)
		return k, err
	}
	all, err := c.Keys(ctx, projectID, "")
	if err != nil {
		return Key{}, err
	}
	return PickKey(all, ref)
}

// PickKey does the same as FindKey for a name in a list of keys.
func PickKey(all []Key, name string) (Key, error) {
	var names, ids []string
	var found []Key
	for _, k := range all {
		if k.ReplacedBy != nil {
			continue
		}
		names = append(names, k.Name)
		if k.Name == name {
			found, ids = append(found, k), append(ids, k.ID)
		}
	}
	switch len(found) {
	case 0:
		return Key{}, fmt.Errorf("there is no key %q in the project%s", name, nearest.Hint(name, names))
	case 1:
		return found[0], nil
	}
	return Key{}, fmt.Errorf("key %q: %w: %s", name, ErrAmbiguous, strings.Join(ids, ", "))
}
