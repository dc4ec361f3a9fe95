package groups_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/controltest"
)

// num returns a number as the response spells it.
func num(got controltest.Reply, field string) string { return fmt.Sprint(got.Fields[field]) }

// prepaid creates a project and a key with prepaid budgets, and a group with one. It returns the paths of all three.
func prepaid(b *controltest.Bench) []string {
	b.Helper()
	id := group(b, `,"budget":1,"budgetPeriod":"total"`)
	project, key := member(b, id)
	b.Must(200, "PATCH", project, `{"budget":1,"budgetPeriod":"total"}`)
	path := project + "/keys/" + key.Text("id")
	b.Must(200, "PATCH", path, `{"budget":1,"budgetPeriod":"total"}`)
	return []string{groupsPath + "/" + id, project, path}
}

func TestTopUps(t *testing.T) {
	b := bench(t)
	for _, path := range prepaid(b) {
		before := num(b.Must(200, "GET", path, ""), "version")
		for n, want := range []string{
			`{"number":1,"amount":0.5,"total":0.5,"budget":1.5}`, `{"number":2,"amount":0.000000000001,"total":0.500000000001,"budget":1.500000000001}`,
		} {
			got := b.Must(201, "POST", path+"/credits", []string{`{"amount":0.5,"note":"Invoice"}`, `{"amount":1e-12}`}[n])
			if got.Body.String() != want {
				t.Errorf("%s: got %s, want %s", path, got.Body, want)
			}
		}
		now := b.Must(200, "GET", path, "")
		if num(now, "budget") != "1.500000000001" || num(now, "version") == before {
			t.Error(now.Body)
		}
		b.Refused(b.Do("PATCH", path, `{"budget":5,"version":`+before+`}`), fault.Conflict)
	}
	log, _ := b.Entries("")
	seen := map[string]string{}
	for _, e := range log {
		if after, ok := e["after"].(map[string]any); ok && after["credit"] != nil {
			seen[fmt.Sprint(e["action"], after["credit"].(map[string]any)["note"])] = fmt.Sprint(after["budget"])
		}
	}
	if want := map[string]string{
		"group.creditInvoice": "1.5", "project.creditInvoice": "1.5", "key.creditInvoice": "1.5", "group.credit": "1.500000000001",
		"project.credit": "1.500000000001", "key.credit": "1.500000000001",
	}; !reflect.DeepEqual(seen, want) {
		t.Errorf("audited: %v", seen)
	}
}

// A repeat counts once, also if the first answer was lost, and then makes sure that the credit is in force.
func TestRepeatedTopUps(t *testing.T) {
	controltest.Quiet(t)
	b := bench(t)
	for _, path := range prepaid(b) {
		b.Memory.Fail = func(class abi.Class, _ string, _ []byte) error {
			if class != abi.ClassDirectory {
				return controltest.ErrOut
			}
			return nil
		}
		b.Refused(b.Do("POST", path+"/credits", `{"amount":2}`, "Idempotency-Key", "a"), fault.Unavailable)
		b.Memory.Fail, b.Memory.Sent = nil, nil
		first := b.Do("POST", path+"/credits", `{"amount":2}`, "Idempotency-Key", "a")
		if first.Code != 201 || num(first, "budget") != "3" || len(b.Memory.Sent) == 0 {
			t.Errorf("%s: %s, then %d deliveries", path, first.Body, len(b.Memory.Sent))
		}
		if other := b.Do("POST", path+"/credits", `{"amount":2}`, "Idempotency-Key", "b"); num(other, "number") != "2" {
			t.Error(other.Body)
		}
		b.Refused(b.Do("POST", path+"/credits", `{"amount":3}`, "Idempotency-Key", "a"), fault.Conflict)
		b.Must(200, "PATCH", path, `{"budgetPeriod":"day"}`)
		if again := b.Do("POST", path+"/credits", `{"amount":2}`, "Idempotency-Key", "a"); again.Body.String() != first.Body.String() {
			t.Errorf("%s: %s, then %s", path, first.Body, again.Body)
		}
		b.Refused(b.Do("POST", path+"/credits", `{"amount":2}`), fault.Conflict)
	}
}

