package reference

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/money"
	"github.com/postern-ai/postern/core/provider"
)

// catalogText is the part of the catalog that is for readers. core/config does not keep it.
type catalogText struct {
	Version   string
	Providers []providerText
	Models    []struct{ Name, Note string }
}

type providerText struct {
	Name, Wire, BaseURL, BaseURLEnv, KeyEnv string
	Settings                                map[string]struct {
		Env, Default       string
		Optional, Suffices bool
	}
}

func readCatalog(text []byte) (c catalogText, err error) {
	err = json.Unmarshal(text, &c)
	return c, err
}

const catalogHead = "These are the models that a deployment knows without any setting. Prices are in dollars per million tokens. Each price has a source and a\n" +
	"date; the provider's own page has the current price. To correct a price or add a model, see\n" +
	"[models, providers, tiers and plans](models.md). The gateway lists the models of a key at `GET /v1/models`."

const catalogColumns = "- **Cached** is the price of tokens that the provider reads from its prompt cache.\n" +
	"- **Context** and **output** are the context window and the longest output, in tokens.\n" +
	"- **Takes** names the content and features that the gateway sends to the model: tools, images, files, audio, JSON Schemas (schema) and\n" +
	"  reasoning. Other content goes to another model of the route; [translation](translation.md) says what\n" +
	"  happens without one.\n" +
	"- **Checked** says when the prices were compared with their source: year and month."

// Catalog returns the page about models.
func Catalog(text catalogText, c *config.Config) string {
	p := newPage("Catalog", "core/catalog/catalog.json")
	p.text(catalogHead)
	p.text(fmt.Sprintf("The version of %s has %d models.", text.Version, len(c.Models)))
	p.heading(2, "Tiers")
	p.text("A tier is a named list of models. A request can name a tier in place of a model. Projects can change them: see\n[routing](../guides/routing.md).")
	p.tiers(c)
	p.heading(2, "Columns of the tables of models")
	p.text(catalogColumns)
	p.providerLinks(text, c)
	for _, provider := range text.Providers {
		p.providerSection(text, &provider, c)
	}
	p.tools(c)
	return p.String()
}

func (p *page) tiers(c *config.Config) {
	var rows [][]string
	for _, t := range c.Tiers {
		var models []string
		for _, target := range t.Targets {
			models = append(models, target.Model.Name)
		}
		rows = append(rows, []string{code(t.Name), codes(models)})
	}
	p.table([]string{"Tier", "Models in their order"}, rows)
}

func (p *page) providerLinks(text catalogText, c *config.Config) {
	var links []string
	for _, of := range text.Providers {
		if slices.ContainsFunc(c.Models, func(m config.Model) bool { return m.Provider.Name == of.Name }) {
			links = append(links, fmt.Sprintf("[%s](#%s)", of.Name, of.Name))
		}
	}
	p.text(strings.Join(links, " · "))
}

// providerSection writes the section with a provider's models. A provider without models has no section.
func (p *page) providerSection(text catalogText, of *providerText, c *config.Config) {
	var rows [][]string
	var more, sources []string
	for i := range c.Models {
		m := &c.Models[i]
		if m.Provider.Name != of.Name {
			continue
		}
		rows = append(rows, modelRow(m))
		if words := moreOf(m, note(text, m.Name)); words != "" {
			more = append(more, "- `"+m.Name+"`: "+words)
		}
		if source := sourceOf(c, m.Source); !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
	}
	if len(rows) == 0 {
		return
	}
	p.heading(2, code(of.Name))
	p.table([]string{"Model", "Input", "Output", "Cached", "Context", "Output limit", "Takes", "Checked"}, rows)
	if len(more) > 0 {
		p.text(strings.Join(more, "\n"))
	}
	p.text("Sources of the prices:\n\n- " + strings.Join(sources, "\n- "))
}

func modelRow(m *config.Model) []string {
	name := code(m.Name)
	if len(m.Aliases) > 0 {
		name += ", also " + codes(m.Aliases)
	}
	return []string{
		name, dollars(m.Prices.Input), textPrice(m, m.Prices.Output), textPrice(m, m.Prices.Cached), known(m.Context), known(m.MaxOutput),
		strings.Join(takes(m), ", "), m.Date,
	}
}

