package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/postern-ai/postern/internal/admin"
)

const keysHelp = `Applications authenticate with keys. Commands take a key's name or ID, and the project's name or ID as --project. Without
--project, they use the deployment's only active project.

A key's value is shown only once, when you create or rotate the key; Postern stores only its hash.`

func (p *program) keys() *cobra.Command {
	c, o := p.connects(group("keys", "Administer keys", keysHelp))
	project := c.PersistentFlags().StringP("project", "p", "", "name or ID of the project")
	f := keyCommands{p, o, project}
	c.AddCommand(f.create(), f.list(), f.show(), f.rotate(), f.delete(),
		f.move("deactivate", "deactivate", "Deactivate a key; after that, no request with the key is admitted"),
		f.move("activate", "reactivate", "Accept a deactivated key again"))
	return c
}

type keyCommands struct {
	*program
	connection *connection
	project    *string
}

func (f keyCommands) open(ctx context.Context) (*admin.Client, admin.Project, error) {
	client, err := f.client(f.connection)
	if err != nil {
		return nil, admin.Project{}, err
	}
	if *f.project != "" {
		found, err := client.FindProject(ctx, *f.project)
		return client, found, err
	}
	active, err := client.Projects(ctx, "active")
	if err == nil && len(active) != 1 {
		err = misused("pass --project: the deployment has %d active projects", len(active))
	}
	if err != nil {
		return nil, admin.Project{}, err
	}
	return client, active[0], nil
}

func (f keyCommands) find(ctx context.Context, ref string) (*admin.Client, admin.Key, string, error) {
	client, project, err := f.open(ctx)
	if err != nil {
		return nil, admin.Key{}, "", err
	}
	k, err := client.FindKey(ctx, project.ID, ref)
	return client, k, admin.KeyPath(project.ID, k.ID), err
}

func (f keyCommands) create() *cobra.Command {
	c := &cobra.Command{
		Use: "create", Short: "Create a key and print its value once", Args: exactly(0, ""),
		Example: "  postern keys create --project \"My app\" --name Backend\n  postern keys create --name Tests --environment development --limit-per-second 2 --expires 720h\n" +
			"  postern keys create --name Export --kind project --permissions usage --out export.key",
	}
	flags := c.Flags()
	name := flags.String("name", "", "name of the key (required)")
	flags.String("kind", "", "gateway (default): calls models; project: reads usage and compliance data")
	flags.String("environment", "", "production (default) or development")
	flags.StringSlice("models", nil, "models and tiers that the key may use; empty: all")
	flags.StringSlice("permissions", nil, "what the key may do, such as completions,embeddings; default: all permissions of its kind")
	flags.Uint64("limit-per-second", 0, "requests per second; default: the plan's limit")
	flags.Uint64("limit-per-day", 0, "requests per day, UTC")
	flags.Uint64("limit-tokens", 0, "tokens per minute")
	flags.String("budget", "", "dollars that the key may spend per budget period; default: only the project's budget applies")
	flags.String("budget-period", "", "month (default), week, day or total (prepaid; see postern credits)")
	periodLimitFlags(c)
	expires := flags.String("expires", "", "when the key expires: a time such as 2027-01-31T00:00:00Z, or a duration from now such as 720h")
	out := flags.String("out", "", "write the value to this new file, with mode 0600, instead of printing it")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *name == "" {
			return misused("pass the key's --name")
		}
		body := map[string]any{"name": *name}
		at, err := expiry(*expires)
		if err != nil {
			return err
		} else if at != "" {
			body["expiresAt"] = at
		}
		if err := keyFields(c, body); err != nil {
			return err
		}
		return f.mint(c.Context(), *out, func(client *admin.Client, project admin.Project) (string, any, error) {
			return admin.ProjectPath(project.ID) + "/keys", body, nil
		})
	}
	return c
}

func expiry(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return time.Now().Add(d).UTC().Format(time.RFC3339), nil
	}
	if _, err := time.Parse(time.RFC3339, text); err != nil {
		return "", misused("--expires must be a time such as 2027-01-31T00:00:00Z or a duration such as 720h, got %q", text)
	}
	return text, nil
}

