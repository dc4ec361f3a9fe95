package control

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

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// booked is an amount of usage that a test reports.
type booked struct {
	day, hour      uint64
	key, model     string
	requests, pico uint64
}

const today = 20_778 // 2026-11-21

// usageBench is a bench with a project, two keys, and 31 days of usage in its real ledger.
func usageBench(t *testing.T) (b *bench, path string, all []booked) {
	b = newBench(t)
	b.memory.reducers = true
	path = b.project()
	var ids []string
	for _, name := range []string{"=first", "second"} {
		b.now = b.now.Add(time.Millisecond)
		ids = append(ids, b.must(201, "POST", path+"/keys", `{"name":"`+name+`"}`).text("id"))
	}
	for i := range uint64(93) {
		all = append(all, booked{today - i%31, i % 24, ids[i%2], []string{"m-a", "vendor/m-b", "m-c"}[i%3], 1 + i%4, 1_000_000_007 * (i + 1)})
	}
	b.absorb(path, all)
	return b, path, all
}

// absorb reports usage to the ledger, from a separate meter for each key.
func (b *bench) absorb(path string, all []booked) {
	b.Helper()
	seqs := map[string]uint64{}
	for _, u := range all {
		seqs[u.key]++
		usage := ledger.Usage{
			Day: u.day, Hour: u.hour, Model: u.model, Requests: u.requests, Misses: u.requests, Prompt: 10 * u.requests,
			Completion: u.requests, CostPico: int64(u.pico),
		}
		for range u.requests {
			usage.Latency.Add(40)
		}
		command := ledger.Absorb{Key: "meter of " + u.key, KeyID: u.key, Seq: seqs[u.key], Usage: []ledger.Usage{usage}}
		b.ask(abi.ClassLedger, path[strings.LastIndex(path, "/")+1:], command.Encode())
	}
}

// sumUp computes the expected totals of each group, by the group's name.
func sumUp(all []booked, wanted func(*booked) bool, group func(*booked) string) map[string]string {
	requests, pico := map[string]uint64{}, map[string]uint64{}
	for i := range all {
		if u := &all[i]; wanted(u) {
			requests[group(u)] += u.requests
			pico[group(u)] += u.pico
		}
	}
	sums := map[string]string{}
	for name, n := range requests {
		sums[name] = fmt.Sprintf(`"requests":%d,"hits":0,"misses":%d,"failed":0,"promptTokens":%d,"completionTokens":%d,"cost":%s,"estimated":0,"expired":0,`+
			`"latency":{"meanMs":40,"p50Ms":56,"p95Ms":56}}`, n, n, 10*n, n, money.Append(nil, int64(pico[name]), money.Dollar))
	}
	return sums
}

func dayOf(day uint64) string { return time.Unix(int64(day)*86400, 0).UTC().Format(time.DateOnly) }

func TestUsageByEveryGrouping(t *testing.T) {
	b, path, all := usageBench(t)
	between := func(first, last uint64) func(*booked) bool {
		return func(u *booked) bool { return u.day >= first && u.day <= last }
	}
	names := map[string]string{all[0].key: `"=first"`, all[1].key: `"second"`}
	for _, c := range []struct {
		query  string
		wanted func(*booked) bool
		group  func(*booked) string // prefix of the row
	}{
		{"", between(today-20, today), func(u *booked) string { return `{"day":"` + dayOf(u.day) + `",` }},
		{"by=day&from=2026-11-20&to=2026-11-21", between(today-1, today), func(u *booked) string { return `{"day":"` + dayOf(u.day) + `",` }},
		{"by=day&model=vendor/m-b&from=2026-10-01", func(u *booked) bool { return u.model == "vendor/m-b" }, func(u *booked) string { return `{"day":"` + dayOf(u.day) + `",` }},
		{"by=day&key=" + all[1].key + "&from=2026-10-01", func(u *booked) bool { return u.key == all[1].key }, func(u *booked) string { return `{"day":"` + dayOf(u.day) + `",` }},
		{"by=hour&from=2026-11-13&to=2026-11-21", between(today-8, today), func(u *booked) string { return fmt.Sprintf(`{"hour":"%sT%02d:00:00.000Z",`, dayOf(u.day), u.hour) }},
		{"by=model&from=2026-10-01", between(0, today), func(u *booked) string { return `{"model":"` + u.model + `",` }},
		{"by=key&from=2026-10-01", between(0, today), func(u *booked) string { return `{"keyId":"` + u.key + `","keyName":` + names[u.key] + `,` }},
		{"by=all&from=2026-10-01&key=" + all[0].key, func(u *booked) bool { return u.key == all[0].key }, func(u *booked) string {
			return `{"day":"` + dayOf(u.day) + `","keyId":"` + u.key + `","model":"` + u.model + `",`
		}},
		{"by=model&key=key_nobody", between(1, 0), nil},
	} {
		got := b.must(200, "GET", path+"/usage?"+c.query, "")
		b.usageIs(c.query, got, sumUp(all, c.wanted, c.group), sumUp(all, c.wanted, func(*booked) string { return "{" })["{"])
	}
}

