package exchange_test

import (
	"strings"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/exchange"
	"github.com/postern-ai/postern/core/keys"
)

// readOf matches a read by a prefix of its key.
func readOf(prefix string) func(*abi.Action) bool {
	return func(o *abi.Action) bool { return o.Kind == abi.ActionRead && strings.HasPrefix(o.Key, prefix) }
}

// record [FIELD=VALUE …]|stored|absent|failed|unknown: the key's record, from memory or KV. "stored" is what an earlier
// exchange wrote to memory. With "unknown", memory says that the key does not exist.
func (s *session) doRecord(a *args) {
	look, event := s.find(a, readOf("key/")), abi.Event{Kind: abi.EventStored}
	switch word := a.word(); word {
	case "":
		event.Data = recordOf(a, 5)
	case "stored":
		event.Data = s.stored[look.Key]
	case "unknown":
		event.Data = exchange.UnknownMark
	default:
		event.Code = outcome(a, word)
	}
	s.reply(a, look.ID, event)
}

// recordOf returns a minimal record in project prj_1 with the command's fields.
func recordOf(a *args, version uint64) []byte {
	r := doc.Record{
		KeyID: "key_1", ProjectID: "prj_1", Kind: keys.Gateway, Environment: keys.Production, Plan: a.text("plan", "free"),
		Version: a.number("version", version), CacheTTLSeconds: a.number("cache", 0), Cache: scopes[a.text("scope", "colo")], Policy: a.number("policy", 0),
		Models: a.list("models"), Contact: a.text("contact", ""),
	}
	if a.text("environment", "") == "development" {
		r.Environment = keys.Development
	}
	for _, group := range a.list("groups") {
		id, name, _ := strings.Cut(group, ":")
		r.Chain = append(r.Chain, doc.Node{ID: id, Name: name, Cycle: calendar.Weekly})
	}
	for _, above := range a.list("above") { // ID:name:model+model
		id, rest, _ := strings.Cut(above, ":")
		name, models, _ := strings.Cut(rest, ":")
		r.Restrictions = append(r.Restrictions, doc.Restriction{ID: id, Name: name, Models: strings.Split(models, "+")})
	}
	for _, name := range a.list("may") {
		r.Permissions |= permissions[name]
	}
	return r.Encode()
}

var scopes = map[string]doc.CacheScope{"colo": doc.CacheColo, "off": doc.CacheOff, "global": doc.CacheGlobal}

var permissions = map[string]doc.Permission{
	"complete": doc.MayComplete, "embed": doc.MayEmbed, "models": doc.MayListModels, "usage": doc.MaySeeUsage,
	"validate": doc.MayValidate,
}

// policy [FIELD=VALUE …]|absent|failed: the project's policy, from memory or KV.
func (s *session) doPolicy(a *args) {
	event := abi.Event{Kind: abi.EventStored}
	if word := a.word(); word != "" {
		event.Code = outcome(a, word)
	} else {
		event.Data = policyOf(a)
	}
	s.reply(a, s.find(a, readOf("policy/")).ID, event)
}

// ledger-policy [FIELD=VALUE …]|failed: the policy, from the project's Ledger.
func (s *session) doLedgerPolicy(a *args) {
	event := abi.Event{Kind: abi.EventReply}
	if word := a.word(); word != "" {
		event.Code = outcome(a, word)
	} else {
		event.Data = policyOf(a)
	}
	s.reply(a, s.find(a, callOf("ask-policy")).ID, event)
}

// policyOf returns a policy. The words are: version=2, models=a,b, route=TIER:a,b in that order,
// provider-key=PROVIDER for a provider key, governor=WORD,… (see settingsOf), enforcement=warn or enforce, and
// registry=MODEL:STATE[:KEY or SUCCESSOR],… (see registryOf).
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
	if provider, ok := a.value("provider-key"); ok {
		p.ProviderKeys = []doc.ProviderKey{{Provider: provider, KeyID: "m1", Sealed: []byte("\x00the sealed project key\x00")}}
	}
	if words := a.list("governor"); words != nil {
		p.Governor = settingsOf(a, words)
	}
	p.Enforcement = map[string]doc.Enforcement{"warn": doc.EnforceWarn, "enforce": doc.Enforce}[a.text("enforcement", "off")]
	for _, entry := range a.list("registry") {
		p.Registry = append(p.Registry, registryOf(a, entry))
	}
	return p.Encode()
}

// memory hit|stored|absent|failed|joined: the cache lookup in host memory. With "joined", the exchange follows a
// flight. With "absent", it leads a flight if it asked to join one.
func (s *session) doMemory(a *args) {
	s.doCache(a, func(o *abi.Action) bool {
		return o.Kind == abi.ActionJoin || readOf("cache/")(o) && o.Where == abi.WhereMemory
	})
}

// shared hit|stored|absent|failed: the cache lookup in the stores that isolates share.
func (s *session) doShared(a *args) {
	s.doCache(a, func(o *abi.Action) bool { return readOf("cache/")(o) && o.Where&abi.WhereMemory == 0 })
}

// doCache replies to a cache lookup. A hit has model=NAME provider=NAME age=10s, and the provider's response as
// input. "stored" is the entry that an earlier exchange of the transcript wrote under this key.
func (s *session) doCache(a *args, which func(*abi.Action) bool) {
	look := s.find(a, which)
	event := abi.Event{Kind: abi.EventStored}
	if word := a.word(); word == "stored" {
		if event.Data = s.stored[look.Key]; event.Data == nil {
			a.fail("no entry has this key")
		}
	} else if word == "hit" {
		stored := s.nowMs - a.milliseconds("age")
		usage := chat.Usage{Input: 9, Output: 3, Reported: true}
		event.Data = exchange.Entry(stored, stored+3_600_000, a.text("provider", "openai"), a.text("model", "gpt"), usage, a.body())
	} else {
		event.Code = outcome(a, word)
	}
	s.reply(a, look.ID, event)
}
