package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/postern-ai/postern/internal/admin"
)

const creditsHelp = `Adds a top-up to a prepaid budget: that of a group, a project or a key whose budget period is total. The budget is the sum of its
top-ups, and a top-up applies to the next request.

Each top-up has an idempotency key, which the command makes and prints unless you pass one. If you repeat the command with the
same key, the amount counts once. If a command fails and it is not certain that the top-up was made, its error contains the key.`

// credit is what `postern credits` adds and to what.
type credit struct {
	group, project, key string // names or IDs
	note, repeats       string // repeats is the idempotency key
}

// creditView is the API's response.
type creditView struct {
	Number         uint64          `json:"number"` // counts the top-ups of the budget
	Amount         json.RawMessage `json:"amount"` // dollars, as total and budget
	Total          json.RawMessage `json:"total"`  // of all top-ups
	Budget         json.RawMessage `json:"budget"`
	IdempotencyKey string          `json:"idempotencyKey"`
}

func (p *program) credits() *cobra.Command {
	f := &credit{}
	c, o := p.connects(&cobra.Command{
		Use: "credits AMOUNT", Short: "Add a top-up to a prepaid budget", Long: creditsHelp, Args: exactly(1, "the amount in dollars"),
		Example: "  postern credits 100 --group Research/Vision --note \"Invoice 17\"\n  postern credits 25 --project \"My app\"\n" +
			"  postern credits 5 --project \"My app\" --key Backend --idempotency-key invoice-18",
	})
	flags := c.Flags()
	flags.StringVar(&f.group, "group", "", "the group: its name, path or ID")
	flags.StringVarP(&f.project, "project", "p", "", "the project: its name or ID")
	flags.StringVar(&f.key, "key", "", "the key in the project: its name or ID")
	flags.StringVar(&f.note, "note", "", "text for the audit log")
	flags.StringVar(&f.repeats, "idempotency-key", "", "top-ups with the same key count once; default: a new random one")
	c.RunE = func(c *cobra.Command, args []string) error {
		amount, err := dollars("the amount", args[0], false)
		switch {
		case err != nil:
			return err
		case (f.group == "") == (f.project == ""), f.group != "" && f.key != "":
			return misused("pass either --group, or --project with an optional --key")
		}
		client, err := p.client(o)
		if err != nil {
			return err
		}
		path, name, err := f.find(c.Context(), client)
		if err != nil {
			return err
		}
		return p.addCredit(c.Context(), client, f, path, name, amount)
	}
	return c
}

// find returns the path of the node that gets the top-up, and a description of the node.
func (f *credit) find(ctx context.Context, client *admin.Client) (path, name string, err error) {
	if f.group != "" {
		g, err := client.FindGroup(ctx, f.group)
		return admin.GroupPath(g.ID), fmt.Sprintf("group %s (%s)", plain(g.Name), g.ID), err
	}
	project, err := client.FindProject(ctx, f.project)
	if err != nil || f.key == "" {
		return admin.ProjectPath(project.ID), fmt.Sprintf("project %s (%s)", plain(project.Name), project.ID), err
	}
	k, err := client.FindKey(ctx, project.ID, f.key)
	return admin.KeyPath(project.ID, k.ID), fmt.Sprintf("key %s (%s)", plain(k.Name), k.ID), err
}

func (p *program) addCredit(ctx context.Context, client *admin.Client, f *credit, path, name string, amount json.RawMessage) error {
	made := creditView{IdempotencyKey: f.repeats}
	if made.IdempotencyKey == "" {
		made.IdempotencyKey = "credit-" + rand.Text()
	}
	body := map[string]any{"amount": amount}
	if f.note != "" {
		body["note"] = f.note
	}
	ctx = admin.WithIdempotencyKey(ctx, made.IdempotencyKey)
	if err := client.Do(ctx, http.MethodPost, path+"/credits", body, &made); err != nil {
		if !admin.Answered(err) {
			err = fmt.Errorf("%w; the top-up may have been made: repeat the command with --idempotency-key %s, then it counts once", err, made.IdempotencyKey)
		}
		return err
	}
	if p.json {
		return p.printJSON(made)
	}
	fmt.Fprintf(p.out, "Added $%s to %s: top-up %d, $%s in total.\nThe idempotency key is %s.\n", plain(string(made.Amount)), name, made.Number, plain(string(made.Total)), plain(made.IdempotencyKey))
	return nil
}
