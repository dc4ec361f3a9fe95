package usage_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/reports"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/test/controltest"
)

// usageBench returns a bench with a project, two keys, and 31 days of usage in the real ledger.
func usageBench(t *testing.T) (b *controltest.Bench, path string, all []controltest.Booked) {
	b = controltest.New(t)
	b.Memory.Reducers = true
	path = b.Project()
	var ids []string
	for _, name := range []string{"=first", "second"} {
		b.Now = b.Now.Add(time.Millisecond)
		ids = append(ids, b.Must(201, "POST", path+"/keys", `{"name":"`+name+`"}`).Text("id"))
	}
	for i := range uint64(93) {
		all = append(all, controltest.Booked{Day: controltest.Today - i%31, Hour: i % 24, Key: ids[i%2], Model: []string{"m-a", "vendor/m-b", "m-c"}[i%3], Requests: 1 + i%4, Pico: 1_000_000_007 * (i + 1)})
	}
	b.Absorb(path, all)
	return b, path, all
}

// sumUp computes the expected totals of each group, keyed by the name of the group.
func sumUp(all []controltest.Booked, wanted func(*controltest.Booked) bool, group func(*controltest.Booked) string) map[string]string {
	requests, pico, cached := map[string]uint64{}, map[string]uint64{}, map[string]ledger.PromptCache{}
	for i := range all {
		if u := &all[i]; wanted(u) {
			requests[group(u)] += u.Requests
			pico[group(u)] += u.Pico
			sum, own := cached[group(u)], u.PromptCache()
			cached[group(u)] = ledger.PromptCache{Read: sum.Read + own.Read, Written: sum.Written + own.Written, SavedPico: sum.SavedPico + own.SavedPico}
		}
	}
	sums := map[string]string{}
	for name, n := range requests {
		sums[name] = fmt.Sprintf(`"requests":%d,"hits":0,"misses":%d,"failed":0,"promptTokens":%d,"completionTokens":%d,"cost":%s,"estimated":0,"expired":0,`+
			`"latency":{"meanMs":40,"p50Ms":56,"p90Ms":56,"p95Ms":56,"p99Ms":56},"timeToFirstToken":null,"promptCache":{"readTokens":%d,"writeTokens":%d,"saved":%s},%s}`,
			n, n, 10*n, n, money.Append(nil, int64(pico[name]), money.Dollar),
			cached[name].Read, cached[name].Written, money.Append(nil, cached[name].SavedPico, money.Dollar), controltest.AttemptsText(n))
	}
	return sums
}

func TestUsageByEveryGrouping(t *testing.T) {
	b, path, all := usageBench(t)
	between := func(first, last uint64) func(*controltest.Booked) bool {
		return func(u *controltest.Booked) bool { return u.Day >= first && u.Day <= last }
	}
	names := map[string]string{all[0].Key: `"=first"`, all[1].Key: `"second"`}
	for _, c := range []struct {
		query  string
		wanted func(*controltest.Booked) bool
		group  func(*controltest.Booked) string // prefix of the row
	}{
		{"", between(controltest.Today-20, controltest.Today), func(u *controltest.Booked) string { return `{"day":"` + controltest.DayOf(u.Day) + `",` }},
		{"by=day&from=2026-11-20&to=2026-11-21", between(controltest.Today-1, controltest.Today), func(u *controltest.Booked) string { return `{"day":"` + controltest.DayOf(u.Day) + `",` }},
		{"by=day&model=vendor/m-b&from=2026-10-01", func(u *controltest.Booked) bool { return u.Model == "vendor/m-b" }, func(u *controltest.Booked) string { return `{"day":"` + controltest.DayOf(u.Day) + `",` }},
		{"by=day&key=" + all[1].Key + "&from=2026-10-01", func(u *controltest.Booked) bool { return u.Key == all[1].Key }, func(u *controltest.Booked) string { return `{"day":"` + controltest.DayOf(u.Day) + `",` }},
		{"by=hour&from=2026-11-13&to=2026-11-21", between(controltest.Today-8, controltest.Today), func(u *controltest.Booked) string {
			return fmt.Sprintf(`{"hour":"%sT%02d:00:00.000Z",`, controltest.DayOf(u.Day), u.Hour)
		}},
		{"by=model&from=2026-10-01", between(0, controltest.Today), func(u *controltest.Booked) string { return `{"model":"` + u.Model + `",` }},
		{"by=key&from=2026-10-01", between(0, controltest.Today), func(u *controltest.Booked) string { return `{"keyId":"` + u.Key + `","keyName":` + names[u.Key] + `,` }},
		{"by=all&from=2026-10-01&key=" + all[0].Key, func(u *controltest.Booked) bool { return u.Key == all[0].Key }, func(u *controltest.Booked) string {
			return `{"day":"` + controltest.DayOf(u.Day) + `","keyId":"` + u.Key + `","model":"` + u.Model + `",`
		}},
		{"by=model&key=key_nobody", between(1, 0), nil},
	} {
		got := b.Must(200, "GET", path+"/usage?"+c.query, "")
		usageIs(b, c.query, got, sumUp(all, c.wanted, c.group), sumUp(all, c.wanted, func(*controltest.Booked) string { return "{" })["{"])
	}
}

