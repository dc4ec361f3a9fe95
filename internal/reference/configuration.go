package reference

import (
	"maps"
	"slices"
	"strings"

	"github.com/postern-ai/postern/server/settings"
)

const configurationHead = `This page lists each variable, its default and its values. [Self-hosting](../operate/selfhosting.md) and
[Cloudflare](../operate/cloudflare.md) show how to run a deployment.

## How to set a variable

- **` + "`postern serve`" + `** reads flags, environment variables and a YAML file, in this order of precedence. The file is the one that ` + "`--config`" + ` or
  ` + "`POSTERN_CONFIG`" + ` names. ` + "`NAME_FILE`" + ` names a file that has the value of a secret, of ` + "`POSTERN_CATALOG`" + ` or of a provider's variable. [The
  command line](cli.md#postern-serve) has the flags. An unknown or invalid variable is an error at the start.
- **Cloudflare**: set a secret with ` + "`npx wrangler secret put NAME`" + `, and a variable under ` + "`[vars]` in `wrangler.toml`" + `. For the control Worker, add
  ` + "`-c worker/control/wrangler.toml`" + ` to the command, or edit that file. A value that both Workers read must be the same on both.
- **` + "`make dev`" + `** reads the variables of Cloudflare from the shell, except ` + "`POSTERN_ADMIN_TOKEN`" + `, which it makes.`

const workersText = `Nothing makes secrets here: the admin API is off without ` + "`POSTERN_ADMIN_TOKEN`" + `, projects cannot store provider keys without
` + "`POSTERN_MASTER_KEYS`" + `, and there are no signed checkpoints without ` + "`POSTERN_SIGNING_KEY`" + `. A variable holds at most 5 KB.`

const providersText = "The gateway does not call a provider without its key or its base URL. Projects can store keys of their own: see\n" +
	"[provider keys](../guides/provider-keys.md). On Cloudflare, these variables belong to the gateway Worker. Keys and tokens are secrets. `{NAME}` in a\n" +
	"base URL is replaced by that setting."

const telemetryText = "`postern serve` exports traces and metrics with the standard variables of OpenTelemetry. These are the most useful;\n" +
	"[metrics and traces](../operate/metrics.md) explains the metrics and spans."

// Configuration returns the page about variables and bindings.
func Configuration(text catalogText) string {
	p := newPage("Configuration", "server/settings, internal/reference and core/catalog/catalog.json")
	p.text(configurationHead)
	p.heading(2, "Variables of `postern serve`")
	p.serverVariables()
	p.heading(2, "Variables on Cloudflare")
	p.text(workersText)
	p.workerVariables()
	p.heading(2, "Bindings on Cloudflare")
	p.text("`wrangler.toml` of each Worker has its bindings. A deployment creates the namespace and the Durable Objects.")
	p.bindings()
	p.heading(2, "Variables of providers")
	p.text(providersText)
	p.providerVariables(text)
	p.heading(2, "OpenTelemetry and the Go runtime")
	p.text(telemetryText)
	p.table([]string{"Variable", "Values", "Meaning"}, runtimeVariables)
	p.heading(2, "Variables of other programs")
	p.text("These variables are not settings of the server.")
	p.otherVariables()
	return p.String()
}

func (p *page) serverVariables() {
	var rows [][]string
	for _, v := range settings.Variables() {
		rows = append(rows, []string{code(v.Name), code(v.Key), orNone(v.Default), sentence(v.Form), yes(v.Secret), v.Help})
	}
	p.table([]string{"Variable", "Key in the file", "Default", "Values", "Secret", "Meaning"}, rows)
}

func (p *page) workerVariables() {
	known := settings.Variables()
	var rows [][]string
	for _, w := range workerVariables {
		v := w.Variable
		if i := slices.IndexFunc(known, func(k settings.Variable) bool { return k.Name == w.Name }); i >= 0 {
			v = known[i]
		}
		if w.Help != "" {
			v.Help = w.Help
		}
		rows = append(rows, []string{code(v.Name), w.worker, orNone(v.Default), sentence(v.Form), yes(v.Secret), v.Help})
	}
	p.table([]string{"Variable", "Worker", "Default", "Values", "Secret", "Meaning"}, rows)
}

func (p *page) bindings() {
	var rows [][]string
	for _, b := range bindings {
		rows = append(rows, []string{code(b.name), b.worker, b.kind, b.meaning})
	}
	p.table([]string{"Binding", "Worker", "Kind", "Meaning"}, rows)
}

func (p *page) providerVariables(text catalogText) {
	var rows [][]string
	for _, of := range text.Providers {
		if of.BaseURLEnv == "" {
			continue
		}
		base := code(of.BaseURLEnv)
		if of.BaseURL != "" {
			base += ", default `" + of.BaseURL + "`"
		}
		rows = append(rows, []string{code(of.Name), code(of.KeyEnv), base, settingWords(&of)})
	}
	p.table([]string{"Provider", "Key", "Base URL", "Settings"}, rows)
}

// settingWords returns the settings of a provider other than its key and its base URL.
func settingWords(of *providerText) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(of.Settings)) {
		s := of.Settings[name]
		word := code(s.Env) + " (`" + name + "`"
		switch {
		case s.Default != "":
			word += ", default `" + s.Default + "`"
		case s.Suffices:
			word += ", in place of all other credentials"
		case s.Optional:
			word += ", optional"
		}
		words = append(words, word+")")
	}
	return strings.Join(words, ", ")
}

func (p *page) otherVariables() {
	programs := map[settings.Program]string{
		settings.CommandLine: "[command line](cli.md)", settings.Development: "`make dev`", settings.Clients: "[client libraries](../clients/behavior.md)",
	}
	var rows [][]string
	for _, o := range settings.Others() {
		rows = append(rows, []string{code(o.Name), programs[o.Program], orNone(o.Default), o.Help})
	}
	p.table([]string{"Variable", "Program", "Default", "Meaning"}, rows)
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return code(text)
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// sentence returns a form as a sentence with a capital letter and a period. It does not change names of values.
func sentence(form string) string {
	for _, article := range []string{"a", "an", "the", "at"} {
		if strings.HasPrefix(form, article+" ") {
			form = strings.ToUpper(form[:1]) + form[1:]
			break
		}
	}
	return form + "."
}
