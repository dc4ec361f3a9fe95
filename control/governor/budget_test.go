package governor

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/governor/live"
	"github.com/postern-ai/postern/core/jsontext"
	"github.com/postern-ai/postern/test/livestream"
)

// costly is a pattern that matches every "a". Before the search accepts such a match, it looks for a longer one in the
// bytes after it, in many ways at once. So each "a" in a row of them costs thousands of steps.
const costly = "a|([^x]?){90}x"

// hostile is a text whose search for costly needs more than the budget.
var hostile = strings.Repeat("a", 8<<10)

// costlyPolicy returns a policy with the pattern and no other rules.
func costlyPolicy(t *testing.T, input, output governor.Action, system governor.Override) *governor.Policy {
	t.Helper()
	s := governor.NewSettings()
	for c := range governor.Categories {
		s.Actions = append(s.Actions, governor.RuleActions{Rule: c.String()})
	}
	compiled, err := compilePattern(costly)
	if err != nil {
		t.Fatal(err)
	}
	s.Patterns = []governor.Pattern{{Name: "costly", Severity: governor.Low, Input: input, Output: output, System: system, Source: costly, Program: compiled.Program}}
	return s.Policy()
}

// TestWorkIsBounded: no text makes the patterns take more steps than the budget, and the number of steps depends only
// on the text.
func TestWorkIsBounded(t *testing.T) {
	for _, source := range []string{costly, `(\w|\s){3,90}!`, ".{0,120}X{5}Y", "(a|b|c|d){1,60}e"} {
		for _, text := range []string{hostile, strings.Repeat("abcd ", 64<<10)} {
			var steps [2]governor.Work
			for i := range steps {
				rules := patternRules(t, source)
				rules.Work = &steps[i]
				governor.Scan([]byte(text), rules, nil)
			}
			if steps[0] != steps[1] || steps[0] > governor.MaxWork+governor.MaxInstructions {
				t.Errorf("%s in %.8q… takes %d and %d steps, more than %d", source, text, steps[0], steps[1], governor.MaxWork)
			}
		}
	}
}

// TestRequestPastTheBudget: if the budget is spent, the pattern counts as found, and what cannot be redacted is blocked.
func TestRequestPastTheBudget(t *testing.T) {
	inherited := governor.Override(0)
	for _, c := range []struct {
		input    governor.Action
		system   governor.Override
		decision governor.Decision
		findings bool
	}{
		{governor.Block, inherited, governor.Rejected, true},
		{governor.Redact, inherited, governor.Rejected, true},
		{governor.Flag, inherited, governor.Approve, true},
		{governor.Allow, governor.OverrideBy(governor.Block), governor.Approve, false},
	} {
		check := inspect.Check{Policy: costlyPolicy(t, c.input, governor.Allow, c.system)}
		result := check.Request(inspect.OpenAIRequest, []byte(`{"messages":[{"role":"user","content":"`+hostile+`"}]}`))
		last := len(result.Reports) - 1
		if result.Decision != c.decision || len(result.Findings) > 0 != c.findings {
			t.Errorf("%s: decision %s, %d findings", c.input, result.Decision, len(result.Findings))
		}
		if c.findings && result.Reports[last].Count < 1 {
			t.Errorf("%s: reports %+v", c.input, result.Reports)
		}
	}
}

// TestSystemTextPastTheBudget: a pattern that applies only to system texts blocks the request if it spends the budget.
func TestSystemTextPastTheBudget(t *testing.T) {
	check := inspect.Check{Policy: costlyPolicy(t, governor.Allow, governor.Allow, governor.OverrideBy(governor.Redact))}
	body := []byte(`{"messages":[{"role":"system","content":"` + hostile + `"},{"role":"user","content":"hello"}]}`)
	if result := check.Request(inspect.OpenAIRequest, body); result.Decision != governor.Rejected {
		t.Errorf("decision %s, findings %+v", result.Decision, result.Findings)
	}
}

// TestBudgetIsThatOfOneRequest: within the budget, the pattern is redacted where it matches, even if the request
// before it has spent its budget.
func TestBudgetIsThatOfOneRequest(t *testing.T) {
	check := inspect.Check{Policy: costlyPolicy(t, governor.Redact, governor.Allow, 0)}
	if result := check.Text(hostile, governor.Input); result.Decision != governor.Rejected {
		t.Fatalf("hostile text: decision %s", result.Decision)
	}
	if result := check.Text("b12xa", governor.Input); result.Decision != governor.Approve || string(result.Body) != "[PATTERN_COSTLY][PATTERN_COSTLY]" {
		t.Errorf("ordinary text: decision %s, %q", result.Decision, result.Body)
	}
}

