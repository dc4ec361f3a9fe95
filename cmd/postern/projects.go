package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/postern-ai/postern/internal/admin"
)

const projectsHelp = `A project has keys, a plan with limits, a budget and a cache of its own. Commands take a project's name or its ID.`

func (p *program) projects() *cobra.Command {
	c, o := p.connects(group("projects", "Administer projects", projectsHelp))
	c.AddCommand(p.createProject(o), p.listProjects(o), p.showProject(o), p.updateProject(o),
		p.moveProject(o, "archive", "Archive a project: its keys are refused until you restore it", "archived"),
		p.moveProject(o, "restore", "Accept the keys of an archived project again", "active"))
	return c
}

// projectFields adds the flags of create and update, which become fields of the request.
func projectFields(c *cobra.Command) func() (map[string]any, error) {
	f := c.Flags()
	f.String("plan", "", "plan from the catalog, such as developer")
	f.String("budget", "", "dollars per budget period, such as 50 or 12.50")
	f.String("budget-period", "", "month, week, day or total (prepaid; see postern credits)")
	f.String("group", "", "the project's group: its name, path or ID, or none")
	f.String("cache", "", "off, colo (per data center) or global (in KV, at least 60 seconds)")
	f.Uint64("cache-ttl", 0, "seconds for which responses are cached; 0: no cache")
	f.Bool("unbounded", false, "do not limit responses to requests that set no output limit")
	f.Bool("record-provider-errors", false, "keep providers' messages, redacted, in the records of failed requests, for owners")
	f.String("contact", "", "who can raise limits and the budget, such as platform@example.com; errors about them name this contact")
	f.StringSlice("models", nil, "models and tiers that the keys may use; empty: all")
	periodLimitFlags(c)
	return func() (map[string]any, error) {
		body := map[string]any{}
		for flag, field := range map[string]string{"plan": "plan", "budget-period": "budgetPeriod", "enforce": "enforce", "cache": "cache", "contact": "contact", "group": "group"} {
			if f.Changed(flag) {
				body[field], _ = f.GetString(flag)
			}
		}
		if err := budgetField(c, body, false); err != nil {
			return nil, err
		}
		if f.Changed("cache-ttl") {
			body["cacheTtlSeconds"], _ = f.GetUint64("cache-ttl")
		}
		for flag, field := range map[string]string{"unbounded": "unbounded", "record-provider-errors": "recordProviderErrors"} {
			if f.Changed(flag) {
				body[field], _ = f.GetBool(flag)
			}
		}
		if f.Changed("models") {
			body["models"] = list(f.GetStringSlice("models"))
		}
		return body, nil
	}
}

// list returns the list in a flag. In JSON, it is never null.
func list(values []string, _ error) []string { return append([]string{}, values...) }

func (p *program) createProject(o *connection) *cobra.Command {
	c := &cobra.Command{
		Use: "create NAME", Short: "Create a project", Args: exactly(1, "the project's name"),
		Example: "  postern projects create \"My app\"\n  postern projects create \"My app\" --plan developer --budget 50 --models balanced,gpt-4.1",
	}
	fields := projectFields(c)
	region := c.Flags().String("region", "", "Cloudflare location of the project's Durable Objects, such as weur")
	c.RunE = func(c *cobra.Command, args []string) error {
		body, err := fields()
		if err != nil {
			return err
		}
		if err := limitFields(c, nil, 0, body); err != nil {
			return err
		}
		if body["name"] = args[0]; *region != "" {
			body["region"] = *region
		}
		return p.changeProject(c.Context(), o, http.MethodPost, func(*admin.Client) (string, error) { return admin.ProjectsPath, nil }, body, "Created")
	}
	return c
}

// changeProject sends a call whose response is a project and prints the project.
func (p *program) changeProject(ctx context.Context, o *connection, method string, path func(*admin.Client) (string, error), body map[string]any, verb string) error {
	client, err := p.client(o)
	if err != nil {
		return err
	}
	target, err := path(client)
	if err == nil {
		err = nameGroup(ctx, client, body)
	}
	if err != nil {
		return err
	}
	var sent any
	if body != nil {
		sent = body
	}
	var raw json.RawMessage
	if err := client.Do(ctx, method, target, sent, &raw); err != nil {
		return err
	}
	if p.json {
		return p.printJSON(raw)
	}
	var project admin.Project
	if err := json.Unmarshal(raw, &project); err != nil {
		return err
	}
	fmt.Fprintf(p.out, "%s project %s (%s).\n", verb, plain(project.Name), project.ID)
	return nil
}

// nameGroup replaces the reference to a group in a request with the group's ID.
func nameGroup(ctx context.Context, client *admin.Client, body map[string]any) error {
	ref, given := body["group"].(string)
	if given && ref == none {
		body["group"] = nil
	} else if given {
		g, err := client.FindGroup(ctx, ref)
		body["group"] = g.ID
		return err
	}
	return nil
}

