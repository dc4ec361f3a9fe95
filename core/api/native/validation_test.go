package native_test

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/native"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
)

// problems returns each problem as "field message", one per line.
func problems(p *api.Parser) (lines string) {
	for _, d := range p.Details {
		lines += d.Field + " " + d.Message + "\n"
	}
	return lines
}

func TestInvalidValidations(t *testing.T) {
	for body, want := range map[string]string{
		`{}`: "body must have exactly one of text, texts and messages, got 0\n",
		`{"text":"a","texts":["b"],"messages":[]}`: "body must have exactly one of text, texts and messages, got 3\n",
		`{"text":7}`:                                         "text must be a string, got a number\n",
		`{"texts":"a"}`:                                      "texts must be an array, got a string\n",
		`{"texts":[]}`:                                       "texts must have 1 to 100 elements, got 0\n",
		`{"texts":["a",{}]}`:                                 "texts[1] must be a string, got an object\n",
		`{"messages":{}}`:                                    "messages must be an array, got an object\n",
		`{"messages":[{},"a"]}`:                              "messages[1] must be an object, got a string\n",
		`{"text":"a","direction":"both"}`:                    "direction must be input or output, got \"both\"\n",
		`{"text":"a","direction":7}`:                         "direction must be input or output, got 7\n",
		`{"text":"a","model":"m"}`:                           "model is not a field of this endpoint; omit it\n",
		`{"direction":"both"}`:                               "direction must be input or output, got \"both\"\n",
		`{"text":"a","sk-upstream-SWORD-7f3a9c":1}`:          "a string of 24 bytes is not a field of this endpoint; omit it\n",
		`{"texts":["` + strings.Repeat(`a","`, 100) + `a"]}`: "texts must have 1 to 100 elements, got 101\n",
	} {
		p := api.Parser{}
		native.ParseValidation(&p, gjson.Parse(body))
		if got := problems(&p); got != want {
			t.Errorf("%.60s: got %s, want %s", body, got, want)
		}
	}
	for _, list := range []string{`"texts":[` + strings.Repeat("1,", 200) + `1]`, `"messages":[` + strings.Repeat("1,", 200) + `1]`} {
		p := api.Parser{}
		native.ParseValidation(&p, gjson.Parse("{"+list+"}"))
		if len(p.Details) != 20 {
			t.Errorf("%.20s: got %d problems, want 20", list, len(p.Details))
		}
	}
}

func TestParseValidation(t *testing.T) {
	for body, want := range map[string]native.Validation{
		`{"text":"a"}`:                                      {Direction: governor.Input, Text: gjson.Parse(`"a"`)},
		`{"text":"a","direction":"input"}`:                  {Direction: governor.Input, Text: gjson.Parse(`"a"`)},
		`{"direction":"output","texts":["a"]}`:              {Direction: governor.Output, Texts: gjson.Parse(`["a"]`)},
		`{"messages":[]}`:                                   {Messages: gjson.Parse(`[]`)},
		`{"messages":[{"role":"user"}]}`:                    {Messages: gjson.Parse(`[{"role":"user"}]`)},
		`{"texts":["` + strings.Repeat(`a","`, 99) + `a"]}`: {Texts: gjson.Parse(`["` + strings.Repeat(`a","`, 99) + `a"]`)},
		`{"texts":["a"],"direction":"\u006futput"}`:         {Direction: governor.Output, Texts: gjson.Parse(`["a"]`)},
		`{"\u0074ext":"a\n","direction":"\u0069nput"}`:      {Text: gjson.Parse(`"a\n"`)},
	} {
		p := api.Parser{}
		got := native.ParseValidation(&p, gjson.Parse(body))
		if problems(&p) != "" || got.Direction != want.Direction || got.Text.Raw != want.Text.Raw || got.Texts.Raw != want.Texts.Raw || got.Messages.Raw != want.Messages.Raw {
			t.Errorf("%.60s: got %+v and problems %s", body, got, problems(&p))
		}
	}
}

// validated returns the response to a request with the given field. results are the results for texts, in order.
func validated(member string, results ...inspect.Result) string {
	v := native.ParseValidation(&api.Parser{}, gjson.Parse("{"+member+"}"))
	settings := governor.NewSettings()
	return string(native.AppendValidated(nil, &v, &native.Validated{Results: results, Policy: settings.Policy(), PolicyVersion: 3, RequestID: "req_1"}))
}

func TestAppendValidated(t *testing.T) {
	clean := inspect.Result{}
	risky := inspect.Result{Decision: governor.Review, Tally: governor.Tally{Risk: 45}, Findings: []inspect.Finding{{Rule: governor.RuleSchema, Action: governor.Flag, Path: "text", End: 3}}}
	redacted := inspect.Result{Body: []byte(`say "[X]"`)}
	messages := inspect.Result{Decision: governor.Rejected, Body: []byte(`{"messages":[{"role":"user","content":"[X]"}]}`)}

	const approved = `"approved":true,"decision":"approve","riskScore":0,"findings":[],"redacted":`
	const reviewed = `"approved":false,"decision":"review","riskScore":45,"findings":[{"rule":"schema.answer","category":"schema","severity":"medium",` +
		`"action":"flag","path":"text","start":0,"end":3}],"redacted":null`
	const end = `"policyVersion":3,"requestId":"req_1"}`
	for _, c := range []struct{ got, want string }{
		{validated(`"text":"a"`, clean), "{" + approved + "null," + end},
		{validated(`"text":"a"`, redacted), "{" + approved + `"say \"[X]\"",` + end},
		{validated(`"text":"a"`, risky), "{" + reviewed + "," + end},
		{validated(`"texts":["a","b","c"]`, risky, clean, redacted), `{"results":[{` + reviewed + `},{` + approved + `null},{` + approved + `"say \"[X]\""}],` + end},
		{validated(`"texts":["a"]`, clean), `{"results":[{` + approved + `null}],` + end},
		{validated(`"messages":[]`, clean), "{" + approved + "null," + end},
		{
			validated(`"messages":[]`, messages),
			`{"approved":false,"decision":"block","riskScore":0,"findings":[],"redacted":[{"role":"user","content":"[X]"}],` + end,
		},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

func TestValidationBody(t *testing.T) {
	v := native.ParseValidation(&api.Parser{}, gjson.Parse(`{"messages":[ {"role":"user"}]}`))
	if got := string(v.Body()); got != `{"messages":[ {"role":"user"}]}` {
		t.Errorf("got %s", got)
	}
}

func TestAppendFindings(t *testing.T) {
	settings := governor.NewSettings()
	found := []inspect.Finding{
		{Rule: governor.RuleSchema, Action: governor.Block, Path: `choices[0]."x"`, Start: 5, End: 25}, {Rule: governor.RuleSchema, Action: governor.Flag},
	}
	const rule = `{"rule":"schema.answer","category":"schema","severity":"medium","action":`
	for n, want := range []string{
		"x[]",
		"x[" + rule + `"block","path":"choices[0].\"x\"","start":5,"end":25}]`,
		"x[" + rule + `"block","path":"choices[0].\"x\"","start":5,"end":25},` + rule + `"flag","path":"","start":0,"end":0}]`,
	} {
		if got := string(native.AppendFindings([]byte("x"), found[:n], settings.Policy())); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
