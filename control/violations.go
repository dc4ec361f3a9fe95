package control

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
)

// violationRoutes are the endpoints for violations.
var violationRoutes = []route{
	{http.MethodGet, "/violations", (*handler).listViolations, doc.MaySeeViolations},
	{http.MethodGet, "/violations/{violation}", (*handler).getViolation, doc.MaySeeViolations},
	{http.MethodPatch, "/violations/{violation}", (*handler).patchViolation, doc.MayTriage},
}

type violationsView struct {
	Violations []json.RawMessage `json:"violations"`
	Next       *string           `json:"next"` // cursor for after; null: last page
}

// violationCategories are the categories of the Governor's rules.
var violationCategories = []string{"secret", "personal", "injection", "keyword", "pattern", "length", "schema", "unchecked", "classifier"}

// listViolations is GET …/violations?state=&rule=&category=&severity=&decision=&model=&key=&from=&to=&limit=&after=,
// newest first. With a filter, a page may be short or empty although more pages follow.
func (h *handler) listViolations(c *call) (answer, error) {
	command, err := readViolations(c.request)
	if err != nil {
		return answer{}, err
	}
	p, err := h.store.project(c, c.project)
	if err != nil {
		return answer{}, err
	}
	if command.After == "" {
		if _, err := h.flushMeters(c, &p); err != nil {
			return answer{}, err
		}
	}
	page, err := h.violations(c, &p, command)
	if err != nil {
		return answer{}, err
	}
	view := violationsView{Violations: []json.RawMessage{}}
	for i := range page.Violations {
		view.Violations = append(view.Violations, page.Violations[i].AppendJSON(nil))
	}
	if page.Next != "" {
		next := violationPrefix + page.Next
		view.Next = &next
	}
	return answer{http.StatusOK, view}, nil
}

// violations reads a page of a project's violations.
func (h *handler) violations(ctx context.Context, p *project, command *ledger.Violations) (page ledger.ViolationsReply, err error) {
	reply, err := h.store.objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, command.Encode())
	if err != nil {
		return page, unavailable(err)
	}
	return ledger.DecodeViolations(reply)
}

// readViolations reads the filters and the page of a list.
func readViolations(r *http.Request) (*ledger.Violations, error) {
	q, err := readQuery(r, violationPrefix, "state", "rule", "category", "severity", "decision", "model", "key", "from", "to")
	if err != nil {
		return nil, err
	}
	command := &ledger.Violations{
		State: q.choice("state", ledger.ViolationStates), Rule: q.modelName("rule"), Category: q.choice("category", violationCategories),
		Severity: q.choice("severity", ledger.Severities), Decision: q.choice("decision", ledger.Decisions), Model: q.modelName("model"),
		KeyID: q.values.Get("key"), FromMs: q.instant("from"), ToMs: q.instant("to"),
		After: strings.TrimPrefix(q.after, violationPrefix), Limit: uint64(q.limit),
	}
	if command.KeyID != "" && !isID(command.KeyID, keyPrefix) {
		q.problem("key", badKeyID+got(command.KeyID))
	}
	if command.ToMs != 0 && command.ToMs <= command.FromMs {
		q.problem("to", "must be after from"+got(q.values.Get("to")))
	}
	return command, q.err()
}

// modelName reads a parameter that is the name of a model or rule.
func (q *query) modelName(name string) string {
	text := q.values.Get(name)
	if text != "" && !isModelName(text) {
		q.problem(name, "must be a name of at most 128 printable ASCII characters without spaces"+got(text))
	}
	return text
}

// instant reads a parameter that is a time, such as 2026-11-21T09:00:00Z, or a date, whose time is midnight UTC; 0 if it
// is absent.
func (q *query) instant(name string) uint64 {
	text := q.values.Get(name)
	if text == "" {
		return 0
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		at, err = time.Parse(time.DateOnly, text)
	}
	if err != nil || at.Year() < 1971 {
		q.problem(name, "must be a time such as 2026-11-21T09:00:00Z or a date such as 2026-11-21"+got(text))
		return 0
	}
	return uint64(at.UnixMilli())
}

