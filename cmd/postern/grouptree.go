package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/postern-ai/postern/internal/admin"
)

func (f groupCommands) list() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the groups as a tree, with budgets, limits and spend", Args: exactly(0, ""),
		Long: "Lists the groups as a tree, with their budgets, their limits of requests and tokens, and the budget period. A group with a budget shows its spend in the " +
			"present period and when the period ends. A group whose limits stop requests shows what they have counted. " +
			"Busy keys report their spend ten seconds after a request, others within four minutes.",
		Example: "  postern groups list\n  postern groups list --json",
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := f.client(f.connection)
			if err != nil {
				return err
			}
			all, err := client.Groups(c.Context())
			if err == nil {
				err = addSpent(c.Context(), client, all)
			}
			if err != nil {
				return err
			}
			if f.json {
				return f.printJSON(map[string]any{"groups": all})
			}
			rows := [][]string{{"GROUP", "ID", "BUDGET", "SPENT", "REQUESTS", "TOKENS", "RESETS", "ENFORCE", "STATUS"}}
			table(f.out, appendTree(rows, all, nil, 0))
			return nil
		},
	}
}

// spentAtOnce is the number of groups that are asked for their spend at the same time.
const spentAtOnce = 8

// addSpent reads what groups have spent, unless the list already says so.
func addSpent(ctx context.Context, client *admin.Client, all []admin.Group) error {
	free, failures, asked := make(chan struct{}, spentAtOnce), make(chan error), 0
	for i := range all {
		g := &all[i]
		if g.Spent != nil || isNull(g.Budget) && (g.Enforce != "hard" || !hasLimit(g.Limits)) {
			continue
		}
		asked++
		go func() {
			free <- struct{}{}
			err := client.Do(ctx, http.MethodGet, admin.GroupPath(g.ID), nil, g)
			<-free
			if admin.Is(err, http.StatusNotFound) { // deleted since the list
				err = nil
			}
			failures <- err
		}()
	}
	var err error
	for range asked {
		err = errors.Join(err, <-failures)
	}
	return err
}

