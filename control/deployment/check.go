package deployment

import (
	"bytes"
	"context"
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

// checkPage checks the rows for an object. Each row must be of the object's own kind and belong to the import's
// projects and groups.
func (h *handler) checkPage(ctx context.Context, p *importPage, s *importState) (command move.Load, err error) {
	o := p.object
	if o.class == abi.ClassLedger && !s.has(p.project) || o.class == abi.ClassKeyMeter && !slices.Contains(s.Projects, p.project) {
		return command, kernel.Invalid(fault.Detail{Field: "project", Message: "must be one of the import's projects" + kernel.Got(p.project)})
	}
	command.Last = p.last
	if p.first && o.class != abi.ClassDirectory && o.name != doc.Root { // the root's Ledger also has the reports of this deployment's projects
		command.Remove = pageRows[o.class]
	}
	for i := range p.rows {
		row := abi.Row{Key: p.rows[i].Key, Value: p.rows[i].Value}
		problem := h.rowProblem(p, row, s)
		if problem == "" {
			if problem, err = h.presentProblem(ctx, p, row, s); err != nil {
				return command, err
			}
		}
		if problem != "" {
			return command, kernel.Invalid(rowProblem(i, problem))
		}
		if i > 0 && row.Key <= p.rows[i-1].Key {
			return command, kernel.Invalid(rowProblem(i, "must have a key that sorts after the key of the previous row"))
		}
		command.Rows = append(command.Rows, row)
	}
	return command, nil
}

const foreign = "is not a row of this object or of this import"

// presentProblem describes why a row conflicts with the present state of this deployment.
func (h *handler) presentProblem(ctx context.Context, p *importPage, row abi.Row, s *importState) (string, error) {
	switch p.object.class {
	case abi.ClassKeyMeter:
		return h.nodesProblem(ctx, keymeter.MovedNodes(row), p.project, s)
	case abi.ClassLedger:
		return h.nodesProblem(ctx, ledger.MovedNodes(row), p.project, s)
	}
	d, ok, err := directory.MovedDocument(row)
	switch {
	case !ok || err != nil:
		return "", err
	case strings.HasPrefix(d.Key, doc.ProjectKey("")):
		return h.pathsProblem(ctx, d, s)
	case !strings.HasPrefix(d.Key, kernel.CreditsPrefix+kernel.KeyPrefix):
		return "", nil
	}
	// The row does not say to which project the key belongs. The top-ups of a key of this deployment stay.
	present, err := h.Store.ReadForWrite(ctx, d.Key)
	if err == nil && present.Version > 0 && !bytes.Equal(present.Value, d.Value) {
		return foreign, nil
	}
	return "", err
}

// pathsProblem is nodesProblem for the document of a project.
func (h *handler) pathsProblem(ctx context.Context, d directory.Document, s *importState) (problem string, err error) {
	p, err := directory.DecodeProject(d)
	var ids []string
	for i := range p.Paths {
		for _, n := range p.Paths[i].Nodes {
			ids = append(ids, n.ID)
		}
	}
	if err == nil {
		problem, err = h.nodesProblem(ctx, ids, p.ID, s)
	}
	return problem, err
}

// nodesProblem describes why a row of a project must not be stored. The project's objects would call Ledgers of this
// deployment that do not belong to the import. A group that no longer exists is allowed: former paths have such groups.
func (h *handler) nodesProblem(ctx context.Context, ids []string, project string, s *importState) (problem string, err error) {
	for _, id := range ids {
		if id == project || s.isAbove(id) {
			continue
		}
		if !kernel.IsID(id, kernel.GroupPrefix) {
			return foreign, nil
		}
		switch _, err := h.Store.Group(ctx, id); {
		case err == nil:
			return foreign, nil
		case !kernel.IsMissing(err):
			return "", err
		}
	}
	return "", nil
}

func (h *handler) rowProblem(p *importPage, row abi.Row, s *importState) string {
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
	owner, ok := movedDirectoryRow(row)
	if !ok || owner != "" && !s.has(owner) {
		return foreign
	}
	return h.documentProblem(row, s)
}

// documentProblem describes why this deployment cannot use a document.
func (h *handler) documentProblem(row abi.Row, s *importState) string {
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
		return firstOf(pathProblem(&p, s), h.projectProblem(&p))
	case strings.HasPrefix(d.Key, doc.AllGroups):
		g, err := directory.DecodeGroup(d)
		if err != nil || doc.GroupKey(g.ID) != d.Key || (g.ID == doc.Root) != (g.Parent == "") {
			return "is malformed"
		}
		if g.Parent != "" && !s.isAbove(g.Parent) {
			return "is a group below " + g.Parent + ", which the import does not have"
		}
	}
	return ""
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// pathProblem names a group of a project that the import does not have.
func pathProblem(p *directory.Project, s *importState) string {
	ids := []string{}
	if p.Group != "" {
		ids = append(ids, p.Group)
	}
	for i := range p.Chain {
		ids = append(ids, p.Chain[i].ID)
	}
	for i := range p.Restrictions {
		ids = append(ids, p.Restrictions[i].ID)
	}
	for _, id := range ids {
		if !s.isAbove(id) {
			return "is a project below " + id + ", which the import does not have"
		}
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
