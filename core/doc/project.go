package doc

import (
	"slices"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
)

// Project is the Directory's document of a project, under ProjectKey.
type Project struct {
	ID              string
	Name            string
	Plan            string // name of a plan in the catalog
	Region          string // the platform's location hint for the project's objects; empty: near their first use
	BudgetPico      int64  // dollars × 10^12 per budget period
	CacheTTLSeconds uint64 // lifetime of a cached response; 0: responses are not cached
	CreatedMs       uint64
	KeyCount        uint64 // keys ever created; stored, but not used

	Revision uint64 // counts changes to the project, but not to its keys
	Archived bool   // its keys are rejected
	Cycle    calendar.Cycle
	Epoch    uint64 // how often the cycle was changed
	Alerts   Alerts
	Policy   Policy
	// Unbounded projects do not limit responses if the caller sets no max tokens. Such requests reserve a
	// modest amount, so their cost may exceed the budget.
	Unbounded bool
	// Cache says where responses are cached. Stored projects have CacheOff if, and only if, CacheTTLSeconds is 0.
	Cache CacheScope
	// Contact names who can raise the limits and the budget, for example by an e-mail address. Errors about the
	// limits or the budget name the contact. If it is empty, they name the operator.
	Contact string
	// RecordProviderErrors keeps providers' messages in the records of failed requests. A project without it is
	// stored in the previous format, which older instances can read.
	RecordProviderErrors bool
	// Chain contains the budgets above the project that stop requests, from the deployment's down. A project without
	// such budgets is stored in an older format.
	Chain []Node
	Group string // ID of the group that the project belongs to; empty: the deployment itself
	// Soft says that the budget and the limits per budget period are counted, but do not stop requests. A project without
	// it is stored in an older format.
	Soft bool
	// Limits are counted per budget period. A project without limits is stored in an older format.
	Limits PeriodLimits
	// Restrictions are the lists of models of the deployment and the groups above the project, from the deployment down.
	Restrictions []Restriction
	// GroupArchived reports whether a group above the project is archived. The project's keys are then rejected.
	GroupArchived bool
	// Path numbers the paths that the project has had. It grows when the nodes above the project change, or what counts
	// there. 0: nothing has ever been above the project.
	Path uint64
	// Paths are the last MaxPaths paths, oldest first. The last one is the present one.
	Paths []Path
}

// path returns the project's chain and the entries of its own limits.
func (p *Project) path() []Node {
	nodes := slices.Clip(p.Chain)
	for u := Requests; u < units; u++ {
		if p.Limits.Of(u) > 0 {
			nodes = append(nodes, Node{ID: p.ID, Unit: u, Cycle: p.Cycle, Epoch: p.Epoch, Soft: p.Soft})
		}
	}
	return nodes
}

// Alerts is the webhook for budget alerts. If the URL is empty, no alerts are sent.
type Alerts struct {
	URL    string
	Secret []byte // the signing key, which is the decoded whsec_ secret of Standard Webhooks
}

// Period returns the budget period that contains a day.
func (p *Project) Period(day uint64) calendar.Period {
	return calendar.NewPeriod(p.Cycle, p.Epoch, day)
}

// Encode returns the stored form.
func (p *Project) Encode() []byte {
	var w abi.Writer
	format := uint64(projectFormat)
	switch { // older instances read the older formats
	case len(p.Chain) > 0 || p.Group != "" || p.Limits != PeriodLimits{} || len(p.Restrictions) > 0 || p.GroupArchived || p.Path > 0 || p.Soft:
	case p.RecordProviderErrors:
		format = 6
	default:
		format = 5
	}
	_ = p.fields(abi.WriteTo(&w), &format)
	return w.Buf
}

// DecodeProject decodes the stored form.
func DecodeProject(data []byte) (p Project, err error) {
	r := abi.Reader{Buf: data}
	format := uint64(0)
	if err := p.fields(abi.ReadFrom(&r), &format); err != nil {
		return Project{}, err
	}
	return p, r.End()
}

func (p *Project) fields(f *abi.Fields, format *uint64) error {
	if f.Uint(format); *format == 0 || *format > projectFormat {
		return abi.ErrMalformed
	}
	f.String(&p.ID)
	f.String(&p.Name)
	f.String(&p.Plan)
	f.String(&p.Region)
	f.Int(&p.BudgetPico)
	f.Uint(&p.CacheTTLSeconds)
	f.Uint(&p.CreatedMs)
	f.Uint(&p.KeyCount)
	if *format >= 2 {
		f.Uint(&p.Revision)
		f.Bool(&p.Archived)
		abi.Enum(f, &p.Cycle)
		f.Uint(&p.Epoch)
		f.String(&p.Alerts.URL)
		f.Bytes(&p.Alerts.Secret)
		if err := p.policyField(f); err != nil {
			return err
		}
	}
	if *format >= 3 {
		f.Bool(&p.Unbounded)
	}
	cacheField(f, &p.Cache, *format >= 4, p.CacheTTLSeconds)
	if *format >= 5 {
		f.String(&p.Contact)
	}
	if *format >= 6 {
		f.Bool(&p.RecordProviderErrors)
	}
	if *format >= 7 {
		p.treeFields(f)
	}
	return nil
}

// treeFields lists the fields that only a project with several budgets has.
func (p *Project) treeFields(f *abi.Fields) {
	f.String(&p.Group)
	chainField(f, &p.Chain)
	p.Limits.fields(f)
	restrictionsField(f, &p.Restrictions)
	f.Flags(&p.GroupArchived, &p.Soft)
	f.Uint(&p.Path)
	PathsField(f, &p.Paths)
}

func (p *Project) policyField(f *abi.Fields) (err error) {
	var encoded []byte
	if !f.Reading() {
		encoded = p.Policy.Encode()
	}
	if f.Bytes(&encoded); f.Reading() {
		p.Policy, err = DecodePolicy(encoded)
	}
	return err
}