// usageIs compares the rows and totals of a response with the expected ones.
func (b *bench) usageIs(query string, got reply, rows map[string]string, totals string) {
	b.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(field(got, "rows")), &list); err != nil {
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
		totals = `"requests":0,"hits":0,"misses":0,"failed":0,"promptTokens":0,"completionTokens":0,"cost":0,"estimated":0,"expired":0,"latency":null}`
	}
	if text := field(got, "totals"); text != "{"+totals {
		b.Errorf("%s: totals %s, want {%s", query, text, totals)
	}
}

func TestUsageIsInOrder(t *testing.T) {
	b, path, _ := usageBench(t)
	for _, by := range []string{"day", "hour"} {
		var last string
		for _, row := range b.must(200, "GET", path+"/usage?by="+by+"&from=2026-11-14&to=2026-11-21", "").fields["rows"].([]any) {
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
	b := newBench(t)
	b.memory.reducers = true
	path := b.project()
	var all []booked
	for i := range uint64(9000) {
		all = append(all, booked{today - i%2, 1, fmt.Sprintf("key_%d", i/2), "m", 1, 5})
	}
	b.absorb(path, all)
	got := b.must(200, "GET", path+"/usage?by=key&from=2026-11-20", "")
	if rows := got.fields["rows"].([]any); len(rows) != 4500 || !strings.HasPrefix(field(got, "totals"), `{"requests":9000,`) {
		t.Errorf("%d rows, totals %s", len(rows), field(got, "totals"))
	}
	if rows := b.must(200, "GET", path+"/usage?by=day&key=key_4499&from=2026-11-20", "").fields["rows"].([]any); len(rows) != 2 {
		t.Errorf("%v", rows)
	}
}

func TestInvalidUsageQueries(t *testing.T) {
	b := newBench(t)
	path := b.project()
	for query, want := range map[string][]string{
		"from=2026-11-22&to=2026-11-21": {"from"}, "from=2025-10-17&to=2026-11-21": {"from"}, "to=2026-10-31": {"to"}, "to=2030-01-01": {"to"}, "from=yesterday": {"from"}, "to=2026-11-31": {"to"},
		"from=2026-1-1": {"from"}, "from=1969-12-31": {"from"}, "from=-1&to=%00": {"from", "to"}, "from=2026-12-01": {"from"},
		"by=week": {"by"}, "by=Day": {"by"}, "format=xml": {"format"}, "key=x": {"key"}, "key=proj_1": {"key"}, "model=" + strings.Repeat("m", 201): {"model"},
		"by=hour&from=2026-11-20&key=key_1": {"by"}, "by=hour&from=2026-11-20&model=m": {"by"}, "by=hour&from=2026-11-12&to=2026-11-13": {"by"},
		"by=hour&from=2026-11-20&to=2026-11-29": {"by"}, "by=hour": {"by"},
		"limit=5": {"limit"}, "after=a": {"after"}, "until=2026-11-21": {"until"}, "By=day": {"By"}, "%ff=1": {"\ufffd"}, "x;y=1": {"query"}, "%zz": {"query"},
		strings.Repeat("p", 100) + "=1": {""},
	} {
		got := b.do("GET", path+"/usage?"+query, "")
		b.refused(got, fault.InvalidRequest)
		if !reflect.DeepEqual(got.problems(), want) {
			t.Errorf("%s: %q, want %q", query, got.problems(), want)
		}
	}
	b.memory.reducers = true
	b.must(200, "PATCH", path, `{}`)
	for _, query := range []string{"from=2025-10-18&to=2026-11-21", "from=2026-11-21&to=2026-11-21", "from=9999-12-01&to=9999-12-31", "from=1971-01-01&to=1971-01-01"} {
		b.must(200, "GET", path+"/usage?"+query, "")
	}
	b.refused(b.do("GET", "/api/admin/projects/proj_nobody/usage", ""), fault.NotFound)
}

// download requests usage as a file.
func (b *bench) download(path string) *bytes.Buffer {
	b.Helper()
	r := newRequest("Authorization", "Bearer "+token)
	got := b.raw(r, path)
	if got.Code != 200 {
		b.Fatalf("%s: %d %s", path, got.Code, got.Body)
	}
	return got.Body
}

func TestUsageAsCSV(t *testing.T) {
	b, path, all := usageBench(t)
	b.must(200, "PATCH", path+"/keys/"+all[1].key, `{"name":"with \"quotes\", and ümlauts"}`)
	text := b.download(path + "/usage?by=key&from=2026-10-01&format=csv").String()
	if strings.Count(text, "\r\n") != 3 || strings.Count(text, "\n") != 3 {
		t.Errorf("lines do not end with CRLF: %q", text)
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%v %q", err, rows)
	}
	head := []string{"keyId", "keyName", "requests", "hits", "misses", "failed", "promptTokens", "completionTokens", "cost", "estimated", "expired", "latencyMeanMs", "latencyP50Ms", "latencyP95Ms"}
	if !slices.Equal(rows[0], head) {
		t.Errorf("head %q", rows[0])
	}
	sums := sumUp(all, func(*booked) bool { return true }, func(u *booked) string { return u.key })
	for _, row := range rows[1:] {
		name := map[string]string{all[0].key: "'=first", all[1].key: `with "quotes", and ümlauts`}[row[0]]
		sum := fmt.Sprintf(`"requests":%s,"hits":%s,"misses":%s,"failed":%s,"promptTokens":%s,"completionTokens":%s,"cost":%s,"estimated":%s,"expired":%s,`+
			`"latency":{"meanMs":%s,"p50Ms":%s,"p95Ms":%s}}`, row[2], row[3], row[4], row[5], row[6], row[7], row[8], row[9], row[10], row[11], row[12], row[13])
		if row[1] != name || sum != sums[row[0]] {
			t.Errorf("%q, want %s %s", row, name, sums[row[0]])
		}
	}
	for by, head := range map[string]string{"day": "day", "hour": "hour", "model": "model", "all": "day,keyId,model"} {
		text := b.download(path + "/usage?from=2026-11-20&by=" + by + "&to=2026-11-21&format=csv").String()
		if rows, err := csv.NewReader(strings.NewReader(text)).ReadAll(); err != nil || len(rows) < 2 || !strings.HasPrefix(text, head+",requests,") {
			t.Errorf("%s: %v %s", by, err, text)
		}
	}
}

// No cell begins like a formula, whatever the name of a key or model.
func TestCSVEscapesFormulas(t *testing.T) {
	b := newBench(t)
	b.memory.reducers = true
	path := b.project()
	var all []booked
	for i, name := range []string{"=1+1", "+1", "-1", "@SUM(A1)", `=HYPERLINK("http://x","y")`, "a=1", " =1"} {
		body, _ := encode(map[string]string{"name": name})
		all = append(all, booked{today, 1, b.must(201, "POST", path+"/keys", string(body)).text("id"), name, uint64(i) + 1, 0})
	}
	b.absorb(path, all)
	for _, by := range []string{"key", "model", "all"} {
		rows, err := csv.NewReader(b.download(path + "/usage?format=csv&by=" + by)).ReadAll()
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
	text := b.download(path + "/usage?by=all&from=2026-10-01&format=ndjson").String()
	want := sumUp(all, func(*booked) bool { return true }, func(u *booked) string {
		return `{"day":"` + dayOf(u.day) + `","keyId":"` + u.key + `","model":"` + u.model + `",`
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
		got := b.raw(newRequest("Authorization", "Bearer "+token), path+"/usage?by=model&format="+format)
		want := `attachment; filename="usage-` + id + `-2026-11-01-2026-11-30-model.` + format + `"`
		if h := got.Header(); h.Get("Content-Disposition") != want || h.Get("Content-Type") != mediaType || h.Get("Cache-Control") != "private, no-store" {
			t.Errorf("%s: %v", format, h)
		}
	}
}

// Usage that meters have not reported yet is included.
func TestUnreportedUsageIsIncluded(t *testing.T) {
	b := newBench(t)
	b.memory.reducers = true
	path := b.project()
	value := b.must(201, "POST", path+"/keys", `{"name":"k"}`).text("value")
	for i := range 3 {
		b.request(path, value, fmt.Sprint("req_", i), 2*money.Cent)
	}
	got := b.must(200, "GET", path+"/usage", "")
	want := `{"requests":3,"hits":0,"misses":0,"failed":0,"promptTokens":9,"completionTokens":12,"cost":0.06,"estimated":0,"expired":0,"latency":{"meanMs":40,"p50Ms":56,"p95Ms":56}}`
	if text := field(got, "totals"); text != want {
		t.Errorf("got %s\nwant %s", text, want)
	}
	if text := field(got, "budget"); text != `{"limit":5,"used":0.06,"remaining":4.94,"period":"month","start":"2026-11-01T00:00:00.000Z","end":"2026-12-01T00:00:00.000Z"}` {
		t.Error(text)
	}
	b.request(path, value, "req_late", money.Cent)
	if text := b.budget(path); !strings.Contains(text, `"used":0.07`) {
		t.Error(text)
	}
}
