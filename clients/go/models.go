package postern

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"
)

// ModelService manages the project's model registry. It needs a project key (pk_…) with the "registry" permission,
// and "registry.edit" for changes.
type ModelService struct{ client *Client }

// ModelState is the state of a model in the registry.
type ModelState string

// The states. A discovered model has been used but has no entry.
const (
	ModelDiscovered ModelState = "discovered"
	ModelPending    ModelState = "pending"
	ModelApproved   ModelState = "approved"
	ModelRestricted ModelState = "restricted"
	ModelDeprecated ModelState = "deprecated"
	ModelRetired    ModelState = "retired"
	ModelBlocked    ModelState = "blocked"
)

// RiskTier is the risk of using a model.
type RiskTier string

// The risk tiers.
const (
	RiskMinimal      RiskTier = "minimal"
	RiskLimited      RiskTier = "limited"
	RiskHigh         RiskTier = "high"
	RiskUnacceptable RiskTier = "unacceptable"
)

// Model is a model in the registry. A string that is not set is empty. A time that is not set is nil.
type Model struct {
	ID            string            `json:"id"`
	Model         string            `json:"model"` // name in the catalog
	State         ModelState        `json:"state"`
	Owner         string            `json:"owner"`
	Purpose       string            `json:"purpose"`
	RiskTier      RiskTier          `json:"riskTier"`
	DataClasses   []string          `json:"dataClasses"` // classes of data that may be sent to the model
	Regions       []string          `json:"regions"`
	Retention     string            `json:"retention"` // how long the provider keeps the data
	Links         []string          `json:"links"`
	ReviewDate    *time.Time        `json:"reviewDate"`
	ReviewOverdue bool              `json:"reviewOverdue"`
	Successor     string            `json:"successor"` // the model to use instead
	Keys          []string          `json:"keys"`      // IDs of the keys that may use a restricted model
	DeprecatedAt  *time.Time        `json:"deprecatedAt"`
	SunsetAt      *time.Time        `json:"sunsetAt"`
	Approvals     []ModelApproval   `json:"approvals"` // the newest 50; the oldest of them comes first
	History       []ModelTransition `json:"history"`   // the newest 50; the oldest of them comes first
	Version       int               `json:"version"`   // increases with each change; 0 for a model without an entry
	CreatedAt     *time.Time        `json:"createdAt"`
	UpdatedAt     *time.Time        `json:"updatedAt"`

	// Only set by List, ListPage and Get.
	FirstSeen string `json:"firstSeen"` // day of the first use in the last 90 days, for example 2026-11-18; empty if there was none
	LastSeen  string `json:"lastSeen"`
	Requests  int    `json:"requests"` // in the last 90 days

	// Only set by Create, Update and Transition. It is delivered if the change already applies to every key. It is
	// pending if some keys will get the change within minutes.
	Delivery string `json:"delivery"`
}

// ModelApproval is one approval of a model.
type ModelApproval struct {
	By     string     `json:"by"`
	At     time.Time  `json:"at"`
	Reason string     `json:"reason"`
	State  ModelState `json:"state"` // ModelApproved or ModelRestricted
}

// ModelTransition is one change of a model's state.
type ModelTransition struct {
	From   ModelState `json:"from"`
	To     ModelState `json:"to"`
	By     string     `json:"by"` // owner, a user's email address, or the ID of a project key
	At     time.Time  `json:"at"`
	Reason string     `json:"reason"`
}

// ModelFilter selects models. Zero fields select all.
type ModelFilter struct {
	Query string // part of the name, ignoring case
	State ModelState
	Limit int    // models per page, at most 100; default 50
	After string // Next of the page before
}

// ModelPage is one page of the registry.
type ModelPage struct {
	Page[Model]   `json:"-"`
	Enforcement   string `json:"enforcement"` // off, warn or enforce
	PolicyVersion int    `json:"policyVersion"`
	Delivery      string `json:"delivery"` // as in Model
}

// ModelCreate describes a new registry entry. Only Model is required.
type ModelCreate struct {
	Model       string // a name, an alias or provider/name from the catalog
	Owner       string
	Purpose     string
	RiskTier    RiskTier
	DataClasses []string
	Regions     []string
	Retention   string
	Links       []string // https URLs
	ReviewDate  time.Time
	Successor   string // a model of the catalog
}

// MarshalJSON writes the fields that are set.
func (c ModelCreate) MarshalJSON() ([]byte, error) {
	return json.Marshal(members{
		"model":       c.Model,
		"owner":       present(c.Owner),
		"purpose":     present(c.Purpose),
		"riskTier":    present(c.RiskTier),
		"dataClasses": listed(c.DataClasses),
		"regions":     listed(c.Regions),
		"retention":   present(c.Retention),
		"links":       listed(c.Links),
		"reviewDate":  present(timestamp(c.ReviewDate)),
		"successor":   present(c.Successor),
	}.given())
}

