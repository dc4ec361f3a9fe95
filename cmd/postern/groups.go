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

const groupsHelp = `A group contains projects that share a budget, for example a department or a team. Groups are at most two deep. The deployment
itself is the group root; its budget covers all projects.

Commands take a group's name, its path such as Research/Vision, or its ID. To put a project into a group, use
postern projects update --group.`

func (p *program) groups() *cobra.Command {
	c, o := p.connects(group("groups", "Administer groups of projects and their budgets", groupsHelp))
	f := groupCommands{p, o}
	c.AddCommand(f.list(), f.show(), f.create(), f.update(), f.delete(),
		f.move("archive", "Archive a group: keys of all projects below it are refused until you restore it", "Archived"),
		f.move("restore", "Accept the keys below an archived group again", "Restored"), f.usage())
	return c
}

type groupCommands struct {
	*program
	connection *connection
}

const groupArgument = "a group's name, path or ID"

// open returns a client and the group that a command is about.
func (f groupCommands) open(ctx context.Context, ref string) (*admin.Client, admin.Group, error) {
	client, err := f.client(f.connection)
	if err != nil {
		return nil, admin.Group{}, err
	}
	g, err := client.FindGroup(ctx, ref)
	return client, g, err
}

// fields adds the flags of create and update, which become fields of the request. now is the group's present state.
func (f groupCommands) fields(c *cobra.Command) func(now *admin.Group) (map[string]any, error) {
	flags := c.Flags()
	flags.String("budget", "", "dollars per budget period, such as 50 or 12.50, or none")
	flags.String("budget-period", "", "month, week, day or total (prepaid; see postern credits)")
	periodLimitFlags(c)
	flags.StringSlice("models", nil, "models and tiers that keys below the group may use; empty: all")
	flags.String("alerts", "", "URL that is called about the budget, or none")
	return func(now *admin.Group) (map[string]any, error) {
		body := map[string]any{}
		for flag, field := range map[string]string{"budget-period": "budgetPeriod", "enforce": "enforce"} {
			if flags.Changed(flag) {
				body[field], _ = flags.GetString(flag)
			}
		}
		if flags.Changed("hide-names") {
			body["hideNames"], _ = flags.GetBool("hide-names")
		}
		if flags.Changed("models") {
			body["models"] = list(flags.GetStringSlice("models"))
		}
		if url, _ := flags.GetString("alerts"); flags.Changed("alerts") {
			if body["alerts"] = any(map[string]string{"url": url}); url == none {
				body["alerts"] = nil
			}
		}
		if err := budgetField(c, body, true); err != nil {
			return nil, err
		}
		return body, limitFields(c, now.Limits, now.Version, body)
	}
}

// none is the value of a flag that removes a budget or a limit.
const none = "none"

// dollars returns an amount as JSON.
func dollars(what, text string, optional bool) (json.RawMessage, error) {
	if optional && text == none {
		return json.RawMessage("null"), nil
	}
	if json.Valid([]byte(text)) && strings.Trim(text, "0123456789.") == "" {
		return json.RawMessage(text), nil
	}
	or := ""
	if optional {
		or = ", or " + none
	}
	return nil, misused("%s must be an amount in dollars such as 50 or 12.50%s, got %q", what, or, text)
}

// budgetField adds the amount of the flag --budget to a request.
func budgetField(c *cobra.Command, body map[string]any, optional bool) error {
	text, _ := c.Flags().GetString("budget")
	if !c.Flags().Changed("budget") {
		return nil
	}
	amount, err := dollars("--budget", text, optional)
	body["budget"] = amount
	return err
}

// periodLimitFlags adds the flags that limitFields reads, and --enforce, which becomes a field of the request.
func periodLimitFlags(c *cobra.Command) {
	c.Flags().String("enforce", "", "hard (default): refuse what exceeds the budget and the limits; soft: only count and alert")
	c.Flags().String("requests-per-period", "", "requests per budget period, or none")
	c.Flags().String("tokens-per-period", "", "tokens per budget period, or none")
}

