// Package settings contains the project and key settings that several resources show or change.
package settings

import (
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
)

// VersionPolicy sets the version of a changed policy. The version is the number of the project revision that changed
// the policy.
func VersionPolicy(before, after *directory.Project) {
	old := before.Policy
	after.Policy.Version = old.Version
	if string(after.Policy.Encode()) == string(old.Encode()) {
		return
	}
	after.Policy.Version = after.Revision + 1
	if after.Policy.Empty() {
		after.Policy = doc.Policy{}
	}
}

// ProjectChange returns the commit that changes a project.
func ProjectChange(cp *kernel.Plane, before, after *directory.Project, entry directory.Write) kernel.Change {
	made := kernel.Change{Writes: []directory.Write{kernel.WriteProject(after), entry}, Deliveries: cp.Store.SettingsOf(after)}
	if before.Policy.Version != after.Policy.Version {
		if after.Policy.Version != 0 {
			made.Deliveries = append(made.Deliveries, directory.PolicyTo(after))
		}
		if before.Policy.Version != 0 {
			made.Deliveries = append(made.Deliveries, directory.OldPolicyTo(before))
		}
	}
	if affectsKeys(&before.Project, &after.Project) {
		made.Republish = []string{after.ID}
	}
	return made
}

// affectsKeys reports whether a change alters the keys' records or status.
func affectsKeys(before, after *doc.Project) bool {
	return doc.NewRecord(&doc.Key{}, 0, before, 0).Differs(doc.NewRecord(&doc.Key{}, 0, after, 0)) || before.Archived != after.Archived || before.GroupArchived != after.GroupArchived
}

// PlanNames returns the names of the plans, starting with the default plan.
func PlanNames(cp *kernel.Plane) []string {
	names := []string{cp.Catalog.DefaultPlan}
	for _, plan := range cp.Catalog.Plans {
		if !strings.EqualFold(plan.Name, names[0]) {
			names = append(names, plan.Name)
		}
	}
	return names
}

// TierNames returns the names of the tiers.
func TierNames(cp *kernel.Plane) []string {
	var names []string
	for _, t := range cp.Catalog.Tiers {
		names = append(names, t.Name)
	}
	return names
}

// EnforcementWord returns the API's word for an enforcement.
func EnforcementWord(e doc.Enforcement) string {
	return kernel.Translate(e, Enforcements, EnforcementWords)
}

// Budget periods: the API's words and the calendar's cycles, in the same order.
var (
	CycleWords = []string{"month", "week", "day", "total"}
	Cycles     = []calendar.Cycle{calendar.Monthly, calendar.Weekly, calendar.Daily, calendar.Total}
)

// StartOf returns the start of a budget period, or nil if it is the only one.
func StartOf(p calendar.Period) *string {
	first, _ := p.Bounds()
	return boundOf(p, first)
}

// EndOf returns the end of a budget period, or nil if it never ends.
func EndOf(p calendar.Period) *string {
	_, end := p.Bounds()
	return boundOf(p, end)
}

func boundOf(p calendar.Period, day uint64) *string {
	if !p.Resets() {
		return nil
	}
	text := kernel.Timestamp(day * calendar.DayMs)
	return &text
}

// SetCycle sets a budget's cycle, given the API's word, and counts the change if it is one.
func SetCycle(cycle *calendar.Cycle, epoch *uint64, word string) {
	if to := kernel.Translate(word, CycleWords, Cycles); to != *cycle {
		*cycle, *epoch = to, *epoch+1
	}
}

// The API's words for enforcements and their values, in the same order.
var (
	EnforcementWords = []string{"off", "warn", "enforce"}
	Enforcements     = []doc.Enforcement{doc.EnforceOff, doc.EnforceWarn, doc.Enforce}
)

// ProjectStatus returns a project's status in the API.
func ProjectStatus(p *directory.Project) string {
	if p.Archived {
		return "archived"
	}
	return "active"
}
