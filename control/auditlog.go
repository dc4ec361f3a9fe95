package control

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
)

// How much of the log one filtered request scans. The client continues with next.
const (
	auditScanDocuments = 200
	maxAuditScans      = 10
)

// auditRetention is the age at which entries are pruned.
const auditRetention = 400 * 24 * time.Hour

type auditView struct {
	Entries []json.RawMessage `json:"entries"` // each an auditEntry
	Next    *string           `json:"next"`    // cursor for after; null: last page
}

// auditFilter selects entries; an empty field selects all.
type auditFilter struct{ project, action string }

// actionKinds are the prefixes of actions, up to the dot.
var actionKinds = []string{"project", "key", "provider_key", "governor", "violation", "registry", "session", "deployment"}

// listAudit is GET /api/admin/audit?project=&action=&limit=&after=, newest first. With a filter, a page may
// be short or empty although more pages follow.
func (h *handler) listAudit(c *call) (answer, error) {
	page, err := readQuery(c.request, auditIDPrefix, "project", "action")
	if err != nil {
		return answer{}, err
	}
	f := auditFilter{page.values.Get("project"), page.choice("action", actionKinds)}
	if f.project != "" && !isID(f.project, projectPrefix) {
		page.problem("project", badProjectID+got(f.project))
	}
	if err := page.err(); err != nil {
		return answer{}, err
	}
	query := directory.List{Prefix: auditPrefix, Limit: uint64(page.limit + 1)}
	if page.after != "" {
		query.After = auditKey(page.after)
	}
	if f != (auditFilter{}) {
		query.Limit = auditScanDocuments
	}
	view, err := h.auditPage(c, query, f, page.limit)
	return answer{http.StatusOK, view}, err
}

func auditKey(id string) string { return auditPrefix + strings.TrimPrefix(id, auditIDPrefix) }

// auditPage reads until the page is full, the log ends, or the scan limit is reached.
func (h *handler) auditPage(ctx context.Context, query directory.List, f auditFilter, limit int) (auditView, error) {
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

// pruneAudit removes the entries older than auditRetention, which sort last.
func (h *handler) pruneAudit(ctx context.Context) error {
	oldest := uint64(h.Now().Add(-auditRetention).UnixMilli())
	query := directory.List{Prefix: auditPrefix, After: auditPrefix + abi.Fixed(endOfTimeMs-oldest)}
	return h.prune(ctx, query, func(directory.Document) bool { return true })
}
