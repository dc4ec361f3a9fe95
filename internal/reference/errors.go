package reference

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/api/anthropic"
	"github.com/postern-ai/postern/core/api/openai"
	"github.com/postern-ai/postern/core/fault"
)

const errorsHead = `Every error has a code. Codes are stable, but messages can change, so programs should compare codes. The dashboard shows the
same advice beside each request, and the [client libraries](../clients/behavior.md) have an error type for each kind.`

const shapesText = `The body has the format of the endpoint. The native endpoints, which start with ` + "`/api/`" + `, and the admin API return:`

const shapesOpenAI = "The endpoints in OpenAI's format return the code as `error.code`, and a type that OpenAI's SDKs know:"

const shapesAnthropic = `The endpoints in Anthropic's format (` + "`/v1/messages`" + `, and ` + "`/v1/models`" + ` with the header ` + "`anthropic-version`" + `) return a
type that Anthropic's SDKs know. This format has no place for a code:`

const shapesMore = `- **Details** name the field and the problem. The formats of OpenAI and Anthropic have one message, which contains the first detail.
- **The Governor's findings** are in the field ` + "`findings`" + `, in all formats.
- **An exceeded limit or budget** adds the fields ` + "`limit`, `resetsAt` and `raisedBy`" + ` in all formats. The limit on requests in progress
  has no ` + "`resetsAt`" + `. If a daily limit or the budget is used up, the type in OpenAI's format is ` + "`insufficient_quota`" + `. On
  ` + "`/v1/responses`" + `, the type is then ` + "`usage_limit_reached`, with `resets_at`" + `, and Codex gets 429 instead of 402.
- **A stream that has begun** ends with an error event in its format. Its status stays 200.
- **The request ID** is in the body and in the header ` + "`x-request-id`" + `. Use it to find the request in the logs and in the dashboard.`

const retriesText = `Each error below says whether a client may send the same request again.

- **Yes**: a repeat may succeed. If the response has ` + "`x-should-retry: false`" + `, it will not.
- **After a change**: the same request fails again until the request, the key or the configuration changes.
- **` + "`Retry-After`" + `** is the time to wait, in seconds, at most 60. ` + "`retry-after-ms`" + ` has it in milliseconds. If a limit resets
  later, the response has neither header, because clients would wait without a message. The time is then in ` + "`resetsAt`" + `.

The [client libraries](../clients/behavior.md) and the SDKs of OpenAI and Anthropic follow these headers.`

// Errors returns the page about errors.
func Errors() string {
	p := newPage("Errors", "core/fault")
	p.text(errorsHead)
	p.heading(2, "Formats of errors")
	sample := api.Error{
		Fault: fault.UnknownModel, RequestID: "req_0123456789abcdef0123456789abcdef",
		Details: []fault.Detail{{Field: "model", Message: `"gpt-4.1-mimi" is not in the catalog; similar models that this key may use: gpt-4.1-mini`}},
	}
	p.text(shapesText)
	p.json(sample.Append(nil, sample.RequestID, sample.Details))
	p.text(shapesOpenAI)
	p.json(openai.Error(nil, &sample))
	p.text(shapesAnthropic)
	p.json(anthropic.Error(nil, &sample))
	p.text(shapesMore)
	p.heading(2, "Retries")
	p.text(retriesText)
	p.heading(2, "All errors")
	groups := faultsByCode()
	p.table([]string{"Code", "Status", "Retry", "Meaning"}, errorRows(groups))
	for _, group := range groups {
		p.errorSection(group)
	}
	return p.String()
}

// json writes a code block.
func (p *page) json(body []byte) { p.text("```json\n" + string(body) + "\n```") }

// faultsByCode returns the faults sorted by status. Faults with the same code are grouped together.
func faultsByCode() (groups [][]fault.Fault) {
	for _, f := range fault.All() {
		i := slices.IndexFunc(groups, func(g []fault.Fault) bool { return g[0].Code() == f.Code() })
		if i < 0 {
			groups = append(groups, []fault.Fault{f})
		} else {
			groups[i] = append(groups[i], f)
		}
	}
	slices.SortStableFunc(groups, func(a, b []fault.Fault) int { return cmp.Compare(a[0].Status(), b[0].Status()) })
	return groups
}

