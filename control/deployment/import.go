package deployment

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/move"
)

// importKey is the key of the Directory document about the last import.
const importKey = "i/import"

const maxImportProjects = 10_000

// importState is the document under importKey. An interrupted import is repeated from its beginning. Until it is
// finished, the objects of its projects may be overwritten.
type importState struct {
	Import   string   `json:"import"` // SHA-256 of the file
	Projects []string `json:"projects"`
	Finished bool     `json:"finished"`
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
	value, given := f.Take("projects")
	if given && (json.Unmarshal(value, &ids) != nil || ids == nil) {
		given = false
	}
	if !given || len(ids) > maxImportProjects || slices.ContainsFunc(ids, func(id string) bool { return !kernel.IsID(id, kernel.ProjectPrefix) }) {
		f.Problem("projects", "must be an array of up to 10000 project IDs")
		return nil
	}
	return ids
}

// beginImport serves POST /api/admin/import {"import","projects"}. The request announces the projects in a file. None
// of them may exist yet.
func (h *handler) beginImport(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	s := importState{Import: takeImportID(f), Projects: takeImportProjects(f)}
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

type importPage struct {
	importID    string
	object      movedObject
	project     string // of a meter
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
		p.project = p.object.name
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
	command, err := h.checkPage(&p, s.Projects)
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

// checkPage checks the rows for an object. Each row must be of the object's own kind and belong to the import's
// projects.
func (h *handler) checkPage(p *importPage, projects []string) (command move.Load, err error) {
	o := p.object
	if o.class != abi.ClassDirectory && !slices.Contains(projects, p.project) {
		return command, kernel.Invalid(fault.Detail{Field: "project", Message: "must be one of the import's projects" + kernel.Got(p.project)})
	}
	command.Last = p.last
	if p.first && o.class != abi.ClassDirectory {
		command.Remove = pageRows[o.class]
	}
	for i := range p.rows {
		row := abi.Row{Key: p.rows[i].Key, Value: p.rows[i].Value}
		if problem := h.rowProblem(p, row, projects); problem != "" {
			return command, kernel.Invalid(rowProblem(i, problem))
		}
		if i > 0 && row.Key <= p.rows[i-1].Key {
			return command, kernel.Invalid(rowProblem(i, "must have a key that sorts after the key of the previous row"))
		}
		command.Rows = append(command.Rows, row)
	}
	return command, nil
}

func (h *handler) rowProblem(p *importPage, row abi.Row, projects []string) string {
	const foreign = "is not a row of this object or of this import"
	switch {
	case !isRowKey(row.Key):
		return "must have a key of 1 to 1024 printable ASCII characters"
	case len(row.Value) > maxRowValueBytes:
		return "must have a value of at most 2000000 bytes"
	case p.object.class == abi.ClassKeyMeter && keymeter.CheckMoved(row, p.project) != nil,
		p.object.class == abi.ClassLedger && ledger.CheckMoved(row) != nil:
		return foreign
	case p.object.class != abi.ClassDirectory:
		return ""
	}
	project, ok := movedDirectoryRow(row)
	if !ok || project != "" && !slices.Contains(projects, project) {
		return foreign
	}
	return h.documentProblem(row)
}

// documentProblem describes why this deployment cannot use a document.
func (h *handler) documentProblem(row abi.Row) string {
	d, ok, err := directory.MovedDocument(row)
	switch {
	case !ok:
		return ""
	case err != nil:
		return "is malformed"
	case strings.HasPrefix(d.Key, doc.KeysOf("")[:2]):
		k, err := directory.DecodeKey(d)
		if err != nil || doc.KeyKey(k.ProjectID, k.ID) != d.Key || !kernel.IsSHA256(k.Hash) {
			return "is malformed"
		}
	case strings.HasPrefix(d.Key, doc.ProjectKey("")):
		p, err := directory.DecodeProject(d)
		if err != nil || doc.ProjectKey(p.ID) != d.Key {
			return "is malformed"
		}
		return h.projectProblem(&p)
	}
	return ""
}

// projectProblem describes what the deployment lacks for a project.
func (h *handler) projectProblem(p *directory.Project) string {
	if !slices.Contains(settings.PlanNames(h.Plane), p.Plan) {
		return "is a project with the plan " + p.Plan + ", which this deployment's catalog does not have; set POSTERN_CATALOG as the exported deployment has it"
	}
	for i := range p.Policy.ProviderKeys {
		if k := settings.ViewProviderKey(h.Plane, &p.Policy.ProviderKeys[i]); !k.Usable {
			return "is a project whose key for " + k.Provider + " is sealed with the master key " + k.MasterKeyID +
				"; add that key to POSTERN_MASTER_KEYS"
		}
	}
	return ""
}

// finishImport serves POST /api/admin/import/finish {"import"}. The request may be repeated.
func (h *handler) finishImport(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	id := takeImportID(f)
	if err := f.Err(); err != nil {
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