// keyFields adds the fields that flags set.
func keyFields(c *cobra.Command, body map[string]any) error {
	flags := c.Flags()
	for flag, field := range map[string]string{"kind": "kind", "environment": "environment", "budget-period": "budgetPeriod", "enforce": "enforce"} {
		if flags.Changed(flag) {
			body[field], _ = flags.GetString(flag)
		}
	}
	if err := budgetField(c, body, false); err != nil {
		return err
	}
	for _, name := range []string{"models", "permissions"} {
		if flags.Changed(name) {
			body[name] = list(flags.GetStringSlice(name))
		}
	}
	if err := limitFields(c, nil, 0, body); err != nil {
		return err
	}
	limits, _ := body["limits"].(map[string]json.RawMessage)
	for flag, field := range map[string]string{"limit-per-second": "requestsPerSecond", "limit-per-day": "requestsPerDay", "limit-tokens": "tokensPerMinute"} {
		if flags.Changed(flag) {
			if limits == nil {
				limits = map[string]json.RawMessage{}
			}
			n, _ := flags.GetUint64(flag)
			limits[field] = strconv.AppendUint(nil, n, 10)
		}
	}
	if len(limits) > 0 {
		body["limits"] = limits
	}
	return nil
}

// mint sends a call that creates a key. It prints the key with its value, or it writes the value to a new file.
func (f keyCommands) mint(ctx context.Context, out string, call func(*admin.Client, admin.Project) (path string, body any, err error)) error {
	client, project, err := f.open(ctx)
	if err != nil {
		return err
	}
	path, body, err := call(client, project)
	if err != nil {
		return err
	}
	var file *secretFile
	if out != "" { // opened before the key is created, because the key's value cannot be read again
		if file, err = createSecretFile(out); err != nil {
			return err
		}
		defer file.close()
	}
	var k admin.Key
	if err := client.Do(ctx, http.MethodPost, path, body, &k); err != nil {
		return unlessReceived(err)
	}
	if file != nil {
		if err := file.write(k.Value + "\n"); err != nil {
			return fmt.Errorf("the key %s was created, but its value could not be written; delete the key: %w", k.ID, err)
		}
		k.Value = ""
	}
	if f.json {
		return f.printJSON(k)
	}
	fmt.Fprintf(f.out, "Created key %s (%s) in project %s.\n", plain(k.Name), k.ID, plain(project.Name))
	if file != nil {
		fmt.Fprintf(f.out, "Its value is in %s.\n", out)
		return nil
	}
	fmt.Fprintf(f.out, "Its value is shown only now:\n\n  %s\n", k.Value)
	return nil
}

// unlessReceived adds a warning to the error of a call whose outcome is unknown: the key may exist.
func unlessReceived(err error) error {
	if admin.Answered(err) {
		return err
	}
	return fmt.Errorf("%w; the key may have been created without its value having arrived: see postern keys list, and rotate it", err)
}

func (f keyCommands) list() *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List a project's keys, oldest first", Args: exactly(0, ""), Example: "  postern keys list --project \"My app\"\n  postern keys list --status active --json",
	}
	status := c.Flags().String("status", "", "only active, inactive or expired keys")
	c.RunE = func(c *cobra.Command, _ []string) error {
		client, project, err := f.open(c.Context())
		if err != nil {
			return err
		}
		all, err := client.Keys(c.Context(), project.ID, *status)
		if err != nil {
			return err
		}
		if f.json {
			return f.printJSON(map[string]any{"keys": all})
		}
		rows := [][]string{{"ID", "NAME", "KIND", "ENVIRONMENT", "KEY", "STATUS", "LAST USED"}}
		for _, k := range all {
			rows = append(rows, []string{k.ID, plain(k.Name), k.Kind, k.Environment, k.Prefix + "…" + k.Last4, k.Status, orDash(deref(k.LastUsedAt))})
		}
		table(f.out, rows)
		return nil
	}
	return c
}

