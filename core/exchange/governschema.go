package exchange

import (
	"strconv"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/governor/inspect"
	"github.com/postern-ai/postern/core/governor/schema"
)

// checkSchema adds a finding for each choice of a streamed response whose text does not match the project's JSON
// Schema. Package inspect does the same for non-streaming responses. Choices without text, such as tool calls, are
// not checked.
func (x *exchange) checkSchema(result *inspect.Result, r *chat.Response) {
	g := x.guard()
	text := g.settings.Schema.Schema
	if text == "" {
		return
	}
	p := g.check.Policy
	for i := range r.Choices {
		answer := chat.Join(r.Choices[i].Parts, chat.Text)
		if answer == "" {
			continue
		}
		if bad := schema.Validate(text, answer.Plain()); bad.Valid() {
			continue
		}
		found := inspect.Finding{
			Rule: governor.RuleSchema, Action: p.Action(governor.Output, governor.RuleSchema),
			Path: "choices[" + strconv.Itoa(i) + "].message.content",
		}
		result.Tally.Add(p, governor.Output, []governor.Finding{{Rule: governor.RuleSchema}})
		result.Findings = append(result.Findings, found)
		result.Reports = append(result.Reports, inspect.Report{Finding: found, Count: 1})
	}
	result.Decision = result.Tally.Decide(p)
}

// checkStreamSchema checks a stream after it has been sent, because the schema only flags.
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
