package exchange_test

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/keys"
)

// reading is a read of a key that begins so.
func reading(prefix string) func(*abi.Action) bool {
	return func(o *abi.Action) bool { return o.Kind == abi.ActionRead && strings.HasPrefix(o.Key, prefix) }
}

// record [FIELD=VALUE …]|absent|failed|unknown: the key's record, from memory or KV. Memory may know, too, that there
// is no such key.
func (s *story) doRecord(a *args) {
	event := abi.Event{Kind: abi.EventStored}
	switch word := a.word(); word {
	case "":
		event.Data = recordOf(a, 5)
	case "unknown":
		event.Data = exchange.UnknownMark
	default:
		event.Code = outcome(a, word)
	}
	s.answer(a, s.find(a, reading("key/")).ID, event)
}

// recordOf is a record of project prj_1 that is as plain as can be, but for what the command says.
func recordOf(a *args, version uint64) []byte {
	r := doc.Record{
		KeyID: "key_1", ProjectID: "prj_1", Kind: keys.Gateway, Environment: keys.Production, Plan: "free",
		Version: a.number("version", version), CacheTTLSeconds: a.number("cache", 0), Policy: a.number("policy", 0),
		Models: a.list("models"),
	}
	if a.text("environment", "") == "development" {
		r.Environment = keys.Development
	}
	for _, name := range a.list("may") {
		r.Permissions |= permissions[name]
	}
	return r.Encode()
}

var permissions = map[string]doc.Permission{
	"complete": doc.MayComplete, "embed": doc.MayEmbed, "models": doc.MayListModels, "usage": doc.MaySeeUsage,
}

// policy [FIELD=VALUE …]|absent|failed: the project's policy, from memory or KV.
func (s *story) doPolicy(a *args) {
	event := abi.Event{Kind: abi.EventStored}
	if word := a.word(); word != "" {
		event.Code = outcome(a, word)
	} else {
		event.Data = policyOf(a)
	}
	s.answer(a, s.find(a, reading("policy/")).ID, event)
}

// ledger-policy [FIELD=VALUE …]|failed: the policy, from the project's ledger.
func (s *story) doLedgerPolicy(a *args) {
	event := abi.Event{Kind: abi.EventReply}
	if word := a.word(); word != "" {
		event.Code = outcome(a, word)
	} else {
		event.Data = policyOf(a)
	}
	s.answer(a, s.find(a, calling("ask-policy")).ID, event)
}

// policyOf has version=2, models=a,b, route=TIER:a,b in their order, and own=PROVIDER with the project's own key.
func policyOf(a *args) []byte {
	p := doc.Policy{Version: a.number("version", 2), Models: a.list("models")}
	if route, ok := a.value("route"); ok {
		tier, names, _ := strings.Cut(route, ":")
		r := doc.Route{Tier: tier, Strategy: 1}
		for _, name := range strings.Split(names, ",") {
			r.Targets = append(r.Targets, doc.RouteTarget{Model: name})
		}
		p.Routes = []doc.Route{r}
	}
	if provider, ok := a.value("own"); ok {
		p.ProviderKeys = []doc.ProviderKey{{Provider: provider, KeyID: "m1", Sealed: []byte("\x00the project's own key, sealed\x00")}}
	}
	return p.Encode()
}

// memory hit|absent|failed: the cache's fast tier.
func (s *story) doMemory(a *args) { s.doCache(a, abi.WhereMemory) }

// kv hit|absent|failed: its slow one.
func (s *story) doKV(a *args) { s.doCache(a, abi.WhereKV) }

// doCache answers a look into the cache. A hit is model=NAME provider=NAME age=10s, with the answer as the provider
// sent it as input.
func (s *story) doCache(a *args, tier uint64) {
	look := s.find(a, func(o *abi.Action) bool { return reading("cache/")(o) && o.Where == tier })
	event := abi.Event{Kind: abi.EventStored}
	if word := a.word(); word == "hit" {
		stored := s.nowMs - a.milliseconds("age")
		usage := chat.Usage{Input: 9, Output: 3, Reported: true}
		event.Data = exchange.Entry(stored, stored+3_600_000, a.text("provider", "openai"), a.text("model", "gpt"), usage, a.body())
	} else {
		event.Code = outcome(a, word)
	}
	s.answer(a, look.ID, event)
}
