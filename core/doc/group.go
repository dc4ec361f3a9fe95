package doc

import (
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
)

// Group is the Directory's document of a group of projects, under GroupKey. The deployment's own document has the ID
// Root and no parent.
type Group struct {
	ID         string
	Name       string
	Parent     string // ID of the group above; Root for a group below the deployment
	Budgeted   bool   // the group has a budget
	BudgetPico int64  // per budget period
	Cycle      calendar.Cycle
	Epoch      uint64 // how often the cycle was changed
	Limits     PeriodLimits
	Soft       bool     // the budget and the limits are counted, but do not stop requests
	Models     []string // models and tiers that the keys below may use; empty: all
	Archived   bool     // no project may enter it
	HideNames  bool     // only of the root: refusals do not contain names of groups
	Alerts     Alerts
	CreatedMs  uint64
	Revision   uint64 // counts changes
	// Lowered is the last revision that lowered the budget or a limit.
	Lowered uint64
	// Applied is the revision that all projects below have in their chains.
	Applied uint64
	// Delivered is a revision that the meters of all keys below have. There may be a later one.
	Delivered uint64
}

// MaxGroups limits the groups of a deployment.
const MaxGroups = 1000

// MaxDepth is the number of groups that may be on the path of a project: a department and a team.
const MaxDepth = 2

// groupFormat is the format of stored groups.
const groupFormat = 1

// AllGroups is the prefix of GroupKey.
const AllGroups = "g/"

// GroupKey returns the Directory's key of a group's document.
func GroupKey(id string) string { return AllGroups + id }

// Period returns the budget period that contains a day.
func (g *Group) Period(day uint64) calendar.Period { return calendar.NewPeriod(g.Cycle, g.Epoch, day) }

// Stops reports whether the group's budget or one of its limits stops requests.
func (g *Group) Stops() bool { return !g.Soft && (g.Budgeted || g.Limits != PeriodLimits{}) }

// Nodes returns the group's entries in the chains of the projects below it, one for each unit that stops requests.
func (g *Group) Nodes() (nodes []Node) {
	for u := Dollars; u < units && !g.Soft; u++ {
		if u == Dollars && g.Budgeted || g.Limits.Of(u) > 0 {
			nodes = append(nodes, Node{ID: g.ID, Name: g.Name, Unit: u, Cycle: g.Cycle, Epoch: g.Epoch, Lowered: g.Lowered})
		}
	}
	return nodes
}

// Encode returns the stored form.
func (g *Group) Encode() []byte { return abi.EncodeFields(groupFormat, 128, g.fields) }

// DecodeGroup decodes the stored form.
func DecodeGroup(data []byte) (g Group, err error) {
	r := abi.Reader{Buf: data}
	if r.Uint() != groupFormat {
		return Group{}, abi.ErrMalformed
	}
	g.fields(abi.ReadFrom(&r))
	return g, r.End()
}

func (g *Group) fields(f *abi.Fields) {
	f.String(&g.ID)
	f.String(&g.Name)
	f.String(&g.Parent)
	f.Flags(&g.Budgeted, &g.Soft, &g.Archived, &g.HideNames)
	f.Int(&g.BudgetPico)
	g.Limits.fields(f)
	abi.List(f, &g.Models, (*abi.Fields).String)
	abi.Enum(f, &g.Cycle)
	f.Uint(&g.Epoch)
	f.String(&g.Alerts.URL)
	f.Bytes(&g.Alerts.Secret)
	f.Uint(&g.CreatedMs)
	f.Uint(&g.Revision)
	f.Uint(&g.Lowered)
	f.Uint(&g.Applied)
	f.Uint(&g.Delivered)
}
