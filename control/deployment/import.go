package deployment

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/move"
)

// importKey is the key of the Directory document about the last import.
const importKey = "i/import"

const maxImportProjects = 10_000

// maxImportGroups includes the deployment's own document.
const maxImportGroups = doc.MaxGroups + 1

// importState is the document under importKey. An interrupted import is repeated from its beginning. Until it is
// finished, the objects of its projects may be overwritten.
type importState struct {
	Import   string   `json:"import"` // SHA-256 of the file
	Projects []string `json:"projects"`
	Groups   []string `json:"groups,omitempty"`
	Finished bool     `json:"finished"`
}

// has reports whether rows of a project, a group or the deployment itself may be in the file.
func (s *importState) has(id string) bool { return slices.Contains(s.Projects, id) || s.isAbove(id) }

// isAbove reports whether a node can be above the file's projects. With groups, there is also the deployment itself,
// which has their usage.
func (s *importState) isAbove(id string) bool {
	return slices.Contains(s.Groups, id) || id == doc.Root && len(s.Groups) > 0
}

type importView struct {
	Import   string `json:"import"`
	Finished bool   `json:"finished"`
}

func takeImportID(f *kernel.Fields) string {
	id, given := f.Text("import", "")
	switch {
	case !given && len(f.Problems) == 0:
		f.Problem("import", "is required")
	case given && !kernel.IsSHA256(id):
		f.Problem("import", "must be the SHA-256 of the file in lowercase hexadecimal digits"+kernel.Got(id))
	}
	return id
}

func takeImportProjects(f *kernel.Fields) (ids []string) {
	ids, ok := takeIDs(f, "projects", maxImportProjects, func(id string) bool { return kernel.IsID(id, kernel.ProjectPrefix) })
	if !ok {
		f.Problem("projects", "must be an array of up to 10000 project IDs")
	}
	return ids
}

// takeImportGroups takes a field that files without groups do not have.
func takeImportGroups(f *kernel.Fields) (ids []string) {
	if !f.Has("groups") {
		return nil
	}
	ids, ok := takeIDs(f, "groups", maxImportGroups, kernel.IsGroupID)
	if !ok {
		f.Problem("groups", "must be an array of up to 1001 group IDs")
	}
	return ids
}

func takeIDs(f *kernel.Fields, field string, limit int, isID func(string) bool) (ids []string, ok bool) {
	value, given := f.Take(field)
	if !given || json.Unmarshal(value, &ids) != nil || ids == nil || len(ids) > limit || slices.ContainsFunc(ids, func(id string) bool { return !isID(id) }) {
		return nil, false
	}
	return ids, true
}

// beginImport serves POST /api/admin/import {"import","projects","groups"}. The request announces the projects and
// groups in a file. None of them may exist yet.
func (h *handler) beginImport(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	s := importState{Import: takeImportID(f), Projects: takeImportProjects(f), Groups: takeImportGroups(f)}
	if err := f.Err(); err != nil {
		return kernel.Answer{}, err
	}
	err = h.Store.Change(c, func() (kernel.Change, error) {
		write, before, err := h.readImport(c)
		if err != nil {
			return kernel.Change{}, err
		}
		if before.Import == s.Import {
			s.Finished = before.Finished
			return kernel.Change{}, nil
		}
		if before.Import != "" && !before.Finished {
			return kernel.Change{}, kernel.Refuse(fault.Conflict, "import", "cannot begin: the import of another file, with the checksum "+before.Import+
				", is not finished; finish it with that file")
		}
		if err := h.refuseExisting(c, s.Projects); err != nil {
			return kernel.Change{}, err
		}
		if err := h.refuseExistingGroups(c, s.Groups); err != nil {
			return kernel.Change{}, err
		}
		write.Value, err = json.Marshal(s)
		return kernel.Change{Writes: []directory.Write{write}}, err
	})
	return kernel.OK(importView{s.Import, s.Finished}), err
}

func (h *handler) readImport(ctx context.Context) (write directory.Write, s importState, err error) {
	if write, err = h.Store.ReadForWrite(ctx, importKey); err == nil && write.Version > 0 {
		err = json.Unmarshal(write.Value, &s)
	}
	return write, s, err
}