func (p *program) listProjects(o *connection) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List projects, oldest first", Args: exactly(0, ""), Example: "  postern projects list\n  postern projects list --status archived --json",
	}
	status := c.Flags().String("status", "", "only active or archived projects")
	c.RunE = func(c *cobra.Command, _ []string) error {
		client, err := p.client(o)
		if err != nil {
			return err
		}
		all, err := client.Projects(c.Context(), *status)
		if err != nil {
			return err
		}
		if p.json {
			return p.printJSON(map[string]any{"projects": all})
		}
		rows := [][]string{{"ID", "NAME", "PLAN", "BUDGET", "STATUS", "CREATED"}}
		for _, one := range all {
			rows = append(rows, []string{one.ID, plain(one.Name), plain(one.Plan), budgetText(one.Budget, one.BudgetPeriod), one.Status, one.CreatedAt})
		}
		table(p.out, rows)
		return nil
	}
	return c
}

func (p *program) showProject(o *connection) *cobra.Command {
	return &cobra.Command{
		Use: "show PROJECT", Short: "Show a project's settings", Args: exactly(1, "a project's name or ID"), Example: "  postern projects show \"My app\"",
		RunE: func(c *cobra.Command, args []string) error {
			client, err := p.client(o)
			if err != nil {
				return err
			}
			found, err := client.FindProject(c.Context(), args[0])
			if err != nil {
				return err
			}
			if p.json {
				return p.printJSON(found)
			}
			table(p.out, [][]string{
				{"ID", found.ID}, {"Name", plain(found.Name)}, {"Status", found.Status}, {"Plan", plain(found.Plan)},
				{"Budget", budgetText(found.Budget, found.BudgetPeriod)}, {"Enforce", orDash(found.Enforce)}, {"Group", orDash(deref(found.Group))}, {"Region", orDash(deref(found.Region))},
				{"Cache", cacheText(&found)}, {"Unbounded", fmt.Sprint(found.Unbounded)}, {"Provider errors", recordedText(&found)}, {"Contact", orDash(plain(found.Contact))},
				{"Models", orDash(strings.Join(found.Models, ", "))}, {"Routes", plain(string(found.Routes))}, {"Governor", plain(string(found.Governor))},
				{"Alerts", plain(string(found.Alerts))}, {"Created", found.CreatedAt}, {"Version", fmt.Sprint(found.Version)},
			})
			return nil
		},
	}
}

// recordedText says what records contain about providers' errors.
func recordedText(p *admin.Project) string {
	if p.RecordProviderErrors {
		return "recorded with their message"
	}
	return "recorded without their message"
}

// cacheText returns a project's cache, such as "colo, 3600 s". Older servers have no scopes.
func cacheText(p *admin.Project) string {
	if p.CacheTTLSeconds == 0 {
		return "off"
	}
	return strings.TrimPrefix(p.Cache+", ", ", ") + fmt.Sprintf("%d s", p.CacheTTLSeconds)
}

func (p *program) updateProject(o *connection) *cobra.Command {
	c := &cobra.Command{
		Use: "update PROJECT", Short: "Change a project's settings", Args: exactly(1, "a project's name or ID"),
		Long:    "Changes the settings that flags name; the others keep their values. For routes, alerts and the Governor, use postern apply.",
		Example: "  postern projects update \"My app\" --budget 75.50\n  postern projects update \"My app\" --name \"My other app\" --models \"\"",
	}
	fields := projectFields(c)
	name := c.Flags().String("name", "", "new name")
	c.RunE = func(c *cobra.Command, args []string) error {
		body, err := fields()
		if err != nil {
			return err
		}
		if c.Flags().Changed("name") {
			body["name"] = *name
		}
		if err := limitFields(c, nil, 0, body); err != nil { // before any call
			return err
		}
		if len(body) == 0 {
			return misused("nothing to change: pass a flag such as --budget")
		}
		return p.changeProject(c.Context(), o, http.MethodPatch, func(client *admin.Client) (string, error) {
			found, err := client.FindProject(c.Context(), args[0])
			if err == nil {
				err = limitFields(c, found.Limits, found.Version, body)
			}
			return admin.ProjectPath(found.ID), err
		}, body, "Changed")
	}
	return c
}

// pathOf returns the path of a project's endpoint.
func pathOf(ctx context.Context, ref, suffix string) func(*admin.Client) (string, error) {
	return func(client *admin.Client) (string, error) {
		found, err := client.FindProject(ctx, ref)
		return admin.ProjectPath(found.ID) + suffix, err
	}
}

func (p *program) moveProject(o *connection, verb, short, status string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " PROJECT", Short: short, Args: exactly(1, "a project's name or ID"), Example: "  postern projects " + verb + " \"My app\"",
		RunE: func(c *cobra.Command, args []string) error {
			ctx := admin.WithRetry(c.Context()) // idempotent
			return p.changeProject(ctx, o, http.MethodPost, pathOf(ctx, args[0], "/"+verb), nil, "Now "+status+":")
		},
	}
}
