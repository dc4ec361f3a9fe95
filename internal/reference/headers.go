package reference

import (
	"strings"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/header"
)

const headersHead = "Names of headers are not case-sensitive. [Errors](errors.md) have a page of their own, and\n" +
	"[limits and budgets](../guides/limits-and-budgets.md) explains the headers about limits."

// headerParts are the sections of the page.
var headerParts = []struct {
	way         header.Way
	title, text string
}{
	{header.Request, "Requests", "The gateway reads these headers in requests from callers."},
	{header.Response, "Responses", "The gateway sends these headers to callers. It does not pass on the response headers of providers."},
	{header.AdminRequest, "Requests to the admin API and the dashboard", ""},
	{header.AdminResponse, "Responses of the admin API and the dashboard", ""},
	{header.ToProvider, "Requests to providers", "Providers also get the [headers of callers](#headers-of-callers-for-providers) that their entry in the catalog names, and no others."},
	{header.FromProvider, "Responses of providers", "The gateway reads these headers in responses from providers."},
	{header.Webhook, "Webhooks", "The gateway sends these headers with each [webhook](../guides/webhooks.md)."},
	{header.Internal, "Inside a deployment", "The gateway sends these headers to the control plane. They replace headers of the same name from a caller."},
}

// Headers returns the page about headers.
func Headers() string {
	p := newPage("Headers", "core/header and core/config")
	p.text(headersHead)
	all := header.All()
	for _, part := range headerParts {
		p.heading(2, part.title)
		if part.text != "" {
			p.text(part.text)
		}
		var rows [][]string
		for _, h := range all {
			if h.Way == part.way {
				rows = append(rows, []string{code(h.Name), h.Values, h.When, h.Meaning})
			}
		}
		p.table([]string{"Header", "Values", "When", "Meaning"}, rows)
		if part.way == header.Request {
			p.callerHeaders()
		}
	}
	return p.String()
}

const callerHeadersText = "A provider gets these headers from a caller if its entry in the [catalog](models.md) names them and the caller uses a format of the\n" +
	"header's vendor. A value is printable ASCII of at most 1,024 bytes. `x-postern-dropped-params` names\n" +
	"headers that are too long, not printable, or not allowed by the Governor."

func (p *page) callerHeaders() {
	p.heading(3, "Headers of callers for providers")
	p.text(callerHeadersText)
	var rows [][]string
	for _, h := range config.CallerHeaders {
		meaning := "Tells which requests belong together. Responses from the cache do not depend on it."
		if h.Answers {
			meaning = "The response may depend on it, so the cache key contains the value."
		}
		if h.Listed {
			meaning += " Only the values that the [catalog lists](prices.md) are sent."
		}
		rows = append(rows, []string{code(h.Name), strings.NewReplacer("openai", "OpenAI's", "anthropic", "Anthropic's").Replace(h.Vendor), meaning})
	}
	p.table([]string{"Header", "Format of the caller", "Meaning"}, rows)
}