func usageIs(b *controltest.Bench, query string, got controltest.Reply, rows map[string]string, totals string) {
	b.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(controltest.Field(got, "rows")), &list); err != nil {
		b.Fatal(err)
	}
	var want []string
	for name, sums := range rows {
		want = append(want, name+sums)
	}
	var have []string
	for _, row := range list {
		have = append(have, string(row))
	}
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(have, want) {
		b.Errorf("%s: %d rows, want %d:\n%s\n%s", query, len(have), len(want), strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	if totals == "" {
		totals = `"requests":0,"hits":0,"misses":0,"failed":0,"promptTokens":0,"completionTokens":0,"cost":0,"estimated":0,"expired":0,"latency":null,"timeToFirstToken":null,"promptCache":{"readTokens":0,"writeTokens":0,"saved":0},` + controltest.AttemptsText(0) + `}`
	}
	if text := controltest.Field(got, "totals"); text != "{"+totals {
		b.Errorf("%s: totals %s, want {%s", query, text, totals)
	}
}

func TestUsageIsInOrder(t *testing.T) {
	b, path, _ := usageBench(t)
	for _, by := range []string{"day", "hour"} {
		var last string
		for _, row := range b.Must(200, "GET", path+"/usage?by="+by+"&from=2026-11-14&to=2026-11-21", "").Fields["rows"].([]any) {
			at := row.(map[string]any)[by].(string)
			if at <= last {
				t.Errorf("%s follows %s", at, last)
			}
			last = at
		}
	}
}

// Results of more than one page are combined.
func TestUsageOfSeveralPages(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	path := b.Project()
	var all []controltest.Booked
	for i := range uint64(9000) {
		all = append(all, controltest.Booked{Day: controltest.Today - i%2, Hour: 1, Key: fmt.Sprintf("key_%d", i/2), Model: "m", Requests: 1, Pico: 5})
	}
	b.Absorb(path, all)
	got := b.Must(200, "GET", path+"/usage?by=key&from=2026-11-20", "")
	if rows := got.Fields["rows"].([]any); len(rows) != 4500 || !strings.HasPrefix(controltest.Field(got, "totals"), `{"requests":9000,`) {
		t.Errorf("%d rows, totals %s", len(rows), controltest.Field(got, "totals"))
	}
	if rows := b.Must(200, "GET", path+"/usage?by=day&key=key_4499&from=2026-11-20", "").Fields["rows"].([]any); len(rows) != 2 {
		t.Errorf("%v", rows)
	}
}

func TestInvalidUsageQueries(t *testing.T) {
	b := controltest.New(t)
	path := b.Project()
	for query, want := range map[string][]string{
		"from=2026-11-22&to=2026-11-21": {"from"}, "from=2025-10-17&to=2026-11-21": {"from"}, "to=2026-10-31": {"to"}, "to=2030-01-01": {"to"}, "from=yesterday": {"from"}, "to=2026-11-31": {"to"},
		"from=2026-1-1": {"from"}, "from=1969-12-31": {"from"}, "from=-1&to=%00": {"from", "to"}, "from=2026-12-01": {"from"},
		"by=week": {"by"}, "by=Day": {"by"}, "format=xml": {"format"}, "key=x": {"key"}, "key=proj_1": {"key"}, "model=" + strings.Repeat("m", 201): {"model"},
		"by=hour&from=2026-11-20&key=key_1": {"by"}, "by=hour&from=2026-11-20&model=m": {"by"}, "by=hour&from=2026-11-12&to=2026-11-13": {"by"},
		"by=hour&from=2026-11-20&to=2026-11-29": {"by"}, "by=hour": {"by"},
		"limit=5": {"limit"}, "after=a": {"after"}, "until=2026-11-21": {"until"}, "By=day": {"By"}, "%ff=1": {"\ufffd"}, "x;y=1": {"query"}, "%zz": {"query"},
		strings.Repeat("p", 100) + "=1": {""},
	} {
		got := b.Do("GET", path+"/usage?"+query, "")
		b.Refused(got, fault.InvalidRequest)
		if !reflect.DeepEqual(got.Problems(), want) {
			t.Errorf("%s: %q, want %q", query, got.Problems(), want)
		}
	}
	b.Memory.Reducers = true
	b.Must(200, "PATCH", path, `{}`)
	for _, query := range []string{"from=2025-10-18&to=2026-11-21", "from=2026-11-21&to=2026-11-21", "from=9999-12-01&to=9999-12-31", "from=1971-01-01&to=1971-01-01"} {
		b.Must(200, "GET", path+"/usage?"+query, "")
	}
	b.Refused(b.Do("GET", "/api/admin/projects/proj_nobody/usage", ""), fault.NotFound)
}

func download(b *controltest.Bench, path string) *bytes.Buffer {
	b.Helper()
	r := controltest.NewRequest("Authorization", "Bearer "+controltest.Token)
	got := b.Raw(r, path)
	if got.Code != 200 {
		b.Fatalf("%s: %d %s", path, got.Code, got.Body)
	}
	return got.Body
}

func TestUsageAsCSV(t *testing.T) {
	b, path, all := usageBench(t)
	b.Must(200, "PATCH", path+"/keys/"+all[1].Key, `{"name":"with \"quotes\", and ümlauts"}`)
	text := download(b, path+"/usage?by=key&from=2026-10-01&format=csv").String()
	if strings.Count(text, "\r\n") != 3 || strings.Count(text, "\n") != 3 {
		t.Errorf("lines do not end with CRLF: %q", text)
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%v %q", err, rows)
	}
	head := []string{"keyId", "keyName", "requests", "hits", "misses", "failed", "promptTokens", "completionTokens", "cost", "estimated", "expired", "latencyMeanMs", "latencyP50Ms", "latencyP90Ms", "latencyP95Ms", "latencyP99Ms",
		"timeToFirstTokenMeanMs", "timeToFirstTokenP50Ms", "timeToFirstTokenP90Ms", "timeToFirstTokenP95Ms", "timeToFirstTokenP99Ms", "promptCacheReadTokens", "promptCacheWriteTokens", "promptCacheSaved", "attempts", "attemptsBusy", "attemptsRejected", "attemptsUnavailable",
		"attemptsTimeout", "attemptsConnection", "attemptsCut", "attemptsUnusable", "attemptsBroken", "rescued", "opened", "served", "refused", "left"}
	if head = append(head, reports.Causes[:]...); !slices.Equal(rows[0], head) {
		t.Errorf("head %q", rows[0])
	}
	sums := sumUp(all, func(*controltest.Booked) bool { return true }, func(u *controltest.Booked) string { return u.Key })
	for _, row := range rows[1:] {
		name := map[string]string{all[0].Key: "'=first", all[1].Key: `with "quotes", and ümlauts`}[row[0]]
		sum := fmt.Sprintf(`"requests":%s,"hits":%s,"misses":%s,"failed":%s,"promptTokens":%s,"completionTokens":%s,"cost":%s,"estimated":%s,"expired":%s,`+
			`"latency":{"meanMs":%s,"p50Ms":%s,"p90Ms":%s,"p95Ms":%s,"p99Ms":%s},"timeToFirstToken":null,"promptCache":{"readTokens":%s,"writeTokens":%s,"saved":%s},"attempts":{"total":%s,"failed":{"busy":%s,"rejected":%s,"unavailable":%s,"timeout":%s,"connection":%s,"cut":%s,`+
			`"unusable":%s,"broken":%s},"rescued":%s,"opened":%s},"outcomes":{"served":%s,"refused":%s,"failed":%s,"left":%s,"causes":{}}}`,
			row[2], row[3], row[4], row[5], row[6], row[7], row[8], row[9], row[10], row[11], row[12], row[13], row[14], row[15], row[21], row[22], row[23],
			row[24], row[25], row[26], row[27], row[28], row[29], row[30], row[31], row[32], row[33], row[34], row[35], row[36], row[5], row[37])
		if row[1] != name || strings.Join(row[16:21], "") != "" || sum != sums[row[0]] {
			t.Errorf("%q, want %s %s", row, name, sums[row[0]])
		}
	}
	for by, head := range map[string]string{"day": "day", "hour": "hour", "model": "model", "all": "day,keyId,model"} {
		text := download(b, path+"/usage?from=2026-11-20&by="+by+"&to=2026-11-21&format=csv").String()
		if rows, err := csv.NewReader(strings.NewReader(text)).ReadAll(); err != nil || len(rows) < 2 || !strings.HasPrefix(text, head+",requests,") {
			t.Errorf("%s: %v %s", by, err, text)
		}
	}
}

// No cell begins like a formula, even if the name of a key or model does.
func TestCSVEscapesFormulas(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	path := b.Project()
	var all []controltest.Booked
	for i, name := range []string{"=1+1", "+1", "-1", "@SUM(A1)", `=HYPERLINK("http://x","y")`, "a=1", " =1"} {
		body, _ := kernel.Encode(map[string]string{"name": name})
		all = append(all, controltest.Booked{Day: controltest.Today, Hour: 1, Key: b.Must(201, "POST", path+"/keys", string(body)).Text("id"), Model: name, Requests: uint64(i) + 1, Pico: 0})
	}
	b.Absorb(path, all)
	for _, by := range []string{"key", "model", "all"} {
		rows, err := csv.NewReader(download(b, path+"/usage?format=csv&by="+by)).ReadAll()
		if err != nil || len(rows) != len(all)+1 {
			t.Fatalf("%v %q", err, rows)
		}
		for _, cell := range slices.Concat(rows...) {
			if strings.ContainsAny(cell[:min(1, len(cell))], "=+-@\t\r") {
				t.Errorf("%s: %q", by, cell)
			}
		}
	}
}

func TestUsageAsNDJSON(t *testing.T) {
	b, path, all := usageBench(t)
	text := download(b, path+"/usage?by=all&from=2026-10-01&format=ndjson").String()
	want := sumUp(all, func(*controltest.Booked) bool { return true }, func(u *controltest.Booked) string {
		return `{"day":"` + controltest.DayOf(u.Day) + `","keyId":"` + u.Key + `","model":"` + u.Model + `",`
	})
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != len(want) {
		t.Errorf("%d lines, want %d", len(lines), len(want))
	}
	for _, line := range lines {
		at := strings.Index(line, `"requests"`)
		if want[line[:at]] != line[at:] {
			t.Errorf("%s\nwant %s", line, want[line[:at]])
		}
	}
}

func TestDownloadHeaders(t *testing.T) {
	b, path, _ := usageBench(t)
	id := path[strings.LastIndex(path, "/")+1:]
	for format, mediaType := range map[string]string{"csv": "text/csv; charset=utf-8", "ndjson": "application/x-ndjson"} {
		got := b.Raw(controltest.NewRequest("Authorization", "Bearer "+controltest.Token), path+"/usage?by=model&format="+format)
		want := `attachment; filename="usage-` + id + `-2026-11-01-2026-11-30-model.` + format + `"`
		if h := got.Header(); h.Get("Content-Disposition") != want || h.Get("Content-Type") != mediaType || h.Get("Cache-Control") != "private, no-store" {
			t.Errorf("%s: %v", format, h)
		}
	}
}

// Usage that meters have not reported yet is included.
func TestUnreportedUsageIsIncluded(t *testing.T) {
	b := controltest.New(t)
	b.Memory.Reducers = true
	path := b.Project()
	value := b.Must(201, "POST", path+"/keys", `{"name":"k"}`).Text("value")
	for i := range 3 {
		b.Request(path, value, fmt.Sprint("req_", i), 2*money.Cent)
	}
	got := b.Must(200, "GET", path+"/usage", "")
	want := `{"requests":3,"hits":0,"misses":0,"failed":0,"promptTokens":9,"completionTokens":12,"cost":0.06,"estimated":0,"expired":0,"latency":{"meanMs":40,"p50Ms":40,"p90Ms":40,"p95Ms":40,"p99Ms":40},"timeToFirstToken":null,` +
		`"promptCache":{"readTokens":0,"writeTokens":0,"saved":0},"attempts":{"total":3,"failed":{"busy":0,"rejected":0,"unavailable":0,"timeout":0,"connection":0,"cut":0,"unusable":0,"broken":0},"rescued":0,"opened":0},"outcomes":{"served":3,"refused":0,"failed":0,"left":0,"causes":{}}}`
	if text := controltest.Field(got, "totals"); text != want {
		t.Errorf("got %s\nwant %s", text, want)
	}
	if text := controltest.Field(got, "budget"); text != `{"limit":5,"used":0.06,"remaining":4.94,"period":"month","start":"2026-11-01T00:00:00.000Z","end":"2026-12-01T00:00:00.000Z"}` {
		t.Error(text)
	}
	b.Request(path, value, "req_late", money.Cent)
	if text := b.Budget(path); !strings.Contains(text, `"used":0.07`) {
		t.Error(text)
	}
}
