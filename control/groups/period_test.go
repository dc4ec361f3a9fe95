package groups_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/controltest"
)

// Before a new budget period begins, or a budget stops requests again, the keys report what they have spent. That
// counts, although it is less than a minute old.
func TestUnreportedCostsCount(t *testing.T) {
	controltest.Quiet(t)
	for before, patch := range map[string]string{
		`,"budget":50`:                                       `{"budgetPeriod":"week"}`,
		`,"budget":50,"budgetPeriod":"week"`:                 `{"budgetPeriod":"day","budget":40}`,
		`,"budget":50,"enforce":"soft"`:                      `{"enforce":"hard"}`,
		`,"budget":50,"enforce":"soft","budgetPeriod":"day"`: `{"enforce":"hard","budgetPeriod":"month"}`,
	} {
		b := bench(t)
		id := group(b, before)
		project, key := member(b, id)
		if len(chainOf(b, key)) > 0 {
			reserve(b, project, key, "req_1", money.Dollar)
		} else {
			b.Reserve(project, key.Text("value"), "req_1", money.Dollar)
		}
		b.Settle(key.Text("value"), "req_1", money.Dollar)
		b.Memory.FailAll(abi.ClassLedger)
		b.Refused(b.Do("PATCH", groupsPath+"/"+id, patch), fault.Unavailable)
		if stored(b, id).Revision != 0 {
			t.Errorf("%s: changed without a report", patch)
		}
		b.Memory.Fail = nil
		b.Must(200, "PATCH", groupsPath+"/"+id, patch)
		if body := b.Must(200, "GET", groupsPath+"/"+id, "").Body.String(); !strings.Contains(body, `"spent":{"amount":1,`) {
			t.Errorf("%s, %s: %s", before, patch, body)
		}
	}
}

// The same holds for the budget period of a project.
func TestUnreportedCostsOfAProjectCount(t *testing.T) {
	b := bench(t)
	project, key := member(b, "null")
	b.Request(project, key.Text("value"), "req_1", money.Cent)
	b.Memory.FailAll(abi.ClassLedger)
	b.Refused(b.Do("PATCH", project, `{"budgetPeriod":"day"}`), fault.Unavailable)
	b.Memory.Fail = nil
	b.Must(200, "PATCH", project, `{"budgetPeriod":"day"}`)
	report := ledger.Report{FirstDay: controltest.Today, EndDay: controltest.Today + 1, Final: true}
	reply, err := ledger.DecodeReportReply(b.Ask(abi.ClassLedger, idOf(project), report.Encode()))
	if err != nil || reply.UsedPico != money.Cent || reply.Period.Cycle() != calendar.Daily {
		t.Errorf("%+v, %v", reply, err)
	}
}