// ModelUpdate changes an entry. If a field is nil, it stays unchanged. A pointer to a zero value clears a field, and
// so does an empty slice.
type ModelUpdate struct {
	Owner       *string
	Purpose     *string
	RiskTier    *RiskTier
	DataClasses []string
	Regions     []string
	Retention   *string
	Links       []string
	ReviewDate  *time.Time
	Successor   *string
	SunsetAt    *time.Time // of a deprecated model
	Version     int        // the version that you read before the change; if it is outdated, the error is a *ConflictError
}

// MarshalJSON writes the fields that change.
func (u ModelUpdate) MarshalJSON() ([]byte, error) {
	return json.Marshal(members{
		"owner":       changed(u.Owner),
		"purpose":     changed(u.Purpose),
		"riskTier":    changed(u.RiskTier),
		"dataClasses": listed(u.DataClasses),
		"regions":     listed(u.Regions),
		"retention":   changed(u.Retention),
		"links":       listed(u.Links),
		"reviewDate":  changedTime(u.ReviewDate),
		"successor":   changed(u.Successor),
		"sunsetAt":    changedTime(u.SunsetAt),
		"version":     present(u.Version),
	}.given())
}

// ModelTransitionParams are the parameters of a change of state. Only To is required.
type ModelTransitionParams struct {
	To        ModelState
	Reason    string     // required for ModelApproved, ModelRestricted and ModelBlocked
	Version   *int       // the version that you read before the change; 0 for a model without an entry
	Keys      []string   // IDs of the gateway keys that may use the model; required for ModelRestricted, and not allowed for other states
	SunsetAt  *time.Time // only for ModelDeprecated
	Successor *string    // a pointer to "" removes it
}

// MarshalJSON writes the fields that are set.
func (p ModelTransitionParams) MarshalJSON() ([]byte, error) {
	m := members{
		"to":        p.To,
		"reason":    present(p.Reason),
		"keys":      listed(p.Keys),
		"sunsetAt":  changedTime(p.SunsetAt),
		"successor": changed(p.Successor),
	}
	if p.Version != nil {
		m["version"] = *p.Version
	}
	return json.Marshal(m.given())
}

// List yields the registry's models from all pages, sorted by name.
func (s ModelService) List(ctx context.Context, filter ModelFilter, opts ...CallOption) iter.Seq2[Model, error] {
	return eachItem(func(after string) (*Page[Model], error) {
		filter.After = after
		page, err := s.ListPage(ctx, filter, opts...)
		if err != nil {
			return nil, err
		}
		return &page.Page, nil
	}, filter.After)
}

// ListPage returns one page of the registry's models, sorted by name.
func (s ModelService) ListPage(ctx context.Context, filter ModelFilter, opts ...CallOption) (*ModelPage, error) {
	query := queryOf("q", filter.Query, "state", string(filter.State), "limit", number(filter.Limit), "after", filter.After)
	page, _, err := fetch[modelPage](ctx, s.client, get("/api/models-registry", query), opts)
	if err != nil {
		return nil, err
	}
	page.Items, page.Next = page.Models, page.After
	return &page.ModelPage, nil
}

type modelPage struct {
	ModelPage
	Models []Model `json:"models"`
	After  string  `json:"next"`
}

func (p *modelPage) missing() string { return missingList(p.Models, "models") }

// Get returns a model with its approvals and history.
func (s ModelService) Get(ctx context.Context, id string, opts ...CallOption) (*Model, error) {
	path, err := pathOf("/api/models-registry/", id, "")
	if err != nil {
		return nil, err
	}
	model, _, err := fetch[Model](ctx, s.client, get(path, nil), opts)
	return model, err
}

// Create registers a model, which becomes ModelPending. If the model already has an entry, the error is a
// *ConflictError. Like all changes, it is retried only if the gateway certainly has not made it.
func (s ModelService) Create(ctx context.Context, params ModelCreate, opts ...CallOption) (*Model, error) {
	r, err := withBody(request{method: http.MethodPost, path: "/api/models-registry", change: true}, params)
	if err != nil {
		return nil, err
	}
	model, _, err := fetch[Model](ctx, s.client, r, opts)
	return model, err
}

// Update changes a model's entry. Transition changes its state.
func (s ModelService) Update(ctx context.Context, id string, change ModelUpdate, opts ...CallOption) (*Model, error) {
	return send[Model](ctx, s.client, http.MethodPatch, "/api/models-registry/", id, "", change, opts)
}

// Transition changes a model's state. If the current state does not allow the change, the error is a *ConflictError.
func (s ModelService) Transition(ctx context.Context, id string, params ModelTransitionParams, opts ...CallOption) (*Model, error) {
	return send[Model](ctx, s.client, http.MethodPost, "/api/models-registry/", id, "/transitions", params, opts)
}
