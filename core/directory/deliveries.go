package directory

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// Project is the document of a project with its version.
type Project struct {
	doc.Project
	Version uint64
}

// Key is the document of a key with its version.
type Key struct {
	doc.Key
	Version uint64
}

// DecodeProject decodes the stored document of a project.
func DecodeProject(d Document) (Project, error) {
	p, err := doc.DecodeProject(d.Value)
	return Project{p, d.Version}, err
}

// DecodeKey decodes the stored document of a key.
func DecodeKey(d Document) (Key, error) {
	k, err := doc.DecodeKey(d.Value)
	return Key{k, d.Version}, err
}

// SettingsTo returns the delivery of the project's budget, alerts, policy and paths to its Ledger. An empty policy is
// delivered with a version too. That version is higher than the previous policy's, so the Ledger no longer returns
// the previous policy.
func SettingsTo(p *Project, nowMs uint64) abi.Delivery {
	policy := p.Policy
	if policy.Version == 0 {
		policy = doc.Policy{Version: p.Revision + 1}
	}
	put := ledger.Put{
		Version: p.Version, BudgetPico: p.BudgetPico, Period: p.Period(calendar.Day(nowMs)), Alerts: p.Alerts, Policy: policy.Encode(), Paths: p.Paths,
	}
	return abi.Delivery{Class: abi.ClassLedger, Name: p.ID, Region: p.Region, Data: put.Encode()}
}

// PolicyTo returns the delivery that publishes a version of the project's policy in KV.
func PolicyTo(p *Project) abi.Delivery {
	return abi.Delivery{Class: abi.ClassKV, Name: doc.PolicyKey(p.ID, p.Policy.Version), Data: p.Policy.Encode()}
}

// OldPolicyTo returns the delivery that removes a version of the project's policy from KV.
func OldPolicyTo(p *Project) abi.Delivery {
	return abi.Delivery{Class: abi.ClassKV, Name: doc.PolicyKey(p.ID, p.Policy.Version)}
}

// StatusTo returns the delivery of a key's status and record to its meter, which is the authority on both.
func StatusTo(k *Key, p *Project) abi.Delivery {
	put := keymeter.Put{Status: k.StatusIn(&p.Project), Record: doc.NewRecord(&k.Key, k.Version, &p.Project, p.Version)}
	return abi.Delivery{Class: abi.ClassKeyMeter, Name: k.Hash, Region: p.Region, Data: put.Encode()}
}

// RecordTo returns the delivery that publishes a key's record in KV, where exchanges look it up first. It deletes
// the record of a removed key.
func RecordTo(k *Key, p *Project) abi.Delivery {
	d := abi.Delivery{Class: abi.ClassKV, Name: doc.RecordKey(k.Hash)}
	if k.Status != doc.Removed {
		record := doc.NewRecord(&k.Key, k.Version, &p.Project, p.Version)
		d.Data = record.Encode()
	}
	return d
}
