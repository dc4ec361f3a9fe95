package projects_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/controltest"
)

// recalls returns the names of the Ledgers whose budget meters must return, among calls.
func recalls(calls []controltest.Sent, ledgers ...string) (names []string) {
	for _, name := range ledgers {
		recall := keymeter.Flush{Recall: true, Ledger: name}
		for _, s := range calls {
			if s.Class == abi.ClassKeyMeter && slices.Equal(s.Command, recall.Encode()) {
				names = append(names, name)
			}
		}
	}
	return names
}

// TestEnforce checks that the keys' records say whether their project's budget stops requests. When it becomes hard, also
// if it already is, the response waits until its Ledgers know what the meters have counted.
func TestEnforce(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	id := b.Must(201, "POST", "/api/admin/projects", `{"name":"x","budget":5,"enforce":"soft","limits":{"requestsPerPeriod":5}}`).Text("id")
	project := "/api/admin/projects/" + id
	key := b.Must(201, "POST", project+"/keys", `{"name":"k"}`)
	seen := 0
	for _, c := range []struct {
		body     string
		soft     bool
		recalled []string
	}{
		{`{"name":"y"}`, true, nil},
		{`{"enforce":"hard"}`, false, []string{"", id + "#requests"}},
		{`{"enforce":"hard"}`, false, []string{"", id + "#requests"}},
		{`{"limits":{"tokensPerPeriod":9}}`, false, nil},
		{`{"enforce":"soft"}`, true, nil},
		{`{"enforce":"hard","budget":9}`, false, []string{"", id + "#tokens"}},
	} {
		got := b.Must(200, "PATCH", project, c.body)
		word := map[bool]string{true: "soft", false: "hard"}[c.soft]
		record := b.RecordOf(key)
		if got.Text("enforce") != word || record.Soft != c.soft || record.Chain[0].Soft != c.soft {
			t.Errorf("%s: %s, %+v", c.body, got.Body, record)
		}
		if names := recalls(b.Memory.Sent[seen:], "", id+"#requests", id+"#tokens"); !slices.Equal(names, c.recalled) {
			t.Errorf("%s: recalls of %q, want %q", c.body, names, c.recalled)
		}
		seen = len(b.Memory.Sent)
	}
	for _, value := range []string{`"weak"`, `""`, `null`, `true`} {
		b.Refused(b.Do("PATCH", project, `{"enforce":`+value+`}`), fault.InvalidRequest)
	}
}

// TestSpendingOfASoftProject checks that a budget that becomes hard counts the spending that its keys have not reported
// yet.
func TestSpendingOfASoftProject(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	project := b.Project()
	b.Must(200, "PATCH", project, `{"budget":1,"enforce":"soft"}`)
	_, key := b.Key(project)
	b.Request(project, key.Text("value"), "req_1", 3*money.Dollar)
	b.Must(200, "PATCH", project, `{"enforce":"hard"}`)
	if got := b.Budget(project); !strings.Contains(got, `"used":3`) || !strings.Contains(got, `"remaining":0`) {
		t.Error(got)
	}
}
