// Package violations is the violation resource, for one project and for all of them.
package violations

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
)

type handler struct{ *kernel.Plane }

// Routes returns the endpoints for violations.
func Routes(p *kernel.Plane) []kernel.Route {
	h := &handler{p}
	return append(kernel.ForBoth(
		kernel.Route{Method: http.MethodGet, Path: "/violations", For: kernel.Operators, Permission: doc.MaySeeViolations,
			Operation: "listViolationsAsOperator", KeyOperation: "listViolations", Serve: h.listViolations},
		kernel.Route{Method: http.MethodGet, Path: "/violations/{violation}", For: kernel.Operators, Permission: doc.MaySeeViolations,
			Operation: "getViolationAsOperator", KeyOperation: "getViolation", Serve: h.getViolation},
		kernel.Route{Method: http.MethodPatch, Path: "/violations/{violation}", For: kernel.Owners, Permission: doc.MayTriage, Body: kernel.MaxBody, Audit: "violation.triage",
			Operation: "triageViolationAsOperator", KeyOperation: "triageViolation", Serve: h.patchViolation},
	), h.allRoute())
}

type violationsView struct {
	Violations []json.RawMessage `json:"violations"`
	Next       *string           `json:"next"` // pass as "after" to get the next page; null: last page
}

var violationCategories = []string{"secret", "personal", "injection", "keyword", "pattern", "length", "schema", "unchecked", "classifier"}

// allFilters are the filters for the list of all projects. They do not include the key, because a key belongs to one
// project.
var allFilters = []string{"state", "rule", "category", "severity", "decision", "model", "from", "to"}

// listViolations serves GET
// …/violations?state=&rule=&category=&severity=&decision=&model=&key=&from=&to=&limit=&after=, which lists
// violations, newest first. With a filter, a page may be short or even empty although more pages follow.
func (h *handler) listViolations(c *kernel.Call) (kernel.Answer, error) {
	command, err := readViolations(c.Request)
	if err != nil {
		return kernel.Answer{}, err
	}
	p, err := h.Store.Project(c, c.Project)
	if err != nil {
		return kernel.Answer{}, err
	}
	if command.After == "" {
		if _, err := reports.FlushMeters(c, h.Plane, &p); err != nil {
			return kernel.Answer{}, err
		}
	}
	page, err := reports.Violations(c, h.Plane, &p, command)
	if err != nil {
		return kernel.Answer{}, err
	}
	view := violationsView{Violations: []json.RawMessage{}}
	for i := range page.Violations {
		view.Violations = append(view.Violations, page.Violations[i].AppendJSON(nil))
	}
	if page.Next != "" {
		next := kernel.ViolationPrefix + page.Next
		view.Next = &next
	}
	return kernel.OK(view), nil
}

// readViolations reads the filters and the paging parameters for a project's list.
func readViolations(r *http.Request) (*ledger.Violations, error) {
	q, err := kernel.ReadQuery(r, kernel.ViolationPrefix, append(allFilters, "key")...)
	if err != nil {
		return nil, err
	}
	command := readFilters(q, 0)
	command.KeyID, command.After = q.Values.Get("key"), strings.TrimPrefix(q.After, kernel.ViolationPrefix)
	if command.KeyID != "" && !kernel.IsID(command.KeyID, kernel.KeyPrefix) {
		q.Problem("key", kernel.BadKeyID+kernel.Got(command.KeyID))
	}
	return &command, q.Err()
}

// readFilters reads the parameters in allFilters and the limit. The range begins at beganMs if "from" is not sent.
func readFilters(q *kernel.Query, beganMs uint64) ledger.Violations {
	command := ledger.Violations{
		State: q.Choice("state", ledger.ViolationStates), Rule: readModelName(q, "rule"), Category: q.Choice("category", violationCategories),
		Severity: q.Choice("severity", ledger.Severities), Decision: q.Choice("decision", ledger.Decisions), Model: readModelName(q, "model"),
		FromMs: q.Instant("from", 0), ToMs: q.Instant("to", 0), Limit: uint64(q.Limit),
	}
	if q.Values.Get("from") == "" {
		command.FromMs = beganMs
	}
	if command.ToMs != 0 && command.ToMs <= command.FromMs {
		q.Problem("to", "must be after from, which is "+kernel.Timestamp(command.FromMs)+kernel.Got(q.Values.Get("to")))
	}
	return command
}

