package reports

import (
	"context"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
)

// OutcomesView contains the number of requests for each outcome. Causes has the number of requests that were not
// served for each cause. Causes without requests are left out.
type OutcomesView struct {
	Served  uint64            `json:"served"`
	Refused uint64            `json:"refused"`
	Failed  uint64            `json:"failed"`
	Left    uint64            `json:"left"`
	Causes  map[string]uint64 `json:"causes"`
}

// Causes are the API's names for the values of ledger.End.
var Causes = ledger.EndNames

func viewOutcomes(u *ledger.Usage, o *ledger.Outcomes) OutcomesView {
	v := OutcomesView{Served: o.Served, Refused: o.Refused, Failed: o.Failed, Left: o.Left, Causes: map[string]uint64{}}
	for end, n := range u.Ends.By {
		if n > 0 {
			v.Causes[Causes[end]] = n
		}
	}
	return v
}

// EndGroups reads all pages of a query for requests that were not served, and calls add for each group.
func EndGroups(ctx context.Context, cp *kernel.Plane, p *directory.Project, q ledger.Query, add func(*ledger.Group) error) error {
	query := ledger.EndsQuery{Query: q}
	for query.After = ""; ; {
		reply, err := cp.Store.Objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, query.Encode())
		if err != nil {
			return kernel.Unavailable(err)
		}
		part, err := ledger.DecodeEndsReply(reply)
		if err != nil {
			return err
		}
		for i := range part.Groups {
			if err := add(&part.Groups[i]); err != nil {
				return err
			}
		}
		if part.Next == "" {
			return nil
		}
		query.After = part.Next
	}
}
