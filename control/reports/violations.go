package reports

import (
	"context"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
)

// Violations reads a page of a project's violations.
func Violations(ctx context.Context, cp *kernel.Plane, p *directory.Project, command *ledger.Violations) (page ledger.ViolationsReply, err error) {
	reply, err := cp.Store.Objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, command.Encode())
	if err != nil {
		return page, kernel.Unavailable(err)
	}
	return ledger.DecodeViolations(reply)
}
