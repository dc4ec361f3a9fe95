package groups_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/test/controltest"
)

// The response has the amount that the meters have reported, and only while there is a budget.
func TestSpent(t *testing.T) {
	controltest.Quiet(t)
	b := bench(t)
	id := group(b, `,"budget":50,"budgetPeriod":"day"`)
	project, key := member(b, id)
	shows := func(want string) {
		t.Helper()
		body := b.Must(200, "GET", groupsPath+"/"+id, "").Body.String()
		if _, got, _ := strings.Cut(body, `"spent":`); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("got %s, want %q", body, want)
		}
	}
	shows(`{"amount":0,"requests":null,"tokens":null,"resetsAt":"`)
	use(b, project, key)
	recall := keymeter.Flush{Recall: true, Ledger: id}
	reply, err := keymeter.DecodeFlushReply(b.Ask(abi.ClassKeyMeter, keys.Hash(key.Text("value")), recall.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	b.Ask(abi.ClassLedger, id, reply.Return)
	shows(`{"amount":1,"requests":null,"tokens":null,"resetsAt":"`)
	b.Memory.FailAll(abi.ClassLedger)
	b.Refused(b.Do("GET", groupsPath+"/"+id, ""), fault.Unavailable)
	b.Memory.Fail = nil
	b.Must(200, "PATCH", groupsPath+"/"+id, `{"enforce":"soft"}`)
	shows(`{"amount":1,"requests":null,"tokens":null,"resetsAt":"`)
	b.Must(200, "PATCH", groupsPath+"/"+id, `{"budget":null}`)
	shows("")
}