// readModelName reads a parameter that is the name of a model or rule.
func readModelName(q *kernel.Query, name string) string {
	text := q.Values.Get(name)
	if text != "" && !kernel.IsModelName(text) {
		q.Problem(name, "must be a name of at most 128 printable ASCII characters without spaces"+kernel.Got(text))
	}
	return text
}

// getViolation serves GET …/violations/{violation}.
func (h *handler) getViolation(c *kernel.Call) (kernel.Answer, error) {
	p, err := h.Store.Project(c, c.Project)
	if err != nil {
		return kernel.Answer{}, err
	}
	v, err := h.violation(c, &p)
	return kernel.OK(json.RawMessage(v.AppendJSON(nil))), err
}

// violation reads the violation whose ID is in the path. The error is a 404 if it does not exist.
func (h *handler) violation(c *kernel.Call, p *directory.Project) (v ledger.StoredViolation, err error) {
	command := ledger.GetViolation{ID: strings.TrimPrefix(c.ID, kernel.ViolationPrefix)}
	reply, err := h.Store.Objects.Call(c, abi.ClassLedger, p.ID, p.Region, command.Encode())
	if err != nil {
		return v, kernel.Unavailable(err)
	}
	v, found, err := ledger.DecodeViolation(reply)
	if err == nil && !found {
		err = kernel.Missing("violation", c.ID)
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
	return triageView{kernel.ViolationPrefix + v.ID, ledger.ViolationStates[v.State], kernel.NullIfEmpty(v.Note)}
}

type triagePatch struct {
	version uint64 // expected; 0: any
	apply   func(*ledger.StoredViolation)
}

// patchViolation serves PATCH …/violations/{violation} with state, note and version, all optional.
func (h *handler) patchViolation(c *kernel.Call) (kernel.Answer, error) {
	patch, err := readTriage(c)
	if err != nil {
		return kernel.Answer{}, err
	}
	p, err := h.Store.Project(c, c.Project)
	if err != nil {
		return kernel.Answer{}, err
	}
	for range kernel.MaxAttempts {
		before, err := h.violation(c, &p)
		if err != nil {
			return kernel.Answer{}, err
		}
		if patch.version != 0 && patch.version != before.Version {
			return kernel.Answer{}, kernel.Outdated(before.Version, patch.version)
		}
		after := before
		patch.apply(&after)
		if after == before {
			return kernel.OK(json.RawMessage(before.AppendJSON(nil))), nil
		}
		outcome, now, err := h.triage(c, &p, &before, &after)
		switch {
		case err != nil:
			return kernel.Answer{}, err
		case outcome == ledger.Triaged:
			return kernel.OK(json.RawMessage(now.AppendJSON(nil))), nil
		case outcome == ledger.NoViolation:
			return kernel.Answer{}, kernel.Missing("violation", c.ID)
		case outcome == ledger.StateNotAllowed:
			return kernel.Answer{}, closedViolation(&now, &after)
		}
	}
	return kernel.Answer{}, kernel.ErrConflict
}

// closedViolation returns a 400 for a state that cannot follow the current one.
func closedViolation(now, wanted *ledger.StoredViolation) *kernel.Refusal {
	return kernel.Invalid(stateDetail("must be open: the violation is "+ledger.ViolationStates[now.State], ledger.ViolationStates[wanted.State]))
}

// triage commits a change of a violation. The ledger's outbox delivers the audit entry. The audit entry is also
// delivered at once, so it is usually in the log by the time the change is acknowledged. The Directory drops the
// duplicate.
func (h *handler) triage(c *kernel.Call, p *directory.Project, before, after *ledger.StoredViolation) (outcome ledger.TriageOutcome, now ledger.StoredViolation, err error) {
	entry, err := h.AuditWrite(c, c.Project, "", viewTriage(before), viewTriage(after))
	if err != nil {
		return 0, now, err
	}
	commit := directory.Commit{Writes: []directory.Write{entry}}
	audit := abi.Delivery{Class: abi.ClassDirectory, Name: directory.Name, Data: commit.Encode()}
	command := ledger.Triage{
		ID: before.ID, Version: before.Version, State: after.State, Note: after.Note, By: c.Actor.Name, Audit: audit,
	}
	reply, err := h.Store.Objects.Call(c, abi.ClassLedger, p.ID, p.Region, command.Encode())
	if err != nil {
		return 0, now, kernel.Unavailable(err)
	}
	outcome, now, err = ledger.DecodeTriage(reply)
	if err == nil && outcome == ledger.Triaged {
		_, _ = h.Store.Deliver(c, []abi.Delivery{audit}) // the outbox repeats it
	}
	return outcome, now, err
}
