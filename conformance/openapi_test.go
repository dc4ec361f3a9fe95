package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/api/root"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/host"
)

const contractPath = "../docs/openapi.yaml"

const anyRequestID = "req_0123456789abcdef0123456789abcdef"

func newContract(t *testing.T) *Contract {
	t.Helper()
	contract, err := NewContract(contractPath)
	if err != nil {
		t.Fatal(err)
	}
	return contract
}

// answered is a response to check. check adds the headers common to all responses. "-NAME" in headers removes one.
type answered struct {
	method, path string
	status       int
	body         string
	headers      []string // name, value pairs
}

func (a *answered) check(c *Contract) error {
	header := http.Header{
		"Content-Type": {"application/json"}, "X-Request-Id": {anyRequestID}, "Cache-Control": {"private, no-store"},
		"Server-Timing": {"total;dur=3"}, "Date": {"Sat, 21 Nov 2026 12:00:00 GMT"},
	}
	if strings.HasPrefix(a.path, "/api/admin") {
		header.Del("Server-Timing")
		header.Set("X-Content-Type-Options", "nosniff")
	}
	for i := 0; i < len(a.headers); i += 2 {
		if name, away := strings.CutPrefix(a.headers[i], "-"); away {
			header.Del(name)
		} else {
			header.Set(name, a.headers[i+1])
		}
	}
	return c.Check(httptest.NewRequest(a.method, a.path, nil), &http.Response{StatusCode: a.status, Header: header}, []byte(a.body))
}

func errorBody(f fault.Fault, details ...fault.Detail) string {
	return string(f.Append(nil, anyRequestID, details))
}

const (
	goodHealth = `{"status":"ok","authenticated":true,"project_id":"proj_1"}`
	goodUsage  = `{"budget":{"limit":1,"used":0.25,"remaining":0.75},"cache":{"hits":0,"misses":0,"hitRate":0},"promptCache":{"readTokens":1,"writeTokens":2,"saved":-0.5},` +
		`"models":{"m":{"requests":1,"tokens":2,"cost":0.25}},` +
		`"period":{"start":"2026-11-01T00:00:00.000Z","end":"2026-12-01T00:00:00.000Z"}}`
	goodKey = `{"id":"key_1","name":"n","kind":"gateway","environment":"production","prefix":"sk_live_","last4":"abcd",` +
		`"status":"active","createdAt":"2026-11-01T00:00:00.000Z","lastUsedAt":null,"models":[],` +
		`"permissions":["models"],"limits":{"requestsPerSecond":null,"requestsPerDay":null,"tokensPerMinute":5,"requestsPerPeriod":null,"tokensPerPeriod":null},` +
		`"budget":null,"budgetPeriod":"month","enforce":"hard","expiresAt":null,` +
		`"replacedBy":null,"version":1}`
	tableHead = "model,requests,hits,misses,failed,promptTokens,completionTokens,cost,estimated,expired,latencyMeanMs,latencyP50Ms,latencyP90Ms,latencyP95Ms,latencyP99Ms,timeToFirstTokenMeanMs,timeToFirstTokenP50Ms,timeToFirstTokenP90Ms,timeToFirstTokenP95Ms,timeToFirstTokenP99Ms,promptCacheReadTokens,promptCacheWriteTokens,promptCacheSaved," +
		"attempts,attemptsBusy,attemptsRejected,attemptsUnavailable,attemptsTimeout,attemptsConnection,attemptsCut,attemptsUnusable,attemptsBroken,rescued,opened,served,refused,left,invalid_request,unauthorized,budget,forbidden,not_found,method,conflict,too_large,media_type,blocked," +
		"rate_limit,provider_rejected,provider_busy,provider_unavailable,provider_timeout,provider_unreachable,provider_cut,provider_unusable,gateway,client_left\r\n"
	goodRow = `{"model":"m","requests":1,"hits":0,"misses":1,"failed":0,"promptTokens":1,"completionTokens":1,"cost":0.1,"estimated":0,` +
		`"expired":0,"latency":null,"timeToFirstToken":null,"promptCache":{"readTokens":0,"writeTokens":0,"saved":0},"attempts":{"total":1,"failed":{"busy":1,"rejected":0,"unavailable":0,` +
		`"timeout":0,"connection":0,"cut":0,"unusable":0,"broken":0},"rescued":0,"opened":0},"outcomes":{"served":1,"refused":0,"failed":0,"left":0,"causes":{}}}` + "\n"
	goodRoot     = `{"name":"Postern","version":"` + root.Version + `","docs":"/docs/","health":"/api/health","models":"/v1/models","endpoints":["GET /api/health"]}`
	projectUsage = "/api/admin/projects/proj_1/usage"
)