func (f keyCommands) show() *cobra.Command {
	return &cobra.Command{
		Use: "show KEY", Short: "Show a key's settings, without its value", Args: exactly(1, "a key's name or ID"), Example: "  postern keys show Backend --project \"My app\"",
		RunE: func(c *cobra.Command, args []string) error {
			_, k, _, err := f.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			return f.printKey(k, "")
		},
	}
}

func (f keyCommands) printKey(k admin.Key, verb string) error {
	switch {
	case f.json:
		return f.printJSON(k)
	case verb != "":
		fmt.Fprintf(f.out, "%s key %s (%s); it is %s.\n", verb, plain(k.Name), k.ID, k.Status)
		return nil
	}
	table(f.out, [][]string{
		{"ID", k.ID}, {"Name", plain(k.Name)}, {"Kind", k.Kind}, {"Environment", k.Environment}, {"Key", k.Prefix + "…" + k.Last4}, {"Status", k.Status},
		{"Models", orDash(strings.Join(k.Models, ", "))}, {"Permissions", orDash(strings.Join(k.Permissions, ", "))}, {"Limits", plain(string(k.Limits))},
		{"Expires", orDash(deref(k.ExpiresAt))}, {"Replaced by", orDash(deref(k.ReplacedBy))}, {"Last used", orDash(deref(k.LastUsedAt))}, {"Created", k.CreatedAt},
	})
	return nil
}

func (f keyCommands) rotate() *cobra.Command {
	c := &cobra.Command{
		Use: "rotate KEY", Short: "Replace a key with one that has the same settings, and print the new value once", Args: exactly(1, "a key's name or ID"),
		Example: "  postern keys rotate Backend --project \"My app\" --grace 1h\n  postern keys rotate key_019aa4b0c1d3fedcba98765432100123 --out backend.key",
	}
	grace := c.Flags().Duration("grace", 24*time.Hour, "how long the old value keeps working")
	out := c.Flags().String("out", "", "write the value to this new file, with mode 0600, instead of printing it")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *grace < 0 || *grace%time.Second != 0 {
			return misused("--grace must be a whole number of seconds, 0s or more, got %s", *grace)
		}
		return f.mint(c.Context(), *out, func(client *admin.Client, project admin.Project) (string, any, error) {
			k, err := client.FindKey(c.Context(), project.ID, args[0])
			return admin.KeyPath(project.ID, k.ID) + "/rotate", map[string]any{"graceSeconds": int64(*grace / time.Second)}, err
		})
	}
	return c
}

func (f keyCommands) move(verb, endpoint, short string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " KEY", Short: short, Args: exactly(1, "a key's name or ID"), Example: "  postern keys " + verb + " Backend --project \"My app\"",
		RunE: func(c *cobra.Command, args []string) error {
			ctx := admin.WithRetry(c.Context()) // idempotent
			client, k, path, err := f.find(ctx, args[0])
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := client.Do(ctx, http.MethodPost, path+"/"+endpoint, nil, &raw); err != nil {
				return err
			}
			if err := json.Unmarshal(raw, &k); err != nil {
				return err
			}
			return f.printKey(k, "Changed")
		},
	}
}

func (f keyCommands) delete() *cobra.Command {
	c := &cobra.Command{
		Use: "delete KEY", Short: "Delete a key permanently", Args: exactly(1, "a key's name or ID"), Example: "  postern keys delete Backend --project \"My app\" --yes",
	}
	yes := c.Flags().BoolP("yes", "y", false, "do not ask for confirmation")
	c.RunE = func(c *cobra.Command, args []string) error {
		client, k, path, err := f.find(c.Context(), args[0])
		if err != nil {
			return err
		}
		if err := f.confirm(*yes, fmt.Sprintf("Delete key %s (%s) permanently?", plain(k.Name), k.ID)); err != nil {
			return err
		}
		if err := client.Do(c.Context(), http.MethodDelete, path, nil, nil); err != nil {
			return err
		}
		if f.json {
			return f.printJSON(map[string]string{"deleted": k.ID})
		}
		fmt.Fprintf(f.out, "Deleted key %s (%s).\n", plain(k.Name), k.ID)
		return nil
	}
	return c
}
