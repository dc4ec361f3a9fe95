// Command seed prints, as JSON, two projects on the unlimited plan, one of them with the Governor, each with one gateway
// key: the keys, and the commands and KV rows with which the control plane would create them.
package main

import (
	"encoding/hex"
	"encoding/json"
	"log"
	"os"

	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/governor"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/keys"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/money"
)

type command struct {
	Class   string `json:"class"` // the binding's name
	Object  string `json:"object"`
	Command string `json:"command"` // hexadecimal
}

type row struct {
	Key   string `json:"key"`
	Value string `json:"value"` // hexadecimal
}

type seed struct {
	Key         string    `json:"key"`
	ProjectID   string    `json:"projectId"` // of Key
	GovernedKey string    `json:"governedKey"`
	Objects     []command `json:"objects"`
	KV          []row     `json:"kv"`
}

// tenant is a project with one gateway key, and the commands and KV rows with which the control plane would create them.
func tenant(name string, random byte, policy doc.Policy) (key string, objects []command, rows []row) {
	key = keys.New(keys.Gateway, keys.Production, [keys.RandomBytes]byte{random, 2, 3})
	project := doc.Project{
		ID: "proj_" + name, Name: name, Plan: "unlimited", BudgetPico: int64(1000 * money.Dollar), CacheTTLSeconds: 3600, Policy: policy,
	}
	record := doc.NewRecord(&doc.Key{
		ID: "key_" + name, ProjectID: project.ID, Kind: keys.Gateway, Environment: keys.Production, Hash: keys.Hash(key), Status: doc.Active,
	}, 1, &project, 1)
	putProject := ledger.Put{Version: 1, BudgetPico: project.BudgetPico}
	rows = []row{{doc.RecordKey(keys.Hash(key)), hex.EncodeToString(record.Encode())}}
	if policy.Version > 0 {
		putProject.Policy = policy.Encode()
		rows = append(rows, row{doc.PolicyKey(project.ID, policy.Version), hex.EncodeToString(putProject.Policy)})
	}
	putKey := keymeter.Put{Status: doc.Active, Record: record}
	return key, []command{
		{"LEDGER", project.ID, hex.EncodeToString(putProject.Encode())},
		{"KEY_METER", keys.Hash(key), hex.EncodeToString(putKey.Encode())},
	}, rows
}

func main() {
	settings := governor.NewSettings()
	settings.Enabled = true
	key, objects, rows := tenant("bench", 1, doc.Policy{Version: 1})
	governedKey, governedObjects, governedRows := tenant("governed", 2, doc.Policy{Version: 1, Governor: settings.Encode()})
	out := seed{
		Key: key, ProjectID: "proj_bench", GovernedKey: governedKey,
		Objects: append(objects, governedObjects...), KV: append(rows, governedRows...),
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		log.Fatal(err)
	}
}
