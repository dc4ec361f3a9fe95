package transcript

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// Unknown is the Meaning of a command that no exchange sends.
const Unknown = "unknown call"

var (
	modes    = [...]string{"?", "check", "count", "reserve", "hit"}
	outcomes = [...]string{"?", "served", "hit", "released", "finish"}
	caches   = [...]string{"bypass", "miss", "hit"}
)

// Open decodes the command of an ActionCall with the object's package. If the command is unknown, it returns nil.
func Open(a *abi.Action) any {
	switch a.Class {
	case abi.ClassKeyMeter:
		return keymeter.Open(a.Data)
	case abi.ClassLedger:
		return ledger.Open(a.Data)
	}
	return nil
}

// Meaning names the command of an ActionCall in one or two words.
func Meaning(a *abi.Action) string {
	switch c := Open(a).(type) {
	case *keymeter.Admit:
		return "admit " + modes[c.Mode]
	case *keymeter.Extend:
		return "extend"
	case *keymeter.Settle:
		return "settle"
	case *keymeter.Flush:
		return "flush"
	case *keymeter.Report:
		return "report-lease"
	case *ledger.Grant:
		return "grant"
	case *ledger.BatchCommand:
		return "absorb"
	case *ledger.Return, *ledger.ReturnsCommand:
		return "absorb return"
	case *ledger.PolicyCommand:
		return "ask-policy"
	case *ledger.Tally:
		return "tally"
	case *ledger.Report:
		switch {
		case c.Final:
			return "report final"
		case c.Waited:
			return "report waited"
		}
		return "report first"
	}
	return Unknown
}

// call formats the object and the command with its fields.
func call(a *abi.Action) string {
	object := "meter"
	if a.Class == abi.ClassLedger {
		object = "ledger"
	}
	return object + " " + a.Name + ": " + Meaning(a) + details(Open(a))
}

// details formats the fields of a command that are not zero.
func details(command any) string {
	var f fields
	switch c := command.(type) {
	case *keymeter.Admit:
		f.admit(c)
	case *keymeter.Extend:
		f.dollars("total", c.TotalPico)
		f.dollars("least", c.LeastPico)
		f.flag("final", c.Final)
		f.grant(&c.Grant)
		f.tree(&c.Tree)
	case *keymeter.Settle:
		f.settle(c)
	case *keymeter.Flush:
		f.flag("recall", c.Recall)
		f.text("of", c.Ledger)
	case *keymeter.Report:
		f.lease(c)
	case *ledger.Grant:
		f.dollars("held", c.HeldPico)
		f.dollars("need", c.NeedPico)
		f.dollars("want", c.WantPico)
		f.dollars("least", c.LeastPico)
		f.text("after", c.After)
	case *ledger.Tally:
		f.tally(c)
	case *ledger.Report:
		f.text("from", string(calendar.AppendDate(nil, c.FirstDay)))
		f.text("to", string(calendar.AppendDate(nil, c.EndDay)))
	}
	return f.String()
}

// fields writes fields one after another. It omits fields that are empty or zero.
type fields struct{ strings.Builder }

func (f *fields) text(name, value string) {
	if value != "" {
		fmt.Fprintf(f, " %s=%s", name, value)
	}
}

func (f *fields) flag(name string, set bool) {
	if set {
		f.WriteString(" " + name)
	}
}

func (f *fields) dollars(name string, amount money.Pico) {
	if amount != 0 {
		f.text(name, Dollars(amount))
	}
}

// Dollars formats an amount as "$0.000012".
func Dollars(amount money.Pico) string { return "$" + string(money.Append(nil, amount, money.Dollar)) }

func (f *fields) number(name string, n uint64) {
	if n != 0 {
		f.text(name, fmt.Sprint(n))
	}
}

// tree writes what a key sends that has budgets above its project.
func (f *fields) tree(t *keymeter.Tree) {
	for i := range t.Grants {
		g := &t.Grants[i]
		f.text("grant", cmp.Or(g.Ledger, "project")+":"+Dollars(g.TotalPico))
		f.flag("final", g.Final)
	}
	f.flag("ordered", t.Ordered)
	f.flag("release", t.Release)
}

func (f *fields) admit(c *keymeter.Admit) {
	f.number("version", c.Version)
	f.text("model", c.Model)
	f.dollars("amount", c.AmountPico)
	f.dollars("least", c.LeastPico)
	f.flag("final", c.Final)
	f.grant(&c.Grant)
	f.text("idempotency", c.Idempotency)
	f.flag("rerun", c.Rerun)
	f.trace(&c.Trace)
	f.violations(c.Violations)
	f.flag("asks-for-lease", c.LeaseID != 0)
	f.tree(&c.Tree)
}

