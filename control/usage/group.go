package usage

import (
	"context"
	"encoding/json"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// groupRow is the usage of a part of a group. Requests counts served requests, because the groups' Ledgers do not learn
// of others.
type groupRow struct {
	GroupID          *json.RawMessage `json:"groupId,omitempty"` // an ID; null: the projects directly in the group
	GroupName        *string          `json:"groupName,omitempty"`
	ProjectID        *string          `json:"projectId,omitempty"`
	ProjectName      *string          `json:"projectName,omitempty"`
	KeyID            *string          `json:"keyId,omitempty"`
	KeyName          *string          `json:"keyName,omitempty"`
	Day              *string          `json:"day,omitempty"`
	Model            *string          `json:"model,omitempty"`
	Requests         uint64           `json:"requests"`
	Hits             uint64           `json:"hits"`
	Misses           uint64           `json:"misses"`
	Failed           uint64           `json:"failed"`
	PromptTokens     uint64           `json:"promptTokens"`
	CompletionTokens uint64           `json:"completionTokens"`
	Cost             json.RawMessage  `json:"cost"` // dollars, exact
	Estimated        uint64           `json:"estimated"`
	Expired          uint64           `json:"expired"`
}

func (r *groupRow) count(u *ledger.Usage) {
	r.Requests, r.Hits, r.Misses, r.Failed = u.Requests, u.Hits, u.Misses, u.Failed
	r.PromptTokens, r.CompletionTokens, r.Estimated, r.Expired = u.Prompt, u.Completion, u.Estimated, u.Expired
	r.Cost = money.Append(nil, u.CostPico, money.Dollar)
}

// groupReport collects the rows of a response.
type groupReport struct {
	rows  []groupRow
	total ledger.Usage
	next  *string
}

func (r *groupReport) add(row groupRow, u *ledger.Usage) {
	row.count(u)
	r.rows = append(r.rows, row)
	r.total.Plus(u)
}

// nodeOf returns a project that stands for a group, whose Ledger has no region.
func nodeOf(id string) *directory.Project {
	p := &directory.Project{}
	p.ID = id
	return p
}

// groupsOfNode reads usage from the Ledger of a group.
func (h *handler) groupsOfNode(ctx context.Context, id string, q *groupQuery, by ledger.Grouping) ([]ledger.Group, error) {
	return reports.UsageGroups(ctx, h.Plane, nodeOf(id), ledger.Query{FirstDay: q.first, EndDay: q.end, By: by})
}

// readGroup reads the rows of a report.
func (h *handler) readGroup(c *kernel.Call, q *groupQuery) (*groupReport, error) {
	r := &groupReport{rows: []groupRow{}}
	read := h.readByDayOrModel
	switch q.by {
	case byChild:
		read = h.readByChild
	case byProject:
		read = h.readByProject
	case groupKey:
		read = h.readByKey
	}
	err := read(c, q, r)
	return r, err
}

func (h *handler) readByDayOrModel(c *kernel.Call, q *groupQuery, r *groupReport) error {
	by := kernel.Translate(q.by, groupingWords, groupings)
	groups, err := h.groupsOfNode(c, c.Group, q, by)
	for i := range groups {
		row := groupRow{}
		if u := &groups[i].Usage; by == ledger.ByDay {
			day := kernel.DateText(u.Day)
			row.Day = &day
		} else {
			row.Model = &u.Model
		}
		r.add(row, &groups[i].Usage)
	}
	return err
}

// readByChild adds a row for each group directly below, and one for the rest of the group's usage, which is of the
// projects directly in it.
func (h *handler) readByChild(c *kernel.Call, q *groupQuery, r *groupReport) error {
	children, err := h.Store.GroupsBelow(c, c.Group)
	if err != nil {
		return err
	}
	sums := make([]ledger.Usage, len(children)+1)
	err = kernel.Parallel(kernel.Indexes(sums), func(i int) error {
		id := c.Group
		if i < len(children) {
			id = children[i].ID
		}
		groups, err := h.groupsOfNode(c, id, q, ledger.ByDay)
		for j := range groups {
			sums[i].Plus(&groups[j].Usage)
		}
		return err
	})
	if err != nil {
		return err
	}
	rest := sums[len(children)]
	for i := range children {
		id, _ := json.Marshal(children[i].ID)
		r.add(groupRow{GroupID: (*json.RawMessage)(&id), GroupName: &children[i].Name}, &sums[i])
		subtract(&rest, &sums[i])
	}
	if rest.Requests|rest.Failed|rest.Expired != 0 || rest.CostPico > 0 {
		null := json.RawMessage("null")
		r.add(groupRow{GroupID: &null}, &rest)
	}
	return nil
}

// subtract takes a child's usage from its group's. A group may get a report later than its child, so nothing falls below
// zero.
func subtract(from, u *ledger.Usage) {
	for _, n := range [][2]*uint64{
		{&from.Requests, &u.Requests}, {&from.Hits, &u.Hits}, {&from.Misses, &u.Misses}, {&from.Failed, &u.Failed}, {&from.Prompt, &u.Prompt},
		{&from.Completion, &u.Completion}, {&from.Estimated, &u.Estimated}, {&from.Expired, &u.Expired},
	} {
		*n[0] -= min(*n[0], *n[1])
	}
	from.CostPico = max(0, from.CostPico-u.CostPico)
}

// readByProject adds a row for each project that has ever used the group. A group's Ledger has a project in place of a
// key.
func (h *handler) readByProject(c *kernel.Call, q *groupQuery, r *groupReport) error {
	groups, err := h.groupsOfNode(c, c.Group, q, ledger.ByKey)
	if err != nil {
		return err
	}
	ids := make([]string, len(groups))
	for i := range groups {
		ids[i] = groups[i].KeyID
	}
	projects, err := h.Store.Projects(c, ids)
	if err != nil {
		return err
	}
	for i := range groups {
		row := groupRow{ProjectID: &ids[i]}
		if p, ok := projects[ids[i]]; ok {
			row.ProjectName = &p.Name
		}
		r.add(row, &groups[i].Usage)
	}
	return nil
}

// readByKey adds a row for each key of a page of projects below the group, from the projects' own Ledgers.
func (h *handler) readByKey(c *kernel.Call, q *groupQuery, r *groupReport) error {
	ids, err := h.Store.ProjectsBelow(c, c.Group)
	if err != nil {
		return err
	}
	for len(ids) > 0 && ids[0] <= q.after { // IDs are in order
		ids = ids[1:]
	}
	if len(ids) > q.limit {
		ids = ids[:q.limit]
		r.next = &ids[q.limit-1]
	}
	projects, err := h.Store.Projects(c, ids)
	if err != nil {
		return err
	}
	found := make([][]ledger.Group, len(ids))
	names := make([]map[string]directory.Key, len(ids))
	err = kernel.Parallel(kernel.Indexes(ids), func(i int) (err error) {
		p := projects[ids[i]]
		found[i], err = reports.UsageGroups(c, h.Plane, &p, ledger.Query{FirstDay: q.first, EndDay: q.end, By: ledger.ByKey})
		if err == nil {
			names[i], err = h.namesOf(c, &p, found[i])
		}
		return err
	})
	if err != nil {
		return err
	}
	for i := range ids {
		p := projects[ids[i]]
		r.addKeys(&p, found[i], names[i])
	}
	return nil
}

// addKeys adds a row for each key of a project.
func (r *groupReport) addKeys(p *directory.Project, found []ledger.Group, names map[string]directory.Key) {
	for i := range found {
		row := groupRow{ProjectID: &p.ID, ProjectName: &p.Name, KeyID: &found[i].KeyID}
		if k, ok := names[found[i].KeyID]; ok {
			row.KeyName = &k.Name
		}
		r.add(row, &found[i].Usage)
	}
}

// namesOf reads the keys of rows, at most maxNamed.
func (h *handler) namesOf(ctx context.Context, p *directory.Project, rows []ledger.Group) (map[string]directory.Key, error) {
	var ids []string
	for i := range rows[:min(len(rows), maxNamed)] {
		ids = append(ids, rows[i].KeyID)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return h.Store.KeysByID(ctx, p.ID, ids)
}