func errorRows(groups [][]fault.Fault) (rows [][]string) {
	for _, group := range groups {
		f := group[0]
		link := fmt.Sprintf("[`%s`](#%s)", f.Code(), f.Code())
		rows = append(rows, []string{link, fmt.Sprint(f.Status()), retryWord(f), f.Meaning()})
	}
	return rows
}

// guides has links to the pages that explain how to do what the remedy says. The remedy has no links, because the
// dashboard shows it as plain text.
var guides = map[fault.Fault]string{
	fault.InvalidKey:     " See [Keys](../guides/keys.md).",
	fault.BudgetExceeded: " See [Limits and budgets](../guides/limits-and-budgets.md#set-limits-and-budgets).",
	fault.Forbidden:      " See [permissions](../concepts/projects-keys-plans.md#key).",
	fault.ModelForbidden: " See [Change a key](../guides/keys.md#change-a-key) and [The model registry](../guides/registry.md#register-and-approve-a-model).",
	fault.NoGovernor:     " See [Plans](plans.md).",
	fault.NoMasterKey:    " See [Set the master key](../guides/provider-keys.md#set-the-master-key).",
	fault.Blocked:        " See [Guardrails](../guides/governor.md).",
	fault.RateLimited:    " See [Limits and budgets](../guides/limits-and-budgets.md#set-limits-and-budgets).",
	fault.NoProvider:     " See [Provider keys](../guides/provider-keys.md).",
}

// errorSection writes the section for a code. Its heading is the anchor.
func (p *page) errorSection(group []fault.Fault) {
	p.heading(2, code(group[0].Code()))
	for _, f := range group {
		if len(group) > 1 {
			p.heading(3, map[bool]string{true: "In the admin API", false: "With an API key"}[f.Place() == fault.OnAdmin])
		}
		p.text(f.Meaning())
		p.line("- **Cause**: %s", f.Cause())
		p.line("- **What to do**: %s%s", f.Remedy(), guides[f])
		p.line("- **Retry**: %s", retryAdvice(f))
		p.line("- **Response**: %s\n", responseWords(f))
	}
}

// placeWords say where an error comes from.
var placeWords = []string{
	fault.Everywhere: "all endpoints", fault.OnGateway: "the endpoints that take an API key", fault.OnAdmin: "the admin API",
}

func retryWord(f fault.Fault) string {
	switch {
	case f.Place() == fault.InLog:
		return "no"
	case f.Retry() == fault.Retried:
		return "yes"
	}
	return "after a change"
}

func retryAdvice(f fault.Fault) string {
	words := ""
	switch {
	case f.Place() == fault.InLog:
		return "No."
	case f.Permanent():
		words = "After a change. The response has `x-should-retry: false`."
	case f.Retry() == fault.NotRetried:
		words = "After a change."
	default:
		words = "Yes, unless the response has `x-should-retry: false`."
	}
	switch f.Wait() {
	case fault.AlwaysWaits:
		words += " `Retry-After` has the time to wait."
	case fault.SometimesWaits:
		words += " `Retry-After` has the time to wait, if that is known."
	}
	if f.Stored() {
		words += " The error is stored under the request's `Idempotency-Key` for 24 hours, so send a new key."
	}
	return words
}

// responseWords returns the status, the message and the types of an error in each format. The code of the formats
// writes them.
func responseWords(f fault.Fault) string {
	if f.Place() == fault.InLog {
		return fmt.Sprintf("None. Logs and metrics have the status %d.", f.Status())
	}
	words := fmt.Sprintf("%d `%s`, from %s.", f.Status(), f.Text(), placeWords[f.Place()])
	if f.Place() == fault.OnAdmin {
		return words
	}
	e := &api.Error{Fault: f}
	kind := func(body []byte) string { return gjson.GetBytes(body, "error.type").String() }
	one, other := kind(openai.Error(nil, e)), kind(anthropic.Error(nil, e))
	if one == other {
		return words + fmt.Sprintf(" The type is `%s` in the formats of OpenAI and Anthropic.", one)
	}
	return words + fmt.Sprintf(" The type is `%s` in OpenAI's format and `%s` in Anthropic's.", one, other)
}