// limitFields adds the limits per budget period to a request. The API replaces all limits, so those without a flag keep
// their present values, which are those of the version.
func limitFields(c *cobra.Command, now json.RawMessage, version uint64, body map[string]any) error {
	limits := map[string]json.RawMessage{}
	if err := json.Unmarshal(orNull(now), &limits); err != nil {
		return err
	}
	changed := false
	for _, of := range [][2]string{{"requests-per-period", "requestsPerPeriod"}, {"tokens-per-period", "tokensPerPeriod"}} {
		if !c.Flags().Changed(of[0]) {
			continue
		}
		text, _ := c.Flags().GetString(of[0])
		if text == none {
			text = "null"
		} else if !json.Valid([]byte(text)) || strings.Trim(text, "0123456789") != "" {
			return misused("--%s must be a whole number, or none, got %q", of[0], text)
		}
		if limits == nil {
			limits = map[string]json.RawMessage{}
		}
		limits[of[1]], changed = json.RawMessage(text), true
	}
	if !changed {
		return nil
	}
	if body["limits"] = limits; version != 0 {
		body["version"] = version
	}
	return nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

func (f groupCommands) create() *cobra.Command {
	c := &cobra.Command{
		Use: "create NAME", Short: "Create a group", Args: exactly(1, "the group's name"),
		Example: "  postern groups create Research --budget 500\n  postern groups create Vision --parent Research --budget 100 --budget-period week",
	}
	fields := f.fields(c)
	parent := c.Flags().String("parent", "", "the group above: its name, path or ID; default: the deployment")
	c.RunE = func(c *cobra.Command, args []string) error {
		body, err := fields(&admin.Group{})
		if err != nil {
			return err
		}
		client, err := f.client(f.connection)
		if err != nil {
			return err
		}
		if *parent != "" {
			above, err := client.FindGroup(c.Context(), *parent)
			if err != nil {
				return err
			}
			body["parent"] = above.ID
		}
		body["name"] = args[0]
		return f.change(c.Context(), client, http.MethodPost, admin.GroupsPath, body, "Created")
	}
	return c
}

func (f groupCommands) update() *cobra.Command {
	c := &cobra.Command{
		Use: "update GROUP", Aliases: []string{"set"}, Short: "Change a group's settings", Args: exactly(1, groupArgument),
		Long:    "Changes the settings that flags name; the others keep their values. The change applies to all projects below the group.",
		Example: "  postern groups update Research/Vision --budget 75.50\n  postern groups update root --budget 2000 --enforce soft",
	}
	fields := f.fields(c)
	name := c.Flags().String("name", "", "new name")
	c.Flags().Bool("hide-names", false, "only of root: errors for callers do not name groups")
	c.RunE = func(c *cobra.Command, args []string) error {
		if _, err := fields(&admin.Group{}); err != nil { // before the call
			return err
		}
		client, g, err := f.open(c.Context(), args[0])
		if err != nil {
			return err
		}
		body, err := fields(&g)
		if err != nil {
			return err
		}
		if c.Flags().Changed("name") {
			body["name"] = *name
		}
		if len(body) == 0 {
			return misused("nothing to change: pass a flag such as --budget")
		}
		return f.change(c.Context(), client, http.MethodPatch, admin.GroupPath(g.ID), body, "Changed")
	}
	return c
}

// change sends a call whose response is a group and prints the group.
func (f groupCommands) change(ctx context.Context, client *admin.Client, method, path string, body any, verb string) error {
	var raw json.RawMessage
	if err := client.Do(ctx, method, path, body, &raw); err != nil {
		return err
	}
	if f.json {
		return f.printJSON(raw)
	}
	var g admin.Group
	if err := json.Unmarshal(raw, &g); err != nil {
		return err
	}
	fmt.Fprintf(f.out, "%s group %s (%s).\n", verb, plain(g.Name), g.ID)
	if g.Delivery == "pending" {
		fmt.Fprintln(f.out, "Some keys below it get the change within minutes.")
	}
	var alerts struct{ Secret string }
	if json.Unmarshal(orNull(g.Alerts), &alerts) == nil && alerts.Secret != "" {
		fmt.Fprintf(f.out, "The secret that signs its alerts is shown only now:\n\n  %s\n", alerts.Secret)
	}
	return nil
}

func (f groupCommands) move(verb, short, done string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " GROUP", Short: short, Args: exactly(1, groupArgument), Example: "  postern groups " + verb + " Research/Vision",
		RunE: func(c *cobra.Command, args []string) error {
			client, g, err := f.open(c.Context(), args[0])
			if err != nil {
				return err
			}
			ctx := admin.WithRetry(c.Context()) // idempotent
			return f.change(ctx, client, http.MethodPost, admin.GroupPath(g.ID)+"/"+verb, nil, done)
		},
	}
}

func (f groupCommands) delete() *cobra.Command {
	c := &cobra.Command{
		Use: "delete GROUP", Short: "Delete a group that has no projects and groups", Args: exactly(1, groupArgument),
		Example: "  postern groups delete Research/Vision --yes",
	}
	yes := c.Flags().BoolP("yes", "y", false, "do not ask for confirmation")
	c.RunE = func(c *cobra.Command, args []string) error {
		client, g, err := f.open(c.Context(), args[0])
		if err != nil {
			return err
		}
		if err := f.confirm(*yes, fmt.Sprintf("Delete group %s (%s)?", plain(g.Name), g.ID)); err != nil {
			return err
		}
		if err := client.Do(c.Context(), http.MethodDelete, admin.GroupPath(g.ID), nil, nil); err != nil {
			return err
		}
		if f.json {
			return f.printJSON(map[string]string{"deleted": g.ID})
		}
		fmt.Fprintf(f.out, "Deleted group %s (%s).\n", plain(g.Name), g.ID)
		return nil
	}
	return c
}
