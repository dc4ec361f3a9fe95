package usage_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/test/controltest"
)

// unserved returns the n-th of a test's requests that were not served.
func unserved(n uint64) ledger.Record {
	return ledger.Record{
		AtMs: 1_795_248_000_000 + n, ID: fmt.Sprintf("req_f%031x", n), End: []ledger.End{ledger.EndLimited, ledger.EndTimeout, ledger.EndLeft}[n%3],
		Status: []uint64{429, 504, 499}[n%3], Model: "m-a", Provider: "openai", Body: []byte(`{"code":"c","message":"M","endpoint":"/v1/chat/completions","durationMs":7}`),
	}
}

// tell reports requests that were not served, three at a time.
func tell(b *controltest.Bench, path string, from, to uint64) {
	b.Helper()
	for n := from; n < to; n += 3 {
		t := ledger.Tally{Source: 1, Seq: n/3 + 1, KeyID: "key_1"}
		for i := range uint64(3) {
			r := unserved(n + i)
			t.Counts = append(t.Counts, ledger.EndCount{Hour: r.AtMs / 3_600_000, Model: r.Model, End: r.End, Count: 1})
			t.Records = append(t.Records, r)
		}
		b.Tally(path, t)
	}
}

// TestListHasBoth checks that the list has each request exactly once, for every page size. The list has both served
// requests and others.
func TestListHasBoth(t *testing.T) {
	b, path := recalled(t, 100)
	tell(b, path, 0, 3000)
	for _, limit := range []string{"1", "7", "100"} {
		ids, _ := requestIDsOf(b, path, "limit="+limit)
		served, others := 0, 0
		for _, id := range ids {
			if strings.HasPrefix(id, "req_f") {
				others++
			} else {
				served++
			}
		}
		if slices.Sort(ids); served != 300 || others != 3000 || len(slices.Compact(ids)) != 3300 {
			t.Errorf("limit %s: %d served, %d others", limit, served, others)
		}
	}
}

func TestOutcomeAndCauseFilters(t *testing.T) {
	b, path := recalled(t, 5)
	tell(b, path, 0, 30)
	for query, want := range map[string]int{
		"outcome=refused": 10 + 3, "outcome=failed": 10 + 3, "outcome=left": 10, "outcome=served": 6, "cause=rate_limit": 10, "cause=provider_timeout": 10,
		"cause=budget": 0, "status=429": 10, "status=4xx": 20 + 3, "status=5xx": 10 + 3, "key=key_1": 30 + 6, "model=m-a&cause=client_left": 10, "cache=hit": 5,
	} {
		if ids, _ := requestIDsOf(b, path, query+"&limit=100"); len(ids) != want {
			t.Errorf("%s: %d requests, want %d", query, len(ids), want)
		}
	}
	for _, bad := range []string{"outcome=lost", "cause=magic", "after=batch_0", "after=batch_1x1", "after=batch_x5", "after=batch_5x", "after=batch_5x5x5"} {
		if got := b.Do("GET", path+"/requests?"+bad, ""); got.Code != 400 {
			t.Errorf("%s: %d", bad, got.Code)
		}
	}
}