var (
	csvHeaders    = []string{"Content-Type", "text/csv; charset=utf-8", "Content-Disposition", `attachment; filename="usage-proj_1-2026-11-01-2026-11-30-model.csv"`}
	challenge     = []string{"WWW-Authenticate", "Bearer", "X-Should-Retry", "false"}
	rootHeaders   = []string{"Vary", "Accept"}
	pageHeaders   = []string{"Vary", "Accept", "Content-Type", "text/html; charset=utf-8"}
	ndjsonHeaders = []string{"Content-Type", "application/x-ndjson", "Content-Disposition", `attachment; filename="usage-proj_1-2026-11-01-2026-11-30-model.ndjson"`}
)

func TestContractAccepts(t *testing.T) {
	t.Parallel()
	c := newContract(t)
	for _, a := range []answered{
		{"GET", "/api/health", 200, goodHealth, nil},
		{"GET", "/api/health?x=y", 200, goodHealth, []string{"ratelimit", `"second";r=10;t=0, "day";r=9;t=3`, "Content-Type", "application/json; charset=utf-8"}},
		{"GET", "/api/usage", 200, goodUsage, nil},
		{"GET", "/api/health", 401, errorBody(fault.MissingKey), challenge},
		{"GET", "/api/nothing", 404, errorBody(fault.NotFound), nil},
		{"PUT", "/api/health", 405, errorBody(fault.MethodNotAllowed), []string{"Allow", "GET, HEAD"}},
		{"HEAD", "/api/health", 200, "", nil},
		{"PUT", "/api/admin/projects", 405, errorBody(fault.MethodNotAllowed), []string{"Allow", "GET, HEAD, POST"}},
		{"PUT", "/api/admin/projects", 404, errorBody(fault.NotFound), []string{"-X-Content-Type-Options", ""}},
		{"POST", "/api/admin/projects/proj_1/keys/key_1/deactivate", 200, goodKey, nil},
		{"DELETE", "/api/admin/projects/proj_1/keys/key_1", 204, "", []string{"-Content-Type", "", "-X-Content-Type-Options", ""}},
		{"GET", projectUsage, 200, tableHead + "m,1,0,1,0,1,1,0.1,0,0,,,,,,,,,,,0,0,0,1,0,0,0,0,0,0,0,0,0,0,1" + strings.Repeat(",0", 22) + "\r\n", csvHeaders},
		{"GET", projectUsage, 200, goodRow + goodRow, ndjsonHeaders},
		{"GET", projectUsage, 200, "", ndjsonHeaders},
		{"GET", "/api/usage", 400, errorBody(fault.InvalidRequest, fault.Detail{Field: "projectId", Message: "is required"}), nil},
		{"GET", "/", 200, goodRoot, rootHeaders},
		{"GET", "/", 200, "<!doctype html>\n<p>", pageHeaders},
	} {
		if err := a.check(c); err != nil {
			t.Error(err)
		}
	}
}