// TestHeaderPastTheBudget: the headers of a request share the budget of the body. Once it is spent, later headers are
// not searched, so a pattern that redacts blocks.
func TestHeaderPastTheBudget(t *testing.T) {
	for _, action := range []governor.Action{governor.Block, governor.Redact} {
		check := inspect.Check{Policy: costlyPolicy(t, action, governor.Allow, 0)}
		result := check.Request(inspect.OpenAIRequest, []byte(`{"messages":[{"role":"user","content":"b"}]}`))
		if check.Header(&result, "x-session", "b"+strings.Repeat("c", 80)); result.Decision != governor.Approve {
			t.Errorf("%s: decision %s, findings %+v", action, result.Decision, result.Findings)
		}
		if check.Header(&result, "x-session", hostile); result.Decision != governor.Rejected {
			t.Errorf("%s: decision %s after the hostile header", action, result.Decision)
		}
	}
}

// stream sends a text in pieces through the checks of a stream. After each piece, only the encoded state is kept.
func stream(t *testing.T, p *governor.Policy, text string, size int) *live.Stream {
	t.Helper()
	deltas := []chat.Delta{{Kind: chat.DeltaStart, ID: "id", Model: "model"}}
	for at := 0; at < len(text); at += size {
		deltas = append(deltas, chat.Delta{Kind: chat.DeltaText, Text: jsontext.Escaped(text[at:min(at+size, len(text))])})
	}
	deltas = append(deltas, chat.Delta{Kind: chat.DeltaFinish, Finish: chat.FinishStop}, chat.Delta{Kind: chat.DeltaEnd})
	result, err := livestream.Run(livestream.Forms[0], &live.Guard{Policy: p}, deltas, 0)
	if err != nil && !result.Stream.Blocked() {
		t.Fatal(err)
	}
	return result.Stream
}

// TestStreamPastTheBudget: the budget is that of the whole stream. Once it is spent, the pattern counts as found.
func TestStreamPastTheBudget(t *testing.T) {
	for action, blocked := range map[governor.Action]bool{governor.Block: true, governor.Redact: true, governor.Flag: false, governor.Allow: false} {
		text := strings.Repeat("b", 16<<10) // it begins no match that ends, and each piece is searched again
		s := stream(t, costlyPolicy(t, governor.Allow, action, 0), text, 16)
		if s.Failed() || s.Blocked() != blocked || len(s.Reports) > 0 != (action != governor.Allow) {
			t.Errorf("%s: blocked %v, failed %v, reports %+v", action, s.Blocked(), s.Failed(), s.Reports)
		}
		if len(s.Reports) > 0 && s.Reports[0].Count != 1 {
			t.Errorf("%s: counted %d times", action, s.Reports[0].Count)
		}
		if s := stream(t, costlyPolicy(t, governor.Allow, action, 0), "bbb", 1); s.Blocked() || len(s.Reports) > 0 {
			t.Errorf("%s: a short text: blocked %v, reports %+v", action, s.Blocked(), s.Reports)
		}
	}
}

// TestExemptionsPastTheBudget: if the patterns of exemptions spend the budget, they exempt nothing more.
func TestExemptionsPastTheBudget(t *testing.T) {
	compiled, err := compilePattern("([a-z]|[^x]){1,80}@corp[.]example")
	if err != nil {
		t.Fatal(err)
	}
	s := governor.NewSettings()
	s.Exemptions = []governor.Exemption{{Rule: "personal.email", Source: "x", Program: compiled.Program}}
	rules, address := s.Policy().Rules(governor.Input), "jane.doe.of.sales@corp.example\n"
	var work governor.Work
	rules.Work = &work
	if found := governor.Scan([]byte(strings.Repeat(address, 10)), rules, nil); len(found) > 0 || work >= governor.MaxWork {
		t.Errorf("%d findings within the budget, %d steps", len(found), work)
	}
	if found := governor.Scan([]byte(strings.Repeat(address, 20000)), rules, nil); len(found) == 0 || work < governor.MaxWork {
		t.Errorf("%d findings past the budget, %d steps", len(found), work)
	}
}
