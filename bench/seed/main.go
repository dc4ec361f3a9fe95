// Command seed prints, as JSON, a project with one gateway key on the unlimited plan: the key, and the commands and
// KV rows with which the control plane would create it.
package main

import (
	"encoding/hex"
	"encoding/json"
	"log"
	"os"

	"github.com/postern-ai/postern/core/doc"
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
	Key       string    `json:"key"`
	ProjectID string    `json:"projectId"`
	Objects   []command `json:"objects"`
	KV        []row     `json:"kv"`
}

func main() {
	const budgetPico = 1000 * money.Dollar
	key := keys.New(keys.Gateway, keys.Production, [keys.RandomBytes]byte{1, 2, 3})
	project := doc.Project{ID: "proj_bench", Name: "Bench", Plan: "unlimited", BudgetPico: int64(budgetPico), CacheTTLSeconds: 3600}
	record := doc.NewRecord(&doc.Key{
		ID: "key_bench", ProjectID: project.ID, Kind: keys.Gateway, Environment: keys.Production, Hash: keys.Hash(key), Status: doc.Active,
	}, 1, &project, 1)
	putKey := keymeter.Put{Status: doc.Active, Record: record}
	putProject := ledger.Put{Version: 1, BudgetPico: project.BudgetPico}
	out := seed{
		Key: key, ProjectID: project.ID,
		Objects: []command{
			{"LEDGER", project.ID, hex.EncodeToString(putProject.Encode())},
			{"KEY_METER", keys.Hash(key), hex.EncodeToString(putKey.Encode())},
		},
		KV: []row{{doc.RecordKey(keys.Hash(key)), hex.EncodeToString(record.Encode())}},
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		log.Fatal(err)
	}
}
