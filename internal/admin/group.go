package admin

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/postern-ai/postern/internal/nearest"
)

// groupPrefix begins the IDs of groups.
const groupPrefix = "grp_"

// maxDepth limits the length of a path in a malformed list of groups.
const maxDepth = 8

// IsGroupID reports whether a reference to a group is an ID and not a name or path.
func IsGroupID(ref string) bool { return ref == RootID || strings.HasPrefix(ref, groupPrefix) }

// FindGroup returns the group with the given ID (grp_… or root), path or name. A path has the names from the top down,
// such as Research/Vision.
func (c *Client) FindGroup(ctx context.Context, ref string) (Group, error) {
	if IsGroupID(ref) {
		var g Group
		err := c.Do(ctx, http.MethodGet, GroupPath(ref), nil, &g)
		return g, err
	}
	all, err := c.Groups(ctx)
	if err != nil {
		return Group{}, err
	}
	return PickGroup(all, ref)
}

// PickGroup returns the group in a list that has the given path. If there is none, it returns the only group with the
// given name.
func PickGroup(all []Group, ref string) (Group, error) {
	var named, at []Group
	var names []string
	for _, g := range all {
		if g.ID == RootID {
			continue
		}
		names = append(names, g.Name)
		if GroupNames(all, g.ID) == ref {
			at = append(at, g)
		}
		if g.Name == ref {
			named = append(named, g)
		}
	}
	if len(at) == 0 {
		at = named
	}
	switch len(at) {
	case 0:
		return Group{}, fmt.Errorf("there is no group %q%s", ref, nearest.Hint(ref, names))
	case 1:
		return at[0], nil
	}
	var paths []string
	for _, g := range at {
		paths = append(paths, GroupNames(all, g.ID)+" ("+g.ID+")")
	}
	return Group{}, fmt.Errorf("group %q: the name is not unique; use the path or the ID: %s", ref, strings.Join(paths, ", "))
}

// GroupNames returns the path of a group in a list: the names from the top down, with / between them. For the
// deployment itself, the path is its ID. For a group that is not in the list, it is empty.
func GroupNames(all []Group, id string) (path string) {
	for range maxDepth {
		i := slices.IndexFunc(all, func(g Group) bool { return g.ID == id })
		switch {
		case i < 0:
			return path
		case id == RootID && path == "":
			return RootID
		case id == RootID:
			return path
		case path != "":
			path = "/" + path
		}
		path = all[i].Name + path
		if all[i].Parent == nil {
			return path
		}
		id = *all[i].Parent
	}
	return path
}
