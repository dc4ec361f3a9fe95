package governor_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/test/controltest"
)

// governed creates a project on a plan with the Governor.
func governed(b *controltest.Bench) string {
	b.Helper()
	id := b.Must(201, "POST", "/api/admin/projects", `{"name":"Test","plan":"developer"}`).Text("id")
	b.Memory.Forget()
	return "/api/admin/projects/" + id
}

func settingsOf(b *controltest.Bench, path string) governor.Settings {
	b.Helper()
	p := b.Stored(path)
	s, err := settings.GovernorOf(&p.Policy)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

const defaultGovernor = `"enabled":false,"strictMode":false,"autoApproveThreshold":30,"reversible":false,"unchecked":"allow","rules":{},` +
	`"keywords":[],"patterns":[],"answerSchema":null,"maxInputCharacters":null,"maxOutputCharacters":null,"classifier":null,"exemptions":[],"exemptAgentAddresses":true`

const fullGovernor = `"enabled":true,"strictMode":true,"autoApproveThreshold":0,"reversible":true,"unchecked":"block",` +
	`"rules":{"personal.email":{"input":"redact","output":"flag","system":"allow"},"secret":{"input":"block","output":"allow"}},` +
	`"keywords":[{"name":"codenames","severity":"high","input":"block","output":"redact","system":"flag","matchCase":true,"words":["Blue Heron","naïve"]}],` +
	`"patterns":[{"name":"employee-id","pattern":"EMP-[0-9]{6}","severity":"medium","input":"flag","output":"redact","system":"allow"}],` +
	`"answerSchema":{"schema":{"type":"object","properties":{"token":{"type":"string"}}},"action":"block","severity":"low"},` +
	`"maxInputCharacters":10000000,"maxOutputCharacters":1,` +
	`"classifier":{"kind":"chat","model":"gpt-4.1","mode":"strict","timeoutMs":10000,"onFailure":"block","threshold":1},` +
	`"exemptions":[{"rule":"personal.email","value":"jane@example.com"},{"rule":null,"pattern":"EMP-0+"}],"exemptAgentAddresses":false`

func TestGovernorDefaults(t *testing.T) {
	b := controltest.New(t)
	path := governed(b)
	want := `{` + defaultGovernor + `,"available":true,"policyVersion":0,"version":1}`
	if got := b.Must(200, "GET", path+"/governor", ""); got.Body.String() != want {
		t.Errorf("got %s\nwant %s", got.Body, want)
	}
	// A missing field gets its default, so an empty object resets all settings. The project then has no policy.
	b.Must(200, "PUT", path+"/governor", `{`+fullGovernor+`}`)
	got := b.Must(200, "PUT", path+"/governor", `{}`)
	if !strings.HasPrefix(got.Body.String(), `{`+defaultGovernor+`,`) || controltest.Field(got, "policyVersion") != "0" {
		t.Error(got.Body)
	}
}

// A GET response can be edited and sent back.
func TestGovernorRoundTrip(t *testing.T) {
	b := controltest.New(t)
	path := governed(b)
	want := `{` + fullGovernor + `,"available":true,"policyVersion":2,"version":2}`
	if got := b.Must(200, "PUT", path+"/governor", `{`+fullGovernor+`}`); got.Body.String() != want {
		t.Errorf("got %s\nwant %s", got.Body, want)
	}
	got := b.Must(200, "GET", path+"/governor", "")
	if got.Body.String() != want {
		t.Errorf("read back: %s", got.Body)
	}
	again := b.Must(200, "PUT", path+"/governor", got.Body.String())
	if controltest.Field(again, "version") != "3" || controltest.Field(again, "policyVersion") != "2" {
		t.Errorf("unchanged settings make a new policy: %s", again.Body)
	}
	summary := `{"enabled":true,"strictMode":true}`
	if p := b.Must(200, "GET", path, ""); controltest.Field(p, "governor") != summary {
		t.Errorf("the project's view: %s", controltest.Field(p, "governor"))
	}
	if s := settingsOf(b, path); !s.Enabled || !s.Strict || s.AutoApprove != 0 || len(s.Lists) != 1 || !s.Classifier.FailClosed {
		t.Errorf("stored: %+v", s)
	}
}

// Settings are part of the policy. A change is acknowledged once it is in force at the keys' meters.
func TestGovernorIsDelivered(t *testing.T) {
	b := controltest.New(t)
	path := governed(b)
	id := strings.TrimPrefix(path, "/api/admin/projects/")
	_, made := b.Key(path)
	b.Must(200, "PUT", path+"/governor", `{"enabled":true}`)
	b.Memory.Deliver(t)
	b.CheckPolicies(id, made.Text("value"), []uint64{2})
	policy, err := doc.DecodePolicy(b.Memory.Kv[doc.PolicyKey(id, 2)])
	if s, bad := settings.GovernorOf(&policy); err != nil || bad != nil || !s.Enabled {
		t.Errorf("%v %v %+v", err, bad, s)
	}
	// A retry after a failed delivery delivers the settings again, although they have not changed.
	controltest.Quiet(t)
	b.Memory.FailAll(abi.ClassKeyMeter)
	b.Refused(b.Do("PUT", path+"/governor", `{"enabled":true,"strictMode":true}`), fault.Unavailable)
	b.Memory.Fail = nil
	b.Memory.Forget()
	b.Must(200, "PUT", path+"/governor", `{"enabled":true,"strictMode":true}`)
	if !slices.ContainsFunc(b.Memory.Sent, func(s controltest.Sent) bool { return s.Class == abi.ClassKeyMeter }) {
		t.Error("the retry was acknowledged without a delivery")
	}
}

func TestGovernorVersions(t *testing.T) {
	b := controltest.New(t)
	path := governed(b)
	b.Must(200, "PUT", path+"/governor", `{"enabled":true,"version":1}`)
	b.Refused(b.Do("PUT", path+"/governor", `{"enabled":false,"version":1}`), fault.Conflict)
	if !settingsOf(b, path).Enabled {
		t.Error("an outdated change was stored")
	}
	b.Must(200, "PUT", path+"/governor", `{"enabled":false,"version":2}`)
	// Without a version, the last write wins.
	b.Must(200, "PUT", path+"/governor", `{"enabled":true}`)
	if !settingsOf(b, path).Enabled {
		t.Error("a change without a version was lost")
	}
}

func TestGovernorNeedsAPlan(t *testing.T) {
	b := controltest.New(t)
	path := b.Project() // on the plan free
	got := b.Do("PUT", path+"/governor", `{"enabled":true}`)
	b.Refused(got, fault.NoGovernor)
	if text := detail(got); text != "enabled cannot be true on the plan free; change the project's plan to developer or unlimited" {
		t.Error(text)
	}
	// Settings can be prepared and then enabled after a change of plan.
	if got := b.Must(200, "PUT", path+"/governor", `{"strictMode":true}`); controltest.Field(got, "available") != "false" {
		t.Error(got.Body)
	}
	b.Must(200, "PATCH", path, `{"plan":"developer"}`)
	b.Must(200, "PUT", path+"/governor", `{"enabled":true,"strictMode":true}`)
	b.Must(200, "PATCH", path, `{"plan":"unlimited","name":"Renamed"}`)

	got = b.Do("PATCH", path, `{"plan":"free"}`)
	b.Refused(got, fault.NoGovernor)
	if text := detail(got); text != "plan free does not include the Governor, which this project has enabled; disable it first, or change the project's plan to developer or unlimited" {
		t.Error(text)
	}
	b.Must(200, "PUT", path+"/governor", `{}`)
	b.Must(200, "PATCH", path, `{"plan":"free"}`)
}

func detail(r controltest.Reply) string {
	details, _ := r.Fields["details"].([]any)
	if len(details) != 1 {
		return r.Body.String()
	}
	one := details[0].(map[string]any)
	return one["field"].(string) + " " + one["message"].(string)
}

// The first of two conflicting commits wins. The project never has the Governor enabled on a plan without it.
func TestGovernorRacesWithThePlan(t *testing.T) {
	for _, planFirst := range []bool{true, false} {
		b := controltest.New(t)
		path := governed(b)
		var codes [2]int
		plan := func() { codes[0] = b.Do("PATCH", path, `{"plan":"free"}`).Code }
		enable := func() { codes[1] = b.Do("PUT", path+"/governor", `{"enabled":true}`).Code }
		first, second := enable, plan
		if planFirst {
			first, second = plan, enable
		}
		b.Interleave(first)
		second()
		want := [2]int{403, 200}
		if planFirst {
			want = [2]int{200, 403}
		}
		if codes != want {
			t.Errorf("plan first %v: %v, want %v", planFirst, codes, want)
		}
	}
}

// The audit log shows what changed, even in fields whose names usually mark secrets in the log.
func TestGovernorIsAudited(t *testing.T) {
	b := controltest.New(t)
	path := governed(b)
	b.Must(200, "PUT", path+"/governor", `{`+fullGovernor+`}`)
	entries, _ := b.Entries("?action=governor")
	if len(entries) != 1 || entries[0]["action"] != "governor.update" {
		t.Fatalf("%v", entries)
	}
	after, _ := json.Marshal(entries[0]["after"])
	for _, want := range []string{`"secret: input block, output allow"`, `\"token\":{`, `"Blue Heron"`, `"enabled":true`} {
		if !strings.Contains(string(after), want) {
			t.Errorf("%s is not in %s", want, after)
		}
	}
	if strings.Contains(string(after), "version") {
		t.Errorf("the version is listed as a change: %s", after)
	}
}

func TestViewersOnlyReadTheGovernor(t *testing.T) {
	b := controltest.New(t)
	b.Viewer = "the-viewer's-token"
	path := governed(b)
	for call, status := range map[[3]string]int{
		{"GET", path + "/governor", ""}:                      200,
		{"GET", "/api/admin/governor/rules", ""}:             200,
		{"PUT", path + "/governor", `{}`}:                    403,
		{"POST", path + "/governor/try", `{"text":"Hello"}`}: 403,
	} {
		if got := b.Do(call[0], call[1], call[2], "Authorization", "Bearer "+b.Viewer); got.Code != status {
			t.Errorf("%v: %d %s", call, got.Code, got.Body)
		}
	}
}

func TestInvalidGovernor(t *testing.T) {
	b := controltest.New(t)
	path := governed(b)
	words := func(n int) string { return strings.TrimSuffix(strings.Repeat(`"ab",`, n), ",") }
	for settings, want := range map[string][]string{
		`"enabled":1`: {"enabled"}, `"strictMode":null`: {"strictMode"}, `"autoApproveThreshold":101`: {"autoApproveThreshold"},
		`"autoApproveThreshold":-1`: {"autoApproveThreshold"}, `"autoApproveThreshold":0.5`: {"autoApproveThreshold"},
		`"unchecked":"flag"`: {"unchecked"}, `"strict":true`: {"strict"}, `"reversible":"yes"`: {"reversible"},
		`"maxInputCharacters":0`: {"maxInputCharacters"}, `"maxOutputCharacters":10000001`: {"maxOutputCharacters"},
		`"rules":[]`: {"rules"}, `"rules":{"personal.nothing":{}}`: {"rules.personal.nothing"}, `"rules":{"keyword":{"input":"flag"}}`: {"rules.keyword"},
		`"rules":{"secret":"block"}`: {"rules.secret"}, `"rules":{"secret":{"input":"reject"}}`: {"rules.secret.input"},
		`"rules":{"secret":{"inputs":"block"}}`: {"rules.secret.inputs"}, `"rules":{"length.input":{"input":"redact"}}`: {"rules.length.input.input"},
		`"rules":{"classifier.verdict":{"input":"block"}}`: {"rules.classifier.verdict"}, `"rules":{"classifier":{"input":"allow"}}`: {"rules.classifier"},
		`"keywords":{}`: {"keywords"}, `"keywords":[5]`: {"keywords"}, `"keywords":null`: {"keywords"},
		`"keywords":[{}]`: {"keywords[0].name", "keywords[0].words"},
		`"keywords":[{"name":"Codes","words":["ab"]}]`:                                       {"keywords[0].name"},
		`"keywords":[{"name":"1st","words":["ab"]}]`:                                         {"keywords[0].name"},
		`"keywords":[{"name":"a","words":[]}]`:                                               {"keywords[0].words"},
		`"keywords":[{"name":"a","words":"ab"}]`:                                             {"keywords[0].words"},
		`"keywords":[{"name":"a","words":["ab",7]}]`:                                         {"keywords[0].words"},
		`"keywords":[{"name":"a","words":["ab","x"]}]`:                                       {"keywords[0].words[1]"},
		`"keywords":[{"name":"a","words":["a\nb"]}]`:                                         {"keywords[0].words[0]"},
		`"keywords":[{"name":"a","words":["` + strings.Repeat("x", 121) + `"]}]`:             {"keywords[0].words[0]"},
		`"keywords":[{"name":"a","words":[` + words(1001) + `]}]`:                            {"keywords[0].words"},
		`"keywords":[{"name":"a","words":["ab"],"severity":"bad"}]`:                          {"keywords[0].severity"},
		`"keywords":[{"name":"a","words":["ab"]},{"name":"a","words":["cd"],"matchCase":1}]`: {"keywords[1].name", "keywords[1].matchCase"},
		`"patterns":[{"name":"p"}]`:                                                          {"patterns[0].pattern"}, `"patterns":[{"pattern":5}]`: {"patterns[0].name", "patterns[0].pattern"},
		`"patterns":[{"name":"p","pattern":"` + strings.Repeat("x", 513) + `"}]`: {"patterns[0].pattern"},
		`"patterns":[{"name":"p","pattern":"("}]`:                                {"patterns[0].pattern"},
		`"answerSchema":{}`: {"answerSchema.schema"}, `"answerSchema":{"schema":"{}"}`: {"answerSchema.schema"},
		`"answerSchema":{"schema":{"format":"email"}}`:   {"answerSchema.schema"},
		`"answerSchema":{"schema":{},"action":"redact"}`: {"answerSchema.action"}, `"answerSchema":[]`: {"answerSchema"},
		`"classifier":{}`: {"classifier.kind"}, `"classifier":{"kind":"chat"}`: {"classifier.model"},
		`"classifier":{"kind":"chat","model":"nothing"}`:                       {"classifier.model"},
		`"classifier":{"kind":"llama-guard"}`:                                  {"classifier.model"},
		`"classifier":{"kind":"moderation","model":"a b"}`:                     {"classifier.model"},
		`"classifier":{"kind":"oracle","model":"gpt-4.1"}`:                     {"classifier.kind"},
		`"classifier":{"kind":"moderation","timeoutMs":99,"threshold":0}`:      {"classifier.timeoutMs", "classifier.threshold"},
		`"classifier":{"kind":"moderation","onFailure":"open","mode":"loose"}`: {"classifier.mode", "classifier.onFailure"},
	} {
		got := b.Do("PUT", path+"/governor", `{`+settings+`}`)
		b.Refused(got, fault.InvalidRequest)
		if fields := got.Problems(); !reflect.DeepEqual(fields, want) {
			t.Errorf("%s: %q, want %q", settings, fields, want)
		}
		got = b.Do("POST", path+"/governor/try", `{"text":"x","settings":{`+settings+`}}`)
		for i := range want {
			want[i] = "settings." + want[i]
		}
		if fields := got.Problems(); !reflect.DeepEqual(fields, want) {
			t.Errorf("%s: draft: %q, want %q", settings, fields, want)
		}
	}
	if version := controltest.Field(b.Must(200, "GET", path, ""), "version"); version != "1" {
		t.Errorf("a rejected change was stored: version %s", version)
	}
}

// If an entry omits a direction, the entry does not change the action for that direction.
func TestHalfAnOverride(t *testing.T) {
	b := controltest.New(t)
	path := governed(b)
	got := b.Must(200, "PUT", path+"/governor",
		`{"rules":{"personal.email":{"input":"redact"},"personal":{"output":"block"},"secret.jwt":{"output":"flag"},"injection":{}}}`)
	const want = `{"injection":{"input":"flag","output":"flag"},"personal":{"input":"flag","output":"block"},` +
		`"personal.email":{"input":"redact","output":"block"},"secret.jwt":{"input":"redact","output":"flag"}}`
	if rules := controltest.Field(got, "rules"); rules != want {
		t.Errorf("got %s\nwant %s", rules, want)
	}
}

func TestClassifierDefaults(t *testing.T) {
	b := controltest.New(t)
	got := b.Must(200, "PUT", governed(b)+"/governor", `{"classifier":{"kind":"moderation"}}`)
	const want = `{"kind":"moderation","model":"omni-moderation-latest","mode":"monitor","timeoutMs":2000,"onFailure":"allow","threshold":50}`
	if classifier := controltest.Field(got, "classifier"); classifier != want {
		t.Errorf("got %s\nwant %s", classifier, want)
	}
}

func TestGovernorRules(t *testing.T) {
	b := controltest.New(t)
	list := b.Must(200, "GET", "/api/admin/governor/rules", "").Body.String()
	for _, want := range []string{
		`{"name":"personal.email","category":"personal","severity":"low","points":5,"input":"flag","output":"flag"}`,
		`{"name":"secret.private-key","category":"secret","severity":"critical","points":100,"input":"redact","output":"redact"}`,
		`{"name":"length.input","category":"length","severity":"medium","points":20,"input":"block","output":"block"}`,
	} {
		if !strings.Contains(list, want) {
			t.Errorf("%s is missing", want)
		}
	}
	// Every listed rule and category can be overridden.
	path := governed(b)
	var listed struct {
		Rules []struct{ Name, Category string }
	}
	if err := json.Unmarshal([]byte(list), &listed); err != nil || len(listed.Rules) < 10 {
		t.Fatal(err, len(listed.Rules))
	}
	for _, rule := range listed.Rules {
		for _, name := range []string{rule.Name, rule.Category} {
			b.Must(200, "PUT", path+"/governor", `{"rules":{`+strconv.Quote(name)+`:{"input":"block","output":"flag"}}}`)
		}
	}
}
