package control

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/fault"
)

// How far one question about one project looks; who asks can go on from there.
const (
	auditScanDocuments = 200
	maxAuditScans      = 5
)

// auditKept is how long entries are kept.
const auditKept = 400 * 24 * time.Hour

type auditView struct {
	Entries []json.RawMessage `json:"entries"` // each an auditEntry
	Next    *string           `json:"next"`    // for after; null: that was all
}

// listAudit is GET /api/admin/audit?project=&limit=&after=, newest first. With a project, a page may have
// fewer entries than asked, or none, and there is more all the same.
func (h *handler) listAudit(c *call) (answer, error) {
	page, err := readQuery(c.request, auditIDPrefix, "project")
	if err != nil {
		return answer{}, err
	}
	project := page.values.Get("project")
	if project != "" && !isID(project, projectPrefix) {
		return answer{}, invalid(fault.Detail{Field: "project", Message: "must be a project's id"})
	}
	query := directory.List{Prefix: auditPrefix, Limit: uint64(page.limit + 1)}
	if page.after != "" {
		query.After = auditKey(page.after)
	}
	if project != "" {
		query.Limit = auditScanDocuments
	}
	view, err := h.auditPage(c, query, project, page.limit)
	return answer{http.StatusOK, view}, err
}

func auditKey(id string) string { return auditPrefix + strings.TrimPrefix(id, auditIDPrefix) }

// auditPage reads until the page is full, the log is at its end, or enough has been read.
func (h *handler) auditPage(ctx context.Context, query directory.List, project string, limit int) (auditView, error) {
	view := auditView{Entries: []json.RawMessage{}}
	var last string
	for range maxAuditScans {
		docs, err := h.store.list(ctx, query)
		if err != nil {
			return view, err
		}
		for _, d := range docs {
			if len(view.Entries) == limit {
				view.Next = &last
				return view, nil
			}
			last = auditIDPrefix + strings.TrimPrefix(d.Key, auditPrefix)
			about, err := isAbout(d, project)
			if err != nil {
				return view, err
			}
			if about {
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

// isAbout tells whether an entry is about a project; no project is about all.
func isAbout(d directory.Document, project string) (bool, error) {
	var entry struct{ Project string }
	err := json.Unmarshal(d.Value, &entry)
	return project == "" || entry.Project == project, err
}

// pruneAudit removes the entries that have been kept long enough. They are the last ones.
func (h *handler) pruneAudit(ctx context.Context) error {
	oldest := uint64(h.Now().Add(-auditKept).UnixMilli())
	query := directory.List{Prefix: auditPrefix, After: auditPrefix + abi.Fixed(endOfTimeMs-oldest)}
	return h.prune(ctx, query, func(directory.Document) bool { return true })
}