// dollars returns a price per million tokens.
func dollars(price money.Pico) string {
	return string(money.Append(nil, 1_000_000*price, money.Dollar))
}

// textPrice returns a price that applies only to models with text output.
func textPrice(m *config.Model, price money.Pico) string {
	if m.APIs&(config.APIsOfChat|config.APICompletions) == 0 {
		return "–"
	}
	return dollars(price)
}

// known returns a number of tokens as text. 0 means unknown.
func known(n uint64) string {
	if n == 0 {
		return "–"
	}
	return grouped(n)
}

// features are the words in the column "Takes".
var features = []struct {
	word  string
	param chat.Params
}{
	{"tools", chat.ParamTools},
	{"images", chat.ParamImages},
	{"files", chat.ParamFiles},
	{"audio", chat.ParamAudio},
	{"schema", chat.ParamFormatSchema},
	{"reasoning", chat.ParamReasoning},
}

// takes returns the features of a chat model. One wire of the model is enough for a feature. For another kind of
// model, it returns the API.
func takes(m *config.Model) (words []string) {
	if m.APIs != config.APIsOfChat {
		return []string{"only " + strings.Join(m.APIs.Names(), ", ")}
	}
	var carried chat.Params
	for _, p := range append([]*config.Provider{m.Provider}, m.Others...) {
		if family, ok := provider.For(p.Wire); ok {
			carried |= family.Carries &^ p.Drops &^ m.Drops
		}
	}
	for _, f := range features {
		if carried&f.param != 0 {
			words = append(words, f.word)
		}
	}
	return words
}

// moreOf returns the remaining prices of a model and its note.
func moreOf(m *config.Model, note string) string {
	var words []string
	p := &m.Prices
	if p.LongAbove > 0 {
		words = append(words, fmt.Sprintf("above %s prompt tokens %s input, %s output, %s cached", grouped(p.LongAbove),
			dollars(p.LongInput), dollars(p.LongOutput), dollars(p.LongCached)))
	}
	if p.Write != p.Input {
		words = append(words, "writing the prompt cache "+dollars(p.Write))
	}
	if p.Write1h != p.Write {
		words = append(words, "for an hour "+dollars(p.Write1h))
	}
	for _, f := range m.Factors {
		words = append(words, fmt.Sprintf("`%s` × %s", f.Term, factor(f)))
	}
	if note != "" {
		words = append(words, note)
	}
	if len(words) == 0 {
		return ""
	}
	return strings.TrimSuffix(strings.Join(words, "; "), ".") + "."
}

// factor returns a factor as a decimal number. If no decimal number is exact, it returns a fraction. The
// factor's numerator and denominator are in thousandths.
func factor(f config.Factor) string {
	if thousandths := f.Num * 1000; thousandths%f.Den == 0 {
		return string(money.Append(nil, money.Pico(thousandths/f.Den), 1000))
	}
	return fmt.Sprintf("%d/%d", f.Num/1000, f.Den/1000)
}

func note(text catalogText, model string) string {
	for _, m := range text.Models {
		if m.Name == model {
			return m.Note
		}
	}
	return ""
}

func sourceOf(c *config.Config, name string) string {
	for _, s := range c.Sources {
		if s.Name == name {
			return s.Value
		}
	}
	return name
}

// tools writes the table of prices that providers charge for their own tools.
func (p *page) tools(c *config.Config) {
	p.heading(2, "Tools of providers")
	p.text("Providers charge for some of their own tools by the call, or by the container. [Prices](prices.md) explains how they are charged. Tools without\na price here cost only tokens.")
	var rows [][]string
	var free []string
	for _, t := range c.Tools {
		if t.Price == 0 {
			free = append(free, t.Name)
			continue
		}
		where := codes(append(slices.Clone(t.Wires), t.Providers...))
		rows = append(rows, []string{code(t.Name), where, string(money.Append(nil, t.Price, money.Dollar)), t.Date})
	}
	p.table([]string{"Tool", "APIs and providers", "Dollars for each", "Checked"}, rows)
	slices.Sort(free)
	p.text("Without a price: " + codes(slices.Compact(free)) + ".")
}
