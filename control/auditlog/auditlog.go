// Package auditlog is the audit log resource.
package auditlog

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
)

type handler struct{ *kernel.Plane }

// Routes returns the endpoints of the audit log.
func Routes(p *kernel.Plane) []kernel.Route {
	h := &handler{p}
	return []kernel.Route{
		{Method: http.MethodGet, Path: "/api/admin/audit", For: kernel.Operators, Operation: "audit", Serve: h.listAudit},
	}
}

// Limits on how much of the log one filtered request scans. The client continues with the cursor in the response's
// field "next".
const (
	auditScanDocuments = 200
	maxAuditScans      = 10
)

type auditView struct {
	Entries []json.RawMessage `json:"entries"` // each a kernel.AuditEntry
	Next    *string           `json:"next"`    // pass as "after" to get the next page; null: last page
}

// auditFilter selects entries. An empty field matches every entry.
type auditFilter struct{ project, action string }

// actionKinds are the kinds of actions. An action's kind is the part of its name before the dot.
var actionKinds = []string{"project", "group", "key", "provider_key", "governor", "violation", "registry", "session", "deployment"}

// listAudit serves GET /api/admin/audit?project=&action=&limit=&after=. The newest entries come first. With a filter,
// a page may be short or even empty although more pages follow.
func (h *handler) listAudit(c *kernel.Call) (kernel.Answer, error) {
	page, err := kernel.ReadQuery(c.Request, kernel.AuditIDPrefix, "project", "action")
	if err != nil {
		return kernel.Answer{}, err
	}
	f := auditFilter{page.Values.Get("project"), page.Choice("action", actionKinds)}
	if f.project != "" && !kernel.IsID(f.project, kernel.ProjectPrefix) {
		page.Problem("project", kernel.BadProjectID+kernel.Got(f.project))
	}
	if err := page.Err(); err != nil {
		return kernel.Answer{}, err
	}
	query := directory.List{Prefix: kernel.AuditPrefix, Limit: uint64(page.Limit + 1)}
	if page.After != "" {
		query.After = auditKey(page.After)
	}
	if f != (auditFilter{}) {
		query.Limit = auditScanDocuments
	}
	view, err := h.auditPage(c, query, f, page.Limit)
	return kernel.OK(view), err
}

func auditKey(id string) string {
	return kernel.AuditPrefix + strings.TrimPrefix(id, kernel.AuditIDPrefix)
}

// auditPage reads until the page is full, the log ends, or the scan limit is reached.
func (h *handler) auditPage(ctx context.Context, query directory.List, f auditFilter, limit int) (auditView, error) {
	view := auditView{Entries: []json.RawMessage{}}
	var last string
	for range maxAuditScans {
		docs, err := h.Store.List(ctx, query)
		if err != nil {
			return view, err
		}
		for _, d := range docs {
			if len(view.Entries) == limit {
				view.Next = &last
				return view, nil
			}
			last = kernel.AuditIDPrefix + strings.TrimPrefix(d.Key, kernel.AuditPrefix)
			ok, err := f.matches(d)
			if err != nil {
				return view, err
			}
			if ok {
				view.Entries = append(view.Entries, d.Value)
			}
		}
		if uint64(len(docs)) < query.Limit {
			return view, nil
		}
		query.After = docs[len(docs)-1].Key
	}
	view.Next = &last
	return view, nil
}

func (f auditFilter) matches(d directory.Document) (bool, error) {
	if f == (auditFilter{}) {
		return true, nil
	}
	var entry struct{ Project, Action string }
	err := json.Unmarshal(d.Value, &entry)
	kind, _, _ := strings.Cut(entry.Action, ".")
	return (f.project == "" || f.project == entry.Project) && (f.action == "" || f.action == kind), err
}

// Prune removes the entries older than kernel.AuditRetention. The oldest entries sort last.
func Prune(ctx context.Context, cp *kernel.Plane) error {
	oldest := uint64(cp.Now().Add(-kernel.AuditRetention).UnixMilli())
	query := directory.List{Prefix: kernel.AuditPrefix, After: kernel.AuditPrefix + abi.Fixed(kernel.EndOfTimeMs-oldest)}
	return cp.Prune(ctx, query, func(directory.Document) bool { return true })
}