func TestContractRejects(t *testing.T) {
	t.Parallel()
	c := newContract(t)
	with := func(body, old, new string) string { return strings.Replace(body, old, new, 1) }
	for what, a := range map[string]answered{
		"an undescribed status":                  {"GET", "/api/health", 418, goodHealth, nil},
		"another operation's status":             {"GET", "/api/health", 402, errorBody(fault.BudgetExceeded), nil},
		"200 for an unknown path":                {"GET", "/api/nothing", 200, goodHealth, nil},
		"405 for an unknown path":                {"GET", "/api/nothing", 405, errorBody(fault.MethodNotAllowed), []string{"Allow", "GET"}},
		"a path with a trailing slash":           {"GET", "/api/health/", 200, goodHealth, nil},
		"an escaped slash":                       {"GET", "/api/admin/projects/proj_1%2Fkeys", 201, goodHealth, nil},
		"200 for an unknown operation":           {"POST", "/api/health", 200, goodHealth, nil},
		"405 without allow":                      {"PUT", "/api/health", 405, errorBody(fault.MethodNotAllowed), nil},
		"HEAD without a described GET":           {"HEAD", "/api/ai/complete", 200, "", nil},
		"405 with another allow":                 {"PUT", "/api/health", 405, errorBody(fault.MethodNotAllowed), []string{"Allow", "GET, POST"}},
		"405 without HEAD":                       {"PUT", "/api/health", 405, errorBody(fault.MethodNotAllowed), []string{"Allow", "GET"}},
		"404 with another error's body":          {"GET", "/api/nothing", 404, errorBody(fault.Forbidden), nil},
		"a missing header":                       {"GET", "/api/health", 200, goodHealth, []string{"-X-Request-Id", ""}},
		"a malformed header":                     {"GET", "/api/health", 200, goodHealth, []string{"X-Request-Id", "1"}},
		"an undescribed header":                  {"GET", "/api/health", 200, goodHealth, []string{"X-Postern-Key", "sk_live_1"}},
		"a header that is not a number":          {"GET", "/api/health", 200, goodHealth, []string{"X-Ratelimit-Limit-Requests", "many"}},
		"a malformed optional header":            {"GET", "/api/health", 200, goodHealth, []string{"Ratelimit", "9"}},
		"a public cache":                         {"GET", "/api/health", 200, goodHealth, []string{"Cache-Control", "public"}},
		"401 without a challenge":                {"GET", "/api/health", 401, errorBody(fault.MissingKey), challenge[2:]},
		"401 that is retried":                    {"GET", "/api/health", 401, errorBody(fault.MissingKey), challenge[:2]},
		"429 with a retry-after above a minute":  {"GET", "/api/health", 429, errorBody(fault.RateLimited), []string{"Retry-After", "61"}},
		"429 with a limit of no kind":            {"GET", "/api/health", 429, with(errorBody(fault.RateLimited), "{", `{"limit":{"name":"requests"},`), nil},
		"an empty body":                          {"GET", "/api/health", 200, "", nil},
		"a body that is not JSON":                {"GET", "/api/health", 200, "ok", nil},
		"two JSON values":                        {"GET", "/api/health", 200, goodHealth + goodHealth, nil},
		"another content type":                   {"GET", "/api/health", 200, goodHealth, []string{"Content-Type", "text/plain"}},
		"no content type":                        {"GET", "/api/health", 200, goodHealth, []string{"-Content-Type", ""}},
		"an extra member":                        {"GET", "/api/health", 200, with(goodHealth, "{", `{"key":"sk_live_1",`), nil},
		"a missing member":                       {"GET", "/api/health", 200, with(goodHealth, `"authenticated":true,`, ""), nil},
		"a wrong type":                           {"GET", "/api/health", 200, with(goodHealth, "true", `"true"`), nil},
		"a fractional count":                     {"GET", "/api/usage", 200, with(goodUsage, `"requests":1`, `"requests":1.5`), nil},
		"a model with an extra member":           {"GET", "/api/usage", 200, with(goodUsage, `"cost"`, `"price":1,"cost"`), nil},
		"a rate above 100":                       {"GET", "/api/usage", 200, with(goodUsage, `"hitRate":0`, `"hitRate":100.5`), nil},
		"an invalid date":                        {"GET", "/api/usage", 200, with(goodUsage, "11-01T", "11-31T"), nil},
		"a key's value shown again":              {"POST", "/api/admin/projects/proj_1/keys/key_1/reactivate", 200, with(goodKey, "{", `{"value":"sk_live_1",`), nil},
		"a new key without its value":            {"POST", "/api/admin/projects/proj_1/keys", 201, goodKey, nil},
		"204 with a body":                        {"DELETE", "/api/admin/projects/proj_1/keys/key_1", 204, "{}", []string{"-Content-Type", "", "-X-Content-Type-Options", ""}},
		"400 without details":                    {"GET", "/api/usage", 400, errorBody(fault.InvalidRequest), nil},
		"401 with details":                       {"GET", "/api/usage", 401, errorBody(fault.MissingKey, fault.Detail{Field: "key", Message: "is missing"}), challenge},
		"a code with another error's text":       {"GET", "/api/health", 401, with(errorBody(fault.MissingKey), "Missing API key", "Invalid or inactive API key"), challenge},
		"an unknown code":                        {"GET", "/api/nothing", 404, with(errorBody(fault.NotFound), "not_found", "lost"), nil},
		"a table without a head":                 {"GET", projectUsage, 200, "m,1,0,1,0,1,1,0.1,0,0,,,,0,0,0,1,0,0,0,0,0,0,0,0,0\r\n", csvHeaders},
		"a table with a short row":               {"GET", projectUsage, 200, tableHead + "m,1\r\n", csvHeaders},
		"an invalid line":                        {"GET", projectUsage, 200, goodRow + with(goodRow, "{", `{"value":"sk_live_1",`), ndjsonHeaders},
		"a line without a newline":               {"GET", projectUsage, 200, strings.TrimSpace(goodRow), ndjsonHeaders},
		"an invalid file name":                   {"GET", projectUsage, 200, goodRow, append(csvHeaders[2:3:3], `attachment; filename="x"`, "Content-Type", "application/x-ndjson")},
		"a malformed request ID":                 {"GET", "/api/nothing", 404, with(errorBody(fault.NotFound), anyRequestID, "1"), nil},
		"another version":                        {"GET", "/", 200, with(goodRoot, root.Version, "0.0.0"), rootHeaders},
		"a page that is not HTML":                {"GET", "/", 200, goodRoot, pageHeaders},
		"a negotiated content type without vary": {"GET", "/", 200, goodRoot, nil},
	} {
		if a.check(c) == nil {
			t.Errorf("%s was accepted", what)
		}
	}
}