// The last hundred top-ups are remembered, and their numbers continue.
func TestManyTopUps(t *testing.T) {
	b := bench(t)
	path := groupsPath + "/" + group(b, `,"budgetPeriod":"total"`)
	for n := range 103 {
		got := b.Do("POST", path+"/credits", `{"amount":1}`, "Idempotency-Key", fmt.Sprint(n))
		if got.Code != 201 || num(got, "number") != fmt.Sprint(n+1) || num(got, "budget") != fmt.Sprint(n+1) || num(got, "total") != fmt.Sprint(n+1) {
			t.Fatal(got.Body)
		}
	}
	if got := b.Do("POST", path+"/credits", `{"amount":1}`, "Idempotency-Key", "3"); num(got, "number") != "4" {
		t.Error(got.Body)
	}
	if got := b.Do("POST", path+"/credits", `{"amount":1}`, "Idempotency-Key", "2"); num(got, "number") != "104" {
		t.Error("the 101st last is still remembered:", got.Body)
	}
}

// The first top-up of a group without a budget gives it one, which the meters below then ask for.
func TestFirstTopUp(t *testing.T) {
	b := bench(t)
	id := group(b, `,"budgetPeriod":"total"`)
	_, key := member(b, id)
	check(b, key)
	b.Must(201, "POST", groupsPath+"/"+id+"/credits", `{"amount":7}`)
	check(b, key, id)
	isApplied(b, id, true)
	if !granted(b, id, 7*money.Dollar) {
		t.Error("the Ledger does not have the credit")
	}
	b.Memory.Sent = nil
	b.Must(201, "POST", groupsPath+"/"+id+"/credits", `{"amount":2}`)
	if isApplied(b, id, true); len(b.Memory.Sent) != 1 {
		t.Errorf("a further top-up made %d calls, want that of the Ledger", len(b.Memory.Sent))
	}
}

func TestConcurrentTopUps(t *testing.T) {
	b := bench(t)
	for _, path := range prepaid(b) {
		b.Interleave(func() { b.Must(201, "POST", path+"/credits", `{"amount":2}`) })
		if got := b.Must(201, "POST", path+"/credits", `{"amount":4}`); num(got, "number") != "2" || num(got, "budget") != "7" {
			t.Errorf("%s: %s", path, got.Body)
		}
	}
}

func TestMalformedTopUps(t *testing.T) {
	b := bench(t)
	for _, path := range prepaid(b) {
		for body, field := range map[string]string{
			`{}`: "amount", `{"amount":0}`: "amount", `{"amount":-1}`: "amount", `{"amount":"1"}`: "amount", `{"amount":9000000}`: "amount", `{"amount":9000001}`: "amount",
			`{"amount":1e-13}`: "amount", `{"amount":1,"note":""}`: "note", `{"amount":1,"note":"a\nb"}`: "note", `{"amount":1,"number":1}`: "number",
		} {
			got := b.Do("POST", path+"/credits", body)
			if b.Refused(got, fault.InvalidRequest); !reflect.DeepEqual(got.Problems(), []string{field}) {
				t.Errorf("%s: %s", body, got.Body)
			}
		}
		got := b.Do("POST", path+"/credits", `{"amount":1}`, "Idempotency-Key", "ä")
		if b.Refused(got, fault.InvalidRequest); !reflect.DeepEqual(got.Problems(), []string{"Idempotency-Key"}) {
			t.Error(got.Body)
		}
		if now := b.Must(200, "GET", path, ""); num(now, "budget") != "1" {
			t.Error(now.Body)
		}
	}
	b.Refused(b.Do("POST", groupsPath+"/grp_none/credits", `{"amount":1}`), fault.NotFound)
}