// refuseExisting returns a 409 if any of the projects exists.
func (h *handler) refuseExisting(ctx context.Context, ids []string) error {
	query := directory.List{Prefix: doc.ProjectKey(""), Limit: 1000}
	for {
		docs, err := h.Store.List(ctx, query)
		if err != nil {
			return err
		}
		for _, d := range docs {
			id := strings.TrimPrefix(d.Key, doc.ProjectKey(""))
			if slices.Contains(ids, id) {
				return kernel.Refuse(fault.Conflict, "projects", id+" exists in this deployment; import into one that does not have it")
			}
			query.After = d.Key
		}
		if uint64(len(docs)) < query.Limit {
			return nil
		}
	}
}

// refuseExistingGroups returns a 409 if the file has groups and this deployment has any, or settings of its own node. The
// Ledger of the deployment can only have the usage and the budget of one of them.
func (h *handler) refuseExistingGroups(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	all, err := h.Store.Groups(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	return kernel.Refuse(fault.Conflict, "groups", "cannot be imported, because this deployment has groups or settings of "+doc.Root+"; import into one without them")
}

type importPage struct {
	importID    string
	object      movedObject
	project     string // of a meter; of a Ledger, also the group or the deployment
	region      string
	first, last bool
	rows        []movedRow
}

func readImportPage(c *kernel.Call) (p importPage, err error) {
	f, err := c.Fields()
	if err != nil {
		return p, err
	}
	p.importID = takeImportID(f)
	p.object, _ = takeMovedObject(f)
	p.project, _ = f.Text("project", "")
	if p.object.class == abi.ClassLedger {
		p.project = ownerOf(p.object.name)
	}
	p.region, _ = f.Choice("region", "", kernel.Regions)
	p.first, _ = f.Boolean("first")
	p.last, _ = f.Boolean("last")
	value, given := f.Take("rows")
	if !given || json.Unmarshal(value, &p.rows) != nil {
		f.Problem("rows", "must be an array of objects with a key and a value in base64")
	}
	return p, f.Err()
}

// importRows serves POST /api/admin/import/rows. The rows of an object come in pages. The first page removes the rows
// that an interrupted import left behind.
func (h *handler) importRows(c *kernel.Call) (kernel.Answer, error) {
	p, err := readImportPage(c)
	if err != nil {
		return kernel.Answer{}, err
	}
	_, s, err := h.readImport(c)
	switch {
	case err != nil:
		return kernel.Answer{}, err
	case s.Import != p.importID || s.Finished:
		return kernel.Answer{}, errNoImport
	}
	command, err := h.checkPage(c, &p, &s)
	if err != nil {
		return kernel.Answer{}, err
	}
	for range maxRemoveCalls {
		reply, err := h.Store.Objects.Call(c, p.object.class, p.object.name, p.region, command.Encode())
		if err != nil {
			return kernel.Answer{}, kernel.Unavailable(err)
		}
		loaded, err := move.DecodeLoaded(reply)
		if err != nil || !loaded.Removed {
			return kernel.NoContent(), err
		}
	}
	return kernel.Answer{}, kernel.ErrConflict // another request keeps adding rows
}

var errNoImport = kernel.Refuse(fault.Conflict, "import", "is not in progress; begin it with POST "+importPath)

// finishImport serves POST /api/admin/import/finish {"import"}. The request may be repeated. If the deployment itself has
// a budget, the response confirms that it applies to all projects, imported or not.
func (h *handler) finishImport(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	id := takeImportID(f)
	if err := f.Err(); err != nil {
		return kernel.Answer{}, err
	}
	_, s, err := h.readImport(c)
	if err == nil && s.Import == id && !s.Finished {
		err = h.coverAll(c, h.Plane)
	}
	if err != nil {
		return kernel.Answer{}, err
	}
	err = h.Store.Change(c, func() (kernel.Change, error) {
		write, s, err := h.readImport(c)
		switch {
		case err != nil:
			return kernel.Change{}, err
		case s.Import != id:
			return kernel.Change{}, errNoImport
		case s.Finished:
			return kernel.Change{}, nil
		}
		entry, err := h.AuditWrite(c, "", "", nil, map[string]any{"import": id, "projects": len(s.Projects)})
		if err != nil {
			return kernel.Change{}, err
		}
		s.Finished = true
		write.Value, err = json.Marshal(s)
		return kernel.Change{Writes: []directory.Write{write, entry}}, err
	})
	return kernel.OK(importView{id, true}), err
}
