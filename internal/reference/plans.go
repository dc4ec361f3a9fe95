package reference

import (
	"fmt"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/money"
)

const plansHead = "A project has a plan. The plan sets the limits of each key, the project's budget (unless the project has its own), and the features that\n" +
	"the project can use. A key can have narrower limits than the plan. [Projects, keys and plans](../concepts/projects-keys-plans.md) explains the terms, and\n" +
	"[limits and budgets](../guides/limits-and-budgets.md) explains how limits count."

const plansMore = "- **Production and development** are the environments of keys. The built-in provider serves development keys, free of charge.\n" +
	"- **Requests per second** are those in any 1,000 milliseconds. **Requests per day** are those of a day in UTC. **Tokens per minute** are\n" +
	"  those of the last 60 seconds.\n" +
	"- **Requests in progress** are those of one key at a time.\n" +
	"- **Leases** let a Cloudflare location hold a part of a key's limits and budget for a short time, so that most requests need no call\n" +
	"  to a Durable Object. `postern serve` uses them, too. See [scaling](../operate/scaling.md).\n\n" +
	"To change a plan or add one, put it under `plans` in `POSTERN_CATALOG`, with all its fields: an omitted limit means no limit. See\n" +
	"[models, providers, tiers and plans](models.md)."

// Plans returns the page about plans.
func Plans(c *config.Config) string {
	p := newPage("Plans", "core/catalog/catalog.json")
	p.text(plansHead)
	head := []string{""}
	for i := range c.Plans {
		name := code(c.Plans[i].Name)
		if c.Plans[i].Name == c.DefaultPlan {
			name += " (default)"
		}
		head = append(head, name)
	}
	var rows [][]string
	for _, line := range planLines {
		row := []string{line.name}
		for i := range c.Plans {
			row = append(row, line.value(&c.Plans[i]))
		}
		rows = append(rows, row)
	}
	p.table(head, rows)
	p.text(plansMore)
	return p.String()
}

// planLines are the rows of the table.
var planLines = []struct {
	name  string
	value func(*config.Plan) string
}{
	{"Requests per second, production", func(p *config.Plan) string { return limitWords(p.Production.PerSecond) }},
	{"Requests per day, production", func(p *config.Plan) string { return limitWords(p.Production.PerDay) }},
	{"Tokens per minute, production", func(p *config.Plan) string { return limitWords(p.Production.TokensPerMinute) }},
	{"Requests per second, development", func(p *config.Plan) string { return limitWords(p.Development.PerSecond) }},
	{"Requests per day, development", func(p *config.Plan) string { return limitWords(p.Development.PerDay) }},
	{"Tokens per minute, development", func(p *config.Plan) string { return limitWords(p.Development.TokensPerMinute) }},
	{"Requests in progress", func(p *config.Plan) string { return limitWords(p.Concurrent) }},
	{"Budget per month", func(p *config.Plan) string { return "$" + string(money.Append(nil, p.BudgetPico, money.Dollar)) }},
	{"Governor", func(p *config.Plan) string { return map[bool]string{true: "yes", false: "no"}[p.Governor] }},
	{"Leases", leaseWords},
}

func leaseWords(p *config.Plan) string {
	if p.Lease == (config.Lease{}) {
		return "no"
	}
	return fmt.Sprintf("%s requests for at most %s ms", grouped(p.Lease.Requests), grouped(p.Lease.DurationMs))
}

// limitWords returns a limit in words. 0 means no limit.
func limitWords(n uint64) string {
	if n == 0 {
		return "no limit"
	}
	return grouped(n)
}

// grouped returns a number with commas between groups of three digits.
func grouped(n uint64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}
