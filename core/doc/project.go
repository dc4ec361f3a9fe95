package doc

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
)

// Project is the Directory's document of a project, under ProjectKey.
type Project struct {
	ID              string
	Name            string
	Plan            string // a plan of the catalog
	Region          string // the platform's location hint for the project's objects; empty: where it is first used
	BudgetPico      int64  // dollars × 10^12 a turn of the cycle
	CacheTTLSeconds uint64
	CreatedMs       uint64
	KeyCount        uint64 // keys ever made: every new key changes the project's version

	Revision uint64 // counts the changes of the project itself, not those of its keys
	Archived bool   // its keys are refused
	Cycle    calendar.Cycle
	Epoch    uint64 // how often the cycle was changed
	Alerts   Alerts
	Policy   Policy
}

// Alerts is where a project's owner is told that its budget runs out. Without a URL nobody is.
type Alerts struct {
	URL    string
	Secret []byte // of the signature: Standard Webhooks' whsec_, decoded
}

// Period is the turn of the budget's cycle that day is in.
func (p *Project) Period(day uint64) calendar.Period {
	return calendar.NewPeriod(p.Cycle, p.Epoch, day)
}

// Encode is the stored form.
func (p *Project) Encode() []byte {
	var w abi.Writer
	w.Uint(projectFormat)
	w.String(p.ID)
	w.String(p.Name)
	w.String(p.Plan)
	w.String(p.Region)
	w.Int(p.BudgetPico)
	w.Uint(p.CacheTTLSeconds)
	w.Uint(p.CreatedMs)
	w.Uint(p.KeyCount)
	w.Uint(p.Revision)
	w.Bool(p.Archived)
	w.Uint(uint64(p.Cycle))
	w.Uint(p.Epoch)
	w.String(p.Alerts.URL)
	w.Bytes(p.Alerts.Secret)
	w.Bytes(p.Policy.Encode())
	return w.Buf
}

// DecodeProject reads the stored form.
func DecodeProject(data []byte) (Project, error) {
	r := abi.Reader{Buf: data}
	format := r.Uint()
	if format == 0 || format > projectFormat {
		return Project{}, abi.ErrMalformed
	}
	p := Project{
		ID: r.String(), Name: r.String(), Plan: r.String(), Region: r.String(), BudgetPico: r.Int(), CacheTTLSeconds: r.Uint(),
		CreatedMs: r.Uint(), KeyCount: r.Uint(),
	}
	if format >= 2 {
		p.Revision, p.Archived, p.Cycle, p.Epoch = r.Uint(), r.Bool(), calendar.Cycle(r.Byte()), r.Uint()
		p.Alerts = Alerts{r.String(), r.Bytes()}
		policy, err := DecodePolicy(r.Bytes())
		if err != nil {
			return Project{}, err
		}
		p.Policy = policy
	}
	return p, r.End()
}
