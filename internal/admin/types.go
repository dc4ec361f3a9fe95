package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// Project is a project. Fields that the command-line tool only displays are kept as JSON.
type Project struct {
	ID                   string          `json:"id"`
	Name                 string          `json:"name"`
	Plan                 string          `json:"plan"`
	Region               *string         `json:"region"`
	Budget               json.RawMessage `json:"budget"`
	BudgetPeriod         string          `json:"budgetPeriod"`
	Enforce              string          `json:"enforce,omitempty"` // hard or soft; older servers have none
	Cache                string          `json:"cache"`
	CacheTTLSeconds      uint64          `json:"cacheTtlSeconds"`
	Unbounded            bool            `json:"unbounded"`
	RecordProviderErrors bool            `json:"recordProviderErrors"`
	Contact              string          `json:"contact"`
	Models               []string        `json:"models"`
	Routes               json.RawMessage `json:"routes"`
	Governor             json.RawMessage `json:"governor"`
	Group                *string         `json:"group"`
	Limits               json.RawMessage `json:"limits,omitempty"` // per budget period; older servers have none
	Alerts               json.RawMessage `json:"alerts"`
	Status               string          `json:"status"`
	CreatedAt            string          `json:"createdAt"`
	Version              uint64          `json:"version"`
}

// Key is a key. Value is set only in the response that creates it.
type Key struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Kind        string          `json:"kind"`
	Environment string          `json:"environment"`
	Prefix      string          `json:"prefix"`
	Last4       string          `json:"last4"`
	Status      string          `json:"status"`
	CreatedAt   string          `json:"createdAt"`
	LastUsedAt  *string         `json:"lastUsedAt"`
	Models      []string        `json:"models"`
	Permissions []string        `json:"permissions"`
	Limits      json.RawMessage `json:"limits"`
	// Budget, BudgetPeriod and Enforce are the key's own budget. Older servers have none.
	Budget       json.RawMessage `json:"budget,omitempty"`
	BudgetPeriod string          `json:"budgetPeriod,omitempty"`
	Enforce      string          `json:"enforce,omitempty"`
	ExpiresAt    *string         `json:"expiresAt"`
	ReplacedBy   *string         `json:"replacedBy"`
	Version      uint64          `json:"version"`
	Value        string          `json:"value,omitempty"`
}

// Group is a group of projects, or the deployment itself, which has the ID root and no parent.
type Group struct {
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Parent       *string         `json:"parent"`
	Budget       json.RawMessage `json:"budget"`
	BudgetPeriod string          `json:"budgetPeriod"`
	Limits       json.RawMessage `json:"limits"` // per budget period
	Models       []string        `json:"models"`
	Alerts       json.RawMessage `json:"alerts"`
	Enforce      string          `json:"enforce"`
	Archived     bool            `json:"archived"`
	CreatedAt    *string         `json:"createdAt"`
	Version      uint64          `json:"version"`
	// Spent is set only in the response to a GET of one group with a budget, or with limits that stop requests.
	Spent *Spent `json:"spent,omitempty"`
	// HideNames is set only for the deployment's own node.
	HideNames *bool `json:"hideNames,omitempty"`
	// Delivery is delivered or pending: some keys below do not have the last change yet.
	Delivery string `json:"delivery,omitempty"`
}

// Spent is a group's usage in the present period of its budget. Each count is null unless there is a budget, or a limit that stops
// requests by it.
type Spent struct {
	Amount   json.RawMessage `json:"amount"` // dollars
	Requests json.RawMessage `json:"requests"`
	Tokens   json.RawMessage `json:"tokens"`
	ResetsAt *string         `json:"resetsAt"` // null: never
}

// Groups returns the deployment's own node and then all groups, oldest first.
func (c *Client) Groups(ctx context.Context) ([]Group, error) {
	all := make([]Group, 1)
	var page struct{ Groups []Group }
	if err := c.Do(ctx, http.MethodGet, GroupPath(RootID), nil, &all[0]); err != nil {
		return nil, err
	}
	if err := c.Do(ctx, http.MethodGet, GroupsPath, nil, &page); err != nil {
		return nil, err
	}
	return append(all, page.Groups...), nil
}

// Projects returns all projects, oldest first. An empty status selects all.
func (c *Client) Projects(ctx context.Context, status string) ([]Project, error) {
	return list[Project](ctx, c, ProjectsPath, "projects", status)
}

// Keys returns all keys of a project, oldest first. An empty status selects all.
func (c *Client) Keys(ctx context.Context, projectID, status string) ([]Key, error) {
	return list[Key](ctx, c, ProjectPath(projectID)+"/keys", "keys", status)
}

// RegistryEntries returns all entries in a project's model registry as JSON.
func (c *Client) RegistryEntries(ctx context.Context, projectID string) ([]json.RawMessage, error) {
	return list[json.RawMessage](ctx, c, ProjectPath(projectID)+"/models-registry", "models", "")
}

// RootID is the ID of the deployment's own node, above all groups.
const RootID = "root"

// GroupsPath is the path of the list of groups.
const GroupsPath = "/api/admin/groups"

// GroupPath returns the path of a group.
func GroupPath(id string) string { return GroupsPath + "/" + url.PathEscape(id) }

// ProjectsPath is the path of the list of projects.
const ProjectsPath = "/api/admin/projects"

// ProjectPath returns the path of a project.
func ProjectPath(id string) string { return ProjectsPath + "/" + url.PathEscape(id) }

// KeyPath returns the path of a key.
func KeyPath(projectID, id string) string {
	return ProjectPath(projectID) + "/keys/" + url.PathEscape(id)
}

// list returns the elements on all pages of a list.
func list[T any](ctx context.Context, c *Client, path, field, status string) ([]T, error) {
	all := []T{}
	query := url.Values{"limit": {"100"}}
	if status != "" {
		query.Set("status", status)
	}
	for {
		var page map[string]json.RawMessage
		if err := c.Do(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		var elements []T
		if err := json.Unmarshal(page[field], &elements); err != nil {
			return nil, c.notTheAPI(path)
		}
		all = append(all, elements...)
		var next *string
		if err := json.Unmarshal(page["next"], &next); err != nil {
			return nil, c.notTheAPI(path)
		}
		if next == nil {
			return all, nil
		}
		if *next == query.Get("after") { // a faulty server must not cause an endless loop
			return nil, c.notTheAPI(path)
		}
		query.Set("after", *next)
	}
}
