package usage

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/control/settings"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/core/money"
)

// comparisonView shows what the recorded traffic would cost at the list prices of other models.
type comparisonView struct {
	From         string        `json:"from"`
	To           string        `json:"to"`
	PriceVersion string        `json:"priceVersion"`
	Caveats      []string      `json:"caveats"`
	Traffic      []trafficView `json:"traffic"`
	Kinds        []kindView    `json:"kinds"`
	Candidates   []candidate   `json:"candidates"` // by kind, cheapest first
}

// trafficView shows a model's traffic and the cost of its tokens at the model's own current list prices.
type trafficView struct {
	Model            string  `json:"model"`
	Kind             *string `json:"kind"` // null: not in the catalog and therefore not compared
	Served           uint64  `json:"served"`
	PromptTokens     uint64  `json:"promptTokens"`
	CompletionTokens uint64  `json:"completionTokens"`
	ReadTokens       uint64  `json:"promptCacheReadTokens"`
	WriteTokens      uint64  `json:"promptCacheWriteTokens"`
	Estimated        uint64  `json:"estimated"`
	Expired          uint64  `json:"expired"`
	// Cost is the recorded cost, including everything that list prices leave out.
	Cost     json.RawMessage  `json:"cost"`
	ListCost *json.RawMessage `json:"listCost"` // null: not in the catalog, or beyond the range of amounts
}

// kindView is all compared traffic of one kind of model.
type kindView struct {
	Kind     string           `json:"kind"`
	Cost     json.RawMessage  `json:"cost"`
	ListCost *json.RawMessage `json:"listCost"`
}

// candidate is a model that could serve all compared traffic of its kind.
type candidate struct {
	Model    string  `json:"model"`
	Provider string  `json:"provider"`
	Kind     string  `json:"kind"`
	Context  *uint64 `json:"context"` // tokens; null: not known
	Used     bool    `json:"used"`    // the candidate served some of the traffic
	// Cost is null if it is beyond the range of amounts.
	Cost *json.RawMessage `json:"cost"`
	// Difference is the cost minus the list cost of the same traffic on its current models. If it is negative, the
	// candidate is cheaper.
	Difference *json.RawMessage `json:"difference"`
	costPico   money.Pico
}

// Caveats describe what a comparison does not take into account.
const (
	caveatTokens   = "Models count tokens differently: another model may need more or fewer tokens for the same texts."
	caveatAnswers  = "Quality differs, and so does the length of answers. Context windows, features, allowed models and credentials are not compared."
	caveatList     = "List prices leave out long-prompt prices, service tiers, fees of provider tools, and failed attempts without tokens. The recorded cost has them."
	caveatCache    = "Prompt cache tokens have the other model's cache prices, as if its provider cached the same tokens; writes have the price of the shorter time."
	caveatFlagged  = "Served requests: %d. Charges with estimated tokens among them: %d. Requests without tokens, because no settlement came: %d."
	caveatCatalog  = "Models that are not in the catalog, and not compared: %d."
	caveatNoPrices = "Models without a price in the catalog are left out."
)

type comparisonQuery struct {
	firstDay, endDay uint64
	of               string        // compares only the traffic of this model; empty: all
	candidate        *config.Model // nil: all
}

// compareCosts serves GET …/costs/compare?from=&to=&of=&model=.
func (h *handler) compareCosts(c *kernel.Call) (kernel.Answer, error) {
	q, err := h.readComparison(c)
	if err != nil {
		return kernel.Answer{}, err
	}
	p, _, err := h.collect(c)
	if err != nil {
		return kernel.Answer{}, err
	}
	t, err := h.readTraffic(c, &p, q.firstDay, q.endDay)
	return kernel.OK(h.compare(q, &t)), err
}

func (h *handler) readComparison(c *kernel.Call) (*comparisonQuery, error) {
	q, err := kernel.ReadQuery(c.Request, "", "from", "to", "of", "model")
	if err != nil {
		return nil, err
	}
	asked := &comparisonQuery{of: q.Values.Get("of")}
	asked.firstDay, asked.endDay, _ = h.readDays(q)
	if len(asked.of) > kernel.MaxQueryText {
		q.Problem("of", modelTooLong)
	}
	if name := q.Values.Get("model"); name != "" {
		asked.candidate = h.Catalog.Model(name)
		if asked.candidate == nil || !hasPrice(asked.candidate) {
			q.Problem("model", "must be a model of the catalog that has a price"+kernel.Got(name))
		}
	}
	return asked, q.Err()
}

