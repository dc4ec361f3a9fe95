package exchange

import (
	"strconv"
	"strings"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/governor/schema"
)

// checkSchema adds a finding for each choice whose text does not satisfy the project's JSON Schema. A choice that only
// calls tools has no text to compare. The finding's path names the keyword that is not satisfied and its place in the
// text, a JSON Pointer.
func (x *exchange) checkSchema(result *inspect.Result, r *chat.Response) {
	g := x.guard()
	text := g.settings.Schema.Schema
	if text == "" {
		return
	}
	p := g.check.Policy
	for i := range r.Choices {
		answer := chat.Join(r.Choices[i].Parts, chat.Text)
		if answer == "" && hasTool(r.Choices[i].Parts) {
			continue
		}
		bad := schema.Validate(text, answer.Plain())
		if bad.Valid() {
			continue
		}
		found := inspect.Finding{
			Rule: governor.RuleSchema, Action: p.Action(governor.Output, governor.RuleSchema),
			Path: strings.TrimSpace("choices[" + strconv.Itoa(i) + "].text " + bad.Keyword + " " + bad.Path), End: len(answer.Plain()),
		}
		result.Tally.Add(p, governor.Output, []governor.Finding{{Rule: governor.RuleSchema}})
		result.Findings = append(result.Findings, found)
		result.Reports = append(result.Reports, inspect.Report{Finding: found, Count: 1})
	}
	result.Decision = result.Tally.Decide(p)
}

func hasTool(parts []chat.Part) bool {
	for i := range parts {
		if parts[i].Kind == chat.ToolCall {
			return true
		}
	}
	return false
}

// checkStreamSchema checks a complete stream, which has been sent, with a schema that only flags.
func (x *exchange) checkStreamSchema(r *chat.Response) {
	g := &x.s.govern
	if !g.schema {
		return
	}
	result := inspect.Result{Tally: g.live.Tally}
	x.checkSchema(&result, r)
	if result.Decision == governor.Rejected {
		result.Decision = governor.Review // it has been sent
	}
	g.output = verdict{result.Decision, uint64(result.Tally.Risk)}
	g.violations = x.violations(g.violations, &result, governor.Output)
}