// getViolation is GET …/violations/{violation}.
func (h *handler) getViolation(c *call) (answer, error) {
	p, err := h.store.project(c, c.project)
	if err != nil {
		return answer{}, err
	}
	v, err := h.violation(c, &p)
	return answer{http.StatusOK, json.RawMessage(v.AppendJSON(nil))}, err
}

// violation reads the violation that the path names; the error is a 404 if it does not exist.
func (h *handler) violation(c *call, p *project) (v ledger.StoredViolation, err error) {
	command := ledger.GetViolation{ID: strings.TrimPrefix(c.id, violationPrefix)}
	reply, err := h.store.objects.Call(c, abi.ClassLedger, p.ID, p.Region, command.Encode())
	if err != nil {
		return v, unavailable(err)
	}
	v, found, err := ledger.DecodeViolation(reply)
	if err == nil && !found {
		err = missing("violation", c.id)
	}
	return v, err
}

// triageView is the part of a violation that the audit log shows.
type triageView struct {
	Violation string  `json:"violation"` // its ID
	State     string  `json:"state"`
	Note      *string `json:"note"`
}

func viewTriage(v *ledger.StoredViolation) triageView {
	return triageView{violationPrefix + v.ID, ledger.ViolationStates[v.State], nullIfEmpty(v.Note)}
}

// triagePatch is a decoded request to change a violation.
type triagePatch struct {
	version uint64 // expected; 0: any
	apply   func(*ledger.StoredViolation)
}

// patchViolation is PATCH …/violations/{violation} with state, note and version, all optional.
func (h *handler) patchViolation(c *call) (answer, error) {
	patch, err := readTriage(c.request)
	if err != nil {
		return answer{}, err
	}
	p, err := h.store.project(c, c.project)
	if err != nil {
		return answer{}, err
	}
	for range maxAttempts {
		before, err := h.violation(c, &p)
		if err != nil {
			return answer{}, err
		}
		if patch.version != 0 && patch.version != before.Version {
			return answer{}, outdated(before.Version, patch.version)
		}
		after := before
		patch.apply(&after)
		if after == before {
			return answer{http.StatusOK, json.RawMessage(before.AppendJSON(nil))}, nil
		}
		outcome, now, err := h.triage(c, &p, &before, &after)
		switch {
		case err != nil:
			return answer{}, err
		case outcome == ledger.Triaged:
			return answer{http.StatusOK, json.RawMessage(now.AppendJSON(nil))}, nil
		case outcome == ledger.NoViolation:
			return answer{}, missing("violation", c.id)
		case outcome == ledger.StateNotAllowed:
			return answer{}, closedViolation(&now, &after)
		}
	}
	return answer{}, errConflict
}

// closedViolation is a 400 for a state that cannot follow the current one.
func closedViolation(now, wanted *ledger.StoredViolation) *refusal {
	return invalid(stateDetail("must be open: the violation is "+ledger.ViolationStates[now.State], ledger.ViolationStates[wanted.State]))
}

// triage makes a change, which the ledger audits through its outbox. The audit entry is also delivered at once, so that
// it is usually in the log when the change is acknowledged; the Directory drops the repeat.
func (h *handler) triage(c *call, p *project, before, after *ledger.StoredViolation) (outcome ledger.TriageOutcome, now ledger.StoredViolation, err error) {
	entry, err := h.auditWrite(c, "violation.triage", c.project, "", viewTriage(before), viewTriage(after))
	if err != nil {
		return 0, now, err
	}
	commit := directory.Commit{Writes: []directory.Write{entry}}
	audit := abi.Delivery{Class: abi.ClassDirectory, Name: directory.Name, Data: commit.Encode()}
	command := ledger.Triage{
		ID: before.ID, Version: before.Version, State: after.State, Note: after.Note, By: c.actor.Name, Audit: audit,
	}
	reply, err := h.store.objects.Call(c, abi.ClassLedger, p.ID, p.Region, command.Encode())
	if err != nil {
		return 0, now, unavailable(err)
	}
	outcome, now, err = ledger.DecodeTriage(reply)
	if err == nil && outcome == ledger.Triaged {
		_, _ = h.store.deliver(c, []abi.Delivery{audit}) // the outbox repeats it
	}
	return outcome, now, err
}