func (h *handler) compare(q *comparisonQuery, t *traffic) *comparisonView {
	view := &comparisonView{
		From: kernel.DateText(q.firstDay), To: kernel.DateText(q.endDay - 1), PriceVersion: h.Catalog.PriceVersion,
		Traffic: []trafficView{}, Kinds: []kindView{}, Candidates: []candidate{},
	}
	var all modelUse
	sums := map[string]*kindSum{}
	unknown := 0
	for i := range t.models {
		u := &t.models[i]
		if q.of != "" && u.Model != q.of || u.served()+u.Prompt+u.Completion == 0 {
			continue
		}
		m := h.Catalog.Model(u.Model)
		view.Traffic = append(view.Traffic, viewTraffic(u, m))
		all.plus(u)
		if m == nil {
			unknown++
			continue
		}
		addKind(sums, u, m)
	}
	view.addCandidates(h.Catalog, sums, q.candidate)
	view.Caveats = caveats(&all, unknown)
	return view
}

type kindSum struct {
	use      modelUse
	listPico money.Pico
	models   map[string]bool
}

func addKind(sums map[string]*kindSum, u *modelUse, m *config.Model) {
	kind := settings.KindOf(m.APIs)
	if sums[kind] == nil {
		sums[kind] = &kindSum{models: map[string]bool{}}
	}
	s := sums[kind]
	s.use.plus(u)
	s.listPico = money.Add(s.listPico, listCost(m, u))
	s.models[m.Name] = true
}

func viewTraffic(u *modelUse, m *config.Model) trafficView {
	v := trafficView{
		Model: u.Model, Served: u.served(), PromptTokens: u.Prompt, CompletionTokens: u.Completion, ReadTokens: u.PromptCache.Read,
		WriteTokens: u.PromptCache.Written, Estimated: u.Estimated, Expired: u.Expired, Cost: dollars(u.CostPico),
	}
	if m != nil {
		kind := settings.KindOf(m.APIs)
		v.Kind, v.ListCost = &kind, fitting(listCost(m, u))
	}
	return v
}

// listCost returns the cost of recorded tokens at a model's list prices. Prices for long prompts are not applied,
// because a sum of tokens does not show the length of each prompt. With flat prices per token, the cost of a sum is
// the sum of the costs.
func listCost(m *config.Model, u *modelUse) money.Pico {
	flat := *m
	flat.Prices.LongAbove = 0
	return flat.Cost(&chat.Usage{Input: u.Prompt, CachedInput: u.PromptCache.Read, CacheWrite: u.PromptCache.Written, Output: u.Completion})
}

// addCandidates adds the kinds of models in the traffic. To each kind, it adds the models that could serve it.
func (v *comparisonView) addCandidates(catalog *config.Config, sums map[string]*kindSum, only *config.Model) {
	for kind, s := range sums {
		v.Kinds = append(v.Kinds, kindView{kind, dollars(s.use.CostPico), fitting(s.listPico)})
	}
	for i := range catalog.Models {
		m := &catalog.Models[i]
		s := sums[settings.KindOf(m.APIs)]
		if s != nil && hasPrice(m) && (only == nil || only == m) {
			v.Candidates = append(v.Candidates, s.reprice(m))
		}
	}
	kernel.SortBy(v.Kinds, func(a, b *kindView) int { return strings.Compare(a.Kind, b.Kind) })
	kernel.SortBy(v.Candidates, func(a, b *candidate) int {
		switch {
		case a.Kind != b.Kind:
			return strings.Compare(a.Kind, b.Kind)
		case a.costPico < b.costPico:
			return -1
		case a.costPico > b.costPico:
			return 1
		}
		return strings.Compare(a.Model, b.Model)
	})
}

func (s *kindSum) reprice(m *config.Model) candidate {
	c := candidate{
		Model: m.Name, Provider: m.Provider.Name, Kind: settings.KindOf(m.APIs), Context: kernel.NullIfZero(m.Context), Used: s.models[m.Name],
		costPico: listCost(m, &s.use),
	}
	if c.Cost = fitting(c.costPico); c.Cost != nil && s.listPico < money.Max {
		c.Difference = fitting(c.costPico - s.listPico)
	}
	return c
}

// fitting returns an amount in dollars. It returns nil if the amount has saturated, because two such amounts would
// look equal.
func fitting(amount money.Pico) *json.RawMessage {
	if amount == money.Max {
		return nil
	}
	text := dollars(amount)
	return &text
}

func caveats(u *modelUse, unknown int) []string {
	all := []string{caveatTokens, caveatAnswers, caveatList, caveatNoPrices}
	if u.PromptCache.Read+u.PromptCache.Written > 0 {
		all = append(all, caveatCache)
	}
	if u.Estimated+u.Expired > 0 {
		all = append(all, fmt.Sprintf(caveatFlagged, u.served(), u.Estimated, u.Expired))
	}
	if unknown > 0 {
		all = append(all, fmt.Sprintf(caveatCatalog, unknown))
	}
	return all
}
