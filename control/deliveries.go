package control

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// next is the document as it will stand after the commit that writes it.
func (p project) next() project { return project{p.Project, p.version + 1} }

func (k key) next() key { return key{k.Key, k.version + 1} }

// write puts a document in a commit: p is what next returned.
func (p project) write() directory.Write {
	return directory.Write{Key: doc.ProjectKey(p.ID), Version: p.version - 1, Value: p.Encode()}
}

// write puts a document in a commit. A removed key leaves none; its tombstone is in its meter.
func (k key) write() directory.Write {
	w := directory.Write{Key: doc.KeyKey(k.ProjectID, k.ID), Version: k.version - 1}
	if k.Status != doc.Removed {
		w.Value = k.Encode()
	}
	return w
}

// budgetTo tells the project's ledger its budget.
func budgetTo(p project) abi.Delivery {
	put := ledger.Put{Version: p.version, BudgetPico: p.BudgetPico}
	return abi.Delivery{Class: abi.ClassLedger, Name: p.ID, Region: p.Region, Data: put.Encode()}
}

// statusTo tells a key's meter, which is the authority on it, its status and record.
func statusTo(k key, p project) abi.Delivery {
	put := keymeter.Put{Status: k.Status, Record: doc.NewRecord(k.Key, k.version, p.Project, p.version)}
	return abi.Delivery{Class: abi.ClassKeyMeter, Name: k.Hash, Region: p.Region, Data: put.Encode()}
}

// recordTo publishes a key's record in KV, from where exchanges have it at first. A removed key's goes.
func recordTo(k key, p project) abi.Delivery {
	d := abi.Delivery{Class: abi.ClassKV, Name: doc.RecordKey(k.Hash)}
	if k.Status != doc.Removed {
		record := doc.NewRecord(k.Key, k.version, p.Project, p.version)
		d.Data = record.Encode()
	}
	return d
}