// TestContractHasAllFaults checks that every row of the fault table is described as an error of some operation or of
// an unknown path.
func TestContractHasAllFaults(t *testing.T) {
	t.Parallel()
	c := newContract(t)
	for _, f := range fault.All() {
		status := strconv.FormatUint(f.Status(), 10)
		body := errorBody(f)
		switch {
		case f.Place() == fault.InLog:
			continue
		case f.Status() == 400:
			body = errorBody(f, fault.Detail{Field: "body", Message: "is wrong"})
		}
		if !c.describesBody(status, body) {
			t.Errorf("docs/openapi.yaml: no described response with status %s matches %s", status, body)
		}
	}
}

// TestContractListsCodes checks that the codes of the native format are those of the fault table.
func TestContractListsCodes(t *testing.T) {
	t.Parallel()
	want := map[string]bool{}
	for _, f := range fault.All() {
		if f.Place() != fault.InLog {
			want[f.Code()] = true
		}
	}
	listed, _, err := newContract(t).at("/components/schemas/ErrorCode")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range listed["enum"].([]any) {
		if !want[code.(string)] {
			t.Errorf("ErrorCode in docs/openapi.yaml has %s, which is not an error of the native format in core/fault", code)
		}
		delete(want, code.(string))
	}
	for code := range want {
		t.Errorf("ErrorCode in docs/openapi.yaml lacks %s", code)
	}
}

// describesBody reports whether a body is valid for any response with that status.
func (c *Contract) describesBody(status, body string) bool {
	places := []string{elsewhere + "/" + status}
	for _, path := range c.paths {
		for method := range path.methods {
			places = append(places, pointer("paths", strings.Join(path.segments, "/"), strings.ToLower(method), "responses", status))
		}
	}
	for _, place := range places {
		described, at, err := c.at(place)
		if err == nil && c.checkBody(object(described["content"]), at+"/content", "application/json", []byte(body)) == nil {
			return true
		}
	}
	return false
}

// TestContractExample checks that a deployment without an overlay returns the document's test mode examples.
func TestContractExample(t *testing.T) {
	t.Parallel()
	c := newContract(t)
	local, err := NewLocal(map[string]string{"POSTERN_ADMIN_TOKEN": AdminToken}, host.NewNative)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	post := func(path, body string, headers ...string) map[string]any {
		request, err := http.NewRequest("POST", local.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set(headers[0], headers[1])
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		if err == nil {
			err = c.Check(request, response, answer)
		}
		if err != nil {
			t.Fatal(err)
		}
		var value map[string]any
		_ = json.Unmarshal(answer, &value)
		return value
	}
	const projects = "/api/admin/projects"
	project := post(projects, `{"name":"Example"}`, "Authorization", "Bearer "+AdminToken)
	key := post(fmt.Sprint(projects, "/", project["id"], "/keys"), `{"name":"Example","environment":"development"}`, "Authorization", "Bearer "+AdminToken)
	operation := pointer("paths", "/api/ai/complete", "post")
	request := c.example(t, operation+pointer("requestBody", "content", "application/json", "examples", "least", "value"))
	for _, name := range []string{"testMode", "cached"} {
		body, _ := json.Marshal(request)
		got := post("/api/ai/complete", string(body), "X-API-Key", fmt.Sprint(key["value"]))
		want := c.example(t, operation+pointer("responses", "200", "content", "application/json", "examples", name, "value"))
		got["latencyMs"], want["latencyMs"] = nil, nil // the clock of this gateway does not advance
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, the document has %v", name, got, want)
		}
		local.host.Wait()
	}
}

// example returns an object of the document with float64 numbers.
func (c *Contract) example(t *testing.T, place string) map[string]any {
	t.Helper()
	found, _, err := c.at(place)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	var plain map[string]any
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&plain); err != nil {
		t.Fatal(err)
	}
	return plain
}