// hasLimit reports whether a limit per budget period is set.
func hasLimit(limits json.RawMessage) bool {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(limits, &all)
	for _, one := range all {
		if !isNull(one) {
			return true
		}
	}
	return false
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// appendTree appends the rows of the groups below a parent. Each level is indented by two spaces.
func appendTree(rows [][]string, all []admin.Group, parent *string, depth int) [][]string {
	const maxDepth = 8 // of a malformed list
	for i := range all {
		g := &all[i]
		if depth == maxDepth || (g.Parent == nil) != (parent == nil) || parent != nil && *g.Parent != *parent {
			continue
		}
		used := admin.Spent{}
		if g.Spent != nil {
			used = *g.Spent
		}
		rows = append(rows, []string{strings.Repeat("  ", depth) + plain(g.Name), g.ID, budgetText(g.Budget, g.BudgetPeriod), dollarsText(used.Amount),
			limitText(g, "requestsPerPeriod", used.Requests), limitText(g, "tokensPerPeriod", used.Tokens), orDash(deref(used.ResetsAt)), g.Enforce, groupStatus(g)})
		rows = appendTree(rows, all, &g.ID, depth+1)
	}
	return rows
}

// budgetText returns a budget, such as "$50/month".
func budgetText(budget json.RawMessage, period string) string {
	if isNull(budget) {
		return "-"
	}
	return "$" + plain(string(budget)) + "/" + plain(period)
}

// limitText returns a limit per budget period and what it has counted, such as "3 of 1000/week".
func limitText(g *admin.Group, name string, used json.RawMessage) string {
	var limits map[string]json.RawMessage
	_ = json.Unmarshal(orNull(g.Limits), &limits)
	text := plain(string(limits[name])) + "/" + plain(g.BudgetPeriod)
	switch {
	case isNull(limits[name]):
		return "-"
	case isNull(used):
		return text
	}
	return plain(string(used)) + " of " + text
}

func dollarsText(amount json.RawMessage) string {
	if isNull(amount) {
		return "-"
	}
	return "$" + plain(string(amount))
}

func groupStatus(g *admin.Group) string {
	if g.Archived {
		return "archived"
	}
	return "active"
}

func (f groupCommands) show() *cobra.Command {
	return &cobra.Command{
		Use: "show GROUP", Aliases: []string{"get"}, Short: "Show a group's settings and spend", Args: exactly(1, groupArgument), Example: "  postern groups show Research/Vision\n  postern groups show root",
		RunE: func(c *cobra.Command, args []string) error {
			client, g, err := f.open(c.Context(), args[0])
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := client.Do(c.Context(), http.MethodGet, admin.GroupPath(g.ID), nil, &raw); err != nil {
				return err
			}
			if f.json {
				return f.printJSON(raw)
			}
			if err := json.Unmarshal(raw, &g); err != nil {
				return err
			}
			rows := [][]string{
				{"ID", g.ID}, {"Name", plain(g.Name)}, {"Parent", orDash(deref(g.Parent))}, {"Status", groupStatus(&g)},
				{"Budget", budgetText(g.Budget, g.BudgetPeriod)}, {"Enforce", g.Enforce}, {"Limits", orDash(string(g.Limits))},
				{"Models", orDash(strings.Join(g.Models, ", "))}, {"Alerts", orDash(string(g.Alerts))}, {"Created", orDash(deref(g.CreatedAt))},
			}
			if g.Spent != nil {
				rows = append(rows, []string{"Spent", dollarsText(g.Spent.Amount)}, []string{"Requests", orDash(string(g.Spent.Requests))}, []string{"Tokens", orDash(string(g.Spent.Tokens))}, []string{"Resets", orDash(deref(g.Spent.ResetsAt))})
			}
			table(f.out, rows)
			return nil
		},
	}
}

func (f groupCommands) usage() *cobra.Command {
	c := &cobra.Command{
		Use: "usage GROUP", Short: "Show the usage and the costs below a group", Args: exactly(1, groupArgument),
		Long: "Prints one row per group, project, key, day or model below the group. A project's usage reaches its groups within about a minute; " +
			"--fresh first collects what up to 200 keys have not reported yet.",
		Example: "  postern groups usage Research --by project\n  postern groups usage root --by group --from 2026-11-01 --to 2026-11-30 --format csv > november.csv",
	}
	flags := c.Flags()
	for name, meaning := range map[string]string{
		"from": "first day, such as 2026-11-01 (UTC)", "to": "last day (UTC)", "by": "group, project, key, day (default) or model",
		"after":  "by key with JSON, the value of next from the page before",
		"format": "csv, json or ndjson, as the API returns it; default: columns",
	} {
		flags.String(name, "", meaning)
	}
	fresh := flags.Bool("fresh", false, "first collect the usage that keys have not reported yet")
	c.RunE = func(c *cobra.Command, args []string) error {
		query := f.usageQuery(c)
		if *fresh {
			query.Set("fresh", "1")
		}
		client, g, err := f.open(c.Context(), args[0])
		if err != nil {
			return err
		}
		text, err := allPages(c.Context(), client, admin.GroupPath(g.ID)+"/usage", query)
		if err != nil {
			return err
		}
		if f.json {
			return f.printJSON(json.RawMessage(text))
		}
		if flags.Changed("format") {
			_, err := f.out.Write(text)
			return err
		}
		return f.printCSV(text)
	}
	return c
}

// allPages returns all pages of a report. In JSON, it returns the page that the query names, which contains the start of
// the next one.
func allPages(ctx context.Context, client *admin.Client, path string, query url.Values) (text []byte, err error) {
	for {
		var page admin.Reply
		if err := client.Do(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		if len(text) > 0 && query.Get("format") == "csv" { // without the names of the columns
			_, page.Body, _ = bytes.Cut(page.Body, []byte("\n"))
		}
		text = append(text, page.Body...)
		next := page.Header.Get("X-Postern-Next")
		if next == "" || next == query.Get("after") || query.Get("format") == "json" {
			return text, nil
		}
		query.Set("after", next)
	}
}

// usageQuery returns the query of the flags. Columns are made from the CSV format.
func (f groupCommands) usageQuery(c *cobra.Command) url.Values {
	query := url.Values{"format": {"csv"}}
	for _, name := range []string{"from", "to", "by", "after", "format"} {
		if text, _ := c.Flags().GetString(name); text != "" {
			query.Set(name, text)
		}
	}
	if f.json {
		query.Set("format", "json")
	}
	return query
}

// printCSV prints a CSV file in columns.
func (p *program) printCSV(text []byte) error {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return err
	}
	for _, row := range rows {
		for i := range row {
			row[i] = plain(row[i])
		}
	}
	table(p.out, rows)
	return nil
}
