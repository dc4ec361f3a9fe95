// Command seed prints projects as JSON: their gateway keys, and the commands and KV rows with which the control plane
// would create them.
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"time"

	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

// Plans of the catalog. lending is a plan whose keys can lease, exact is the default plan, and governed is a plan
// with the default plan's limits and the Governor.
const (
	lending  = "unlimited"
	exact    = "free"
	governed = "developer"
)

// tenant describes a project and its number of keys.
type tenant struct {
	name, plan string
	keys       int
	governor   bool
	cache      doc.CacheScope
	uncached   bool
	above      []string // the Ledgers above the project's, from the top down
}

// tenants are the projects. The default plan admits ten requests per second per key, so measuring its throughput
// takes many keys. The second keys of colo and global fill the caches.
var tenants = []tenant{
	{name: "bench", plan: lending, keys: 1},
	{name: "governed", plan: lending, keys: 1, governor: true},
	{name: "default", plan: exact, keys: 128},
	{name: "default-governed", plan: governed, keys: 128, governor: true},
	{name: "cold", plan: exact, keys: 20},
	{name: "warm", plan: exact, keys: 1},
	{name: "hot", plan: lending, keys: 1},
	{name: "memory", plan: lending, keys: 1},
	{name: "colo", plan: lending, keys: 2},
	{name: "global", plan: lending, keys: 2, cache: doc.CacheGlobal},
	{name: "flight", plan: lending, keys: 1},
	{name: "flood", plan: exact, keys: 1},
	{name: "soak", plan: lending, keys: 8, uncached: true},
}

// sparse returns the projects of bench/lib/sparse.mjs, each with one key. Their names end in a number.
func sparse() (list []tenant) {
	for i := range 10 {
		list = append(list,
			tenant{name: fmt.Sprintf("sparse-%d", i), plan: exact, keys: 1},
			tenant{name: fmt.Sprintf("sparse-lent-%d", i), plan: lending, keys: 1})
	}
	return list
}

// trees returns the projects of bench/lib/levels.mjs. Their names end in the number of Ledgers.
func trees() (list []tenant) {
	for n, above := range [...][]string{nil, {doc.Root}, {doc.Root, "grp_department"}, {doc.Root, "grp_department", "grp_team"}} {
		for _, kind := range []tenant{{name: "cold", plan: exact, keys: 20}, {name: "warm", plan: exact, keys: 1}, {name: "lent", plan: lending, keys: 1}, {name: "lone", plan: exact, keys: 1}} {
			kind.name, kind.above = fmt.Sprintf("chain-%s%d", kind.name, n+1), above
			list = append(list, kind)
		}
	}
	return append(list,
		tenant{name: "chain-end2", plan: exact, keys: 1, above: []string{nearlySpent}},
		tenant{name: "chain-crowd", plan: exact, keys: 1000, above: []string{doc.Root}})
}

// nearlySpent is a group with a tenth of its budget left.
const nearlySpent = "grp_end"

type command struct {
	Class   string `json:"class"` // the binding's name
	Object  string `json:"object"`
	Command string `json:"command"` // hexadecimal
}

type row struct {
	Key   string `json:"key"`
	Value string `json:"value"` // hexadecimal
}

// seeded is a project, with the commands and KV rows that create it. The control plane would use the same ones.
type seeded struct {
	ProjectID string    `json:"projectId"`
	Keys      []string  `json:"keys"`
	Objects   []command `json:"objects"`
	KV        []row     `json:"kv"`
}

// seed creates the project. number makes its keys differ from those of other projects.
func (t *tenant) seed(number int) seeded {
	project := doc.Project{
		ID: "proj_" + t.name, Name: t.name, Plan: t.plan, BudgetPico: int64(1000 * money.Dollar), CacheTTLSeconds: 3600,
		Cache: t.cache, Policy: doc.Policy{Version: 1},
	}
	if t.uncached {
		project.CacheTTLSeconds = 0
	}
	var nodes []doc.Ancestor
	for _, id := range t.above {
		project.Chain = append(project.Chain, doc.Node{ID: id})
		nodes = append(nodes, doc.Ancestor{ID: id, Counted: true})
	}
	project.SetAncestors(nodes)
	if t.governor {
		settings := governor.NewSettings()
		settings.Enabled = true
		project.Policy.Governor = settings.Encode()
	}
	policy := project.Policy.Encode()
	put := ledger.Put{Version: 1, BudgetPico: project.BudgetPico, Policy: policy, Paths: project.Paths}
	s := seeded{
		ProjectID: project.ID,
		Objects:   []command{{"LEDGER", project.ID, hex.EncodeToString(put.Encode())}},
		KV:        []row{{doc.PolicyKey(project.ID, project.Policy.Version), hex.EncodeToString(policy)}},
	}
	for _, id := range t.above {
		s.addGroup(id)
	}
	for i := range t.keys {
		s.addKey(&project, [keys.RandomBytes]byte{byte(number), byte(i), byte(i >> 8), 1})
	}
	return s
}

// addGroup gives a Ledger its budget.
func (s *seeded) addGroup(id string) {
	const budget = int64(10_000 * money.Dollar)
	period := calendar.NewPeriod(calendar.Monthly, 0, calendar.Day(uint64(time.Now().UnixMilli())))
	put := ledger.Put{Version: 1, BudgetPico: budget, Period: period}
	s.Objects = append(s.Objects, command{"LEDGER", id, hex.EncodeToString(put.Encode())})
	if id == nearlySpent {
		most := ledger.Grant{Key: "other", Period: period, Epoch: 1, NeedPico: budget / 10 * 9, LeastPico: budget / 10 * 9}
		s.Objects = append(s.Objects, command{"LEDGER", id, hex.EncodeToString(most.Encode())})
	}
}

func (s *seeded) addKey(project *doc.Project, random [keys.RandomBytes]byte) {
	key := keys.New(keys.Gateway, keys.Production, random)
	hash := keys.Hash(key)
	record := doc.NewRecord(&doc.Key{
		ID: "key_" + hash[:16], ProjectID: project.ID, Kind: keys.Gateway, Environment: keys.Production, Hash: hash, Status: doc.Active,
	}, 1, project, 1)
	put := keymeter.Put{Status: doc.Active, Record: record}
	s.Keys = append(s.Keys, key)
	s.Objects = append(s.Objects, command{"KEY_METER", hash, hex.EncodeToString(put.Encode())})
	s.KV = append(s.KV, row{doc.RecordKey(hash), hex.EncodeToString(record.Encode())})
}

func main() {
	out := map[string]seeded{}
	all := slices.Concat(tenants, trees(), sparse())
	for i := range all {
		out[all[i].name] = all[i].seed(i + 1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		log.Fatal(err)
	}
}
