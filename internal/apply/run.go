package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/postern-ai/postern/internal/admin"
)

// Secret is a value that the API shows only once: a key, or the secret that signs a webhook's calls.
type Secret struct {
	Kind      string `json:"kind"` // key or webhook
	Project   string `json:"project"`
	ProjectID string `json:"projectId"`
	Name      string `json:"name"`
	ID        string `json:"id"` // key that it belongs to; empty for a webhook
	Value     string `json:"value"`
	// Group is the path of the group that a webhook belongs to; empty for a project's.
	Group   string `json:"group,omitempty"`
	GroupID string `json:"groupId,omitempty"`
}

// run makes the changes of a plan.
type run struct {
	client *admin.Client
	keep   func(Secret) error
}

// Run makes the changes in order and stops at the first failure. A new plan then contains the remaining changes. As
// soon as a secret exists, keep is called with it.
func (p *Plan) Run(ctx context.Context, keep func(Secret) error) error {
	r := &run{p.client, keep}
	for i, c := range p.Changes {
		if err := c.do(ctx, r); err != nil {
			c.Status = "failed"
			for _, later := range p.Changes[i+1:] {
				later.Status = "skipped"
			}
			return explain(c, i, len(p.Changes), err)
		}
		c.Status = "applied"
	}
	return nil
}

func explain(c *Change, done, total int, err error) error {
	advice := ""
	if admin.Is(err, http.StatusConflict) {
		advice = "\nSomething changed it after the difference was computed. Run the command again."
	}
	where := ""
	if c.Kind != "group" {
		where = fmt.Sprintf(" in project %q", c.Project)
	}
	return fmt.Errorf("%s %s %q%s: %w\n%d of %d changes were made; run the command again for the others%s", c.Action, c.Kind, c.Name, where, err, done, total, advice)
}

// patchProject changes a project. It succeeds only if the project still has the version from which the plan was
// computed or the version that the last change made.
func (r *run) patchProject(ctx context.Context, t *target, fields []Field) error {
	var made admin.Project
	if err := r.client.Do(ctx, http.MethodPatch, admin.ProjectPath(t.id), t.body(fields, t.version), &made); err != nil {
		return err
	}
	t.version = made.Version
	var alerts struct{ Secret string }
	if json.Unmarshal(made.Alerts, &alerts) != nil || alerts.Secret == "" {
		return nil
	}
	return r.keep(Secret{Kind: "webhook", Project: t.name, ProjectID: t.id, Name: "alerts", Value: alerts.Secret})
}

// changeEntry changes an entry of a model registry and remembers its new version.
func (r *run) changeEntry(ctx context.Context, c *Change, e *entryView, method, path string, request any) error {
	if err := r.client.Do(ctx, method, path, request, e); err != nil {
		return err
	}
	c.ID = e.ID
	return nil
}