// lease writes a report. Each request is either in progress or settled. If it is in progress, its reservation is
// written, too.
func (f *fields) lease(c *keymeter.Report) {
	f.number("seq", c.Seq)
	f.flag("close", c.Close)
	f.flag("renew", c.Renew)
	f.dollars("amount", c.AmountPico)
	for i := range c.Requests {
		q := &c.Requests[i]
		fmt.Fprintf(f, "\n    %s, %s old", q.RequestID, duration(c.SentMs-min(c.SentMs, q.AdmittedMs)))
		if len(q.Settle) == 0 {
			f.WriteString(", in progress:")
			f.text("model", q.Model)
			f.dollars("amount", q.AmountPico)
		}
		f.settled(q.Settle)
	}
	for _, data := range c.Settles {
		f.WriteString("\n    registered")
		f.settled(data)
	}
}

func (f *fields) settled(data []byte) {
	if s, err := keymeter.DecodeSettle(data); err == nil {
		f.WriteString(", settle " + s.RequestID + ":")
		f.settle(&s)
	}
}

// tally writes the counts of a tally and then its records.
func (f *fields) tally(c *ledger.Tally) {
	f.number("seq", c.Seq)
	f.text("key", c.KeyID)
	for i := range c.Counts {
		n := &c.Counts[i]
		fmt.Fprintf(f, "\n    %d x end %d", n.Count, n.End)
		f.text("model", n.Model)
		f.number("booked", uint64(n.Booked))
	}
	for i := range c.Records {
		r := &c.Records[i]
		fmt.Fprintf(f, "\n    %s %d", r.ID, r.Status)
		f.text("model", r.Model)
		f.text("provider", r.Provider)
		f.WriteString(" " + string(r.Body))
	}
}

// violations writes each violation as decision rule@path[start:end]xCOUNT.
func (f *fields) violations(list []ledger.Violation) {
	for i := range list {
		v := &list[i]
		direction := "input"
		if v.Output {
			direction = "output"
		}
		fmt.Fprintf(f, "; %s %s %s@%s[%d:%d]x%d risk=%d", direction, v.Decision, v.Rule, v.Path, v.Start, v.End, v.Count, v.Risk)
	}
}

func (f *fields) grant(g *keymeter.Grant) {
	if g.Epoch != 0 {
		f.text("granted", fmt.Sprintf("%s in epoch %d", Dollars(g.TotalPico), g.Epoch))
	}
}

func (f *fields) settle(c *keymeter.Settle) {
	f.WriteString(" " + outcomes[c.Outcome])
	f.text("model", c.Model)
	f.charge(c.Tokens, c.CostPico, c.Estimated)
	f.promptCache(&c.PromptCache)
	f.flag("missed", c.Missed)
	f.text("idempotency", c.Idempotency)
	if len(c.Answer) > 0 {
		f.WriteString(" with the response")
	}
	f.flag("oversized", c.Oversized)
	f.trace(&c.Trace)
	for i := range c.Attempts {
		a := &c.Attempts[i]
		f.WriteString("; attempt " + a.Provider + "/" + a.Model)
		f.charge(a.Tokens, a.CostPico, a.Estimated)
		f.promptCache(&a.PromptCache)
	}
	f.violations(c.Violations)
	for i := range c.Failures {
		v := &c.Failures[i]
		fmt.Fprintf(f, "; failed %s %s x%d", v.Model, causes[v.Cause], v.Count)
		if v.Opened > 0 {
			fmt.Fprintf(f, " opened x%d", v.Opened)
		}
	}
	f.flag("rescued", c.Rescued)
}

// causes are the names of the causes of failed attempts.
var causes = [ledger.Causes]string{"busy", "rejected", "unavailable", "timeout", "connection", "cut", "unusable", "broken"}

// charge writes the prompt and output tokens and their cost.
func (f *fields) charge(t keymeter.Tokens, cost money.Pico, estimated bool) {
	if t != (keymeter.Tokens{}) || cost != 0 {
		f.text("tokens", fmt.Sprintf("%d+%d", t.Prompt, t.Completion))
		f.text("cost", Dollars(cost))
	}
	f.flag("estimated", estimated)
}

// promptCache writes the tokens that were read from the provider's prompt cache, the tokens that were written to it,
// and the savings.
func (f *fields) promptCache(p *ledger.PromptCache) {
	if p.Used() {
		f.text("prompt cache", fmt.Sprintf("%d+%d, %s saved", p.Read, p.Written, Dollars(p.SavedPico)))
	}
}

// trace writes the entry for the list of recent requests. If there is no status, there is no entry.
func (f *fields) trace(t *keymeter.Trace) {
	if t.Status == 0 {
		return
	}
	fmt.Fprintf(f, " (trace: %d", t.Status)
	f.text("provider", t.Provider)
	f.text("cache", caches[t.Cache])
	f.flag("stream", t.Stream)
	f.WriteString(")")
}