// A failed stream has its time to first token in the same field as a served stream. Its diagnosis has the time as
// well.
func TestFirstTokenOfFailedStreams(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	path := b.Project()
	r := unserved(1)
	r.Body = []byte(`{"code":"c","message":"M","endpoint":"/v1/chat/completions","durationMs":7,"stream":true,"timeToFirstTokenMs":5}`)
	b.Tally(path, ledger.Tally{Source: 1, Seq: 1, KeyID: "key_1", Records: []ledger.Record{r, unserved(2)}})
	list := b.Must(200, "GET", path+"/requests", "").Fields["requests"].([]any)
	var got []any
	for _, r := range list {
		r := r.(map[string]any)
		got = append(got, r["timeToFirstTokenMs"], r["diagnosis"].(map[string]any)["timeToFirstTokenMs"])
	}
	if want := "[<nil> <nil> 5 5]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestFindRequest searches for requests in the first, in the last and in another one of many projects. A page makes
// at most 40 calls.
func TestFindRequest(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	var paths []string
	for range 80 {
		paths = append(paths, b.Project())
	}
	slices.Sort(paths) // the order of projects that were created in the same millisecond is random
	tell(b, paths[0], 0, 3)
	tell(b, paths[79], 3, 6)
	recall(b, paths[40], [][]ledger.Request{{remembered(4)}})
	for id, place := range map[string]int{unserved(1).ID: 0, unserved(5).ID: 79, remembered(4).ID: 40} {
		pages, after := 0, ""
		for {
			pages++
			before := len(b.Memory.Sent)
			got := b.Must(200, "GET", "/api/admin/requests/"+id+after, "")
			if calls := len(b.Memory.Sent) - before; calls > 40 {
				t.Errorf("%d calls", calls)
			}
			if got.Fields["request"] != nil {
				found := got.Fields["request"].(map[string]any)
				project := got.Fields["project"].(map[string]any)["id"].(string)
				if found["requestId"] != id || !strings.HasSuffix(paths[place], project) || fmt.Sprint(got.Fields["searched"]) != fmt.Sprint(place+1) || got.Fields["next"] != nil {
					t.Errorf("%s: %v", id, got.Fields)
				}
				break
			}
			if after = "?after=" + got.Text("next"); pages > 20 {
				t.Fatal("no end")
			}
		}
		if place > 0 && pages < 2 {
			t.Errorf("%s was found on page %d", id, pages)
		}
	}
	after := ""
	for range 20 {
		got := b.Do("GET", "/api/admin/requests/req_00000000000000000000000000000000"+after, "")
		if got.Code == 404 {
			if !strings.Contains(got.Body.String(), "80 projects were searched") {
				t.Error(got.Body)
			}
			after = "end"
			break
		}
		after = "?after=" + got.Text("next")
	}
	if after != "end" {
		t.Error("a request that nobody has is looked for without end")
	}
	for _, bad := range []string{"at_", "at_1x2", "at_axbxcx", "batch_5", "at_1x1x1x../x"} {
		if got := b.Do("GET", "/api/admin/requests/"+unserved(1).ID+"?after="+bad, ""); got.Code != 400 {
			t.Errorf("%s: %d", bad, got.Code)
		}
	}
}

// TestEveryCauseHasAName checks that every end of a request has a unique name in the API.
func TestEveryCauseHasAName(t *testing.T) {
	seen := map[string]bool{"": true}
	for end, name := range reports.Causes {
		if seen[name] {
			t.Errorf("end %d is called %q", end, name)
		}
		seen[name] = true
	}
}

// TestProviderTextIsForOwners checks that owners see the provider's message in the list and in the search. Viewers
// must not see the message, and exports must not contain it.
func TestProviderTextIsForOwners(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers, b.Viewer = true, controltest.ViewerToken
	path := b.Project()
	r := unserved(1)
	r.Body = []byte(`{"code":"c","message":"M","endpoint":"/v1/chat/completions","durationMs":7,"providerText":"Say \"mark\" <b>","providerError":{"status":503,"type":"t"}}`)
	without := unserved(2)
	without.Body = []byte(`{"code":"c","message":"M","endpoint":"/v1/chat/completions","durationMs":7,"providerError":{"status":500}}`)
	b.Tally(path, ledger.Tally{Source: 1, Seq: 1, KeyID: "key_1", Records: []ledger.Record{r, without}})
	viewer := []string{"Authorization", "Bearer " + controltest.ViewerToken}
	for at, query := range map[string]string{path + "/requests": "?request=" + r.ID, "/api/admin/requests/" + r.ID: ""} {
		got := b.Must(200, "GET", at+query, "").Body.String()
		if !strings.Contains(got, `"providerError":{"status":503,"type":"t","message":"Say \"mark\" <b>"}`) || strings.Contains(got, "providerText") {
			t.Errorf("the owner gets %s", got)
		}
		seen := b.Do("GET", at+query, "", viewer...)
		if text := seen.Body.String(); seen.Code != 200 || strings.Contains(text, "mark") || !strings.Contains(text, `"providerError":{"status":503,"type":"t"}`) {
			t.Errorf("a viewer gets %d %s", seen.Code, text)
		}
	}
	if got := b.Must(200, "GET", path+"/requests?request="+without.ID, "").Body.String(); !strings.Contains(got, `"providerError":{"status":500}`) {
		t.Errorf("without a message: %s", got)
	}
	exported, next := "", ""
	for pages := 0; pages == 0 || next != ""; pages++ {
		page := b.Do("GET", path+"/compliance/export?type=access&after="+next, "").Body.String()
		var head struct{ Next string }
		if err := json.NewDecoder(strings.NewReader(page)).Decode(&head); err != nil || pages > 9 {
			t.Fatalf("%v, %d pages: %s", err, pages, page)
		}
		exported, next = exported+page, head.Next
	}
	if strings.Contains(exported, "mark") || !strings.Contains(exported, `"providerError":{"status":503,"type":"t"}`) {
		t.Errorf("an export has %s", exported)
	}
}
