package reports

import (
	"context"
	"sync/atomic"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/keymeter"
	"github.com/postern-ai/postern/core/ledger"
)

// FlushMeters makes meters report their unreported usage to the ledger, and returns the ledger's report. It waits
// briefly for requests that are being settled and for leases to be reported. If nothing can be written, for example
// because the disk is full, the report contains only what the ledger already has.
func FlushMeters(ctx context.Context, cp *kernel.Plane, p *directory.Project) (ledger.ReportReply, error) {
	command := ledger.Report{Waited: true}
	for pauses := 0; ; pauses++ {
		report, err := ledgerReport(ctx, cp, p, command.Encode())
		if err != nil {
			break
		}
		if len(report.Flush) == 0 {
			return report, nil
		}
		open, err := flushOnce(ctx, cp, p, report.Flush)
		if err != nil || open == 0 || pauses == len(keymeter.SettleWaitMs) {
			break
		}
		if err := cp.Store.Wait(ctx, keymeter.SettleWaitMs[pauses]); err != nil {
			return report, err
		}
	}
	command.Final = true
	return ledgerReport(ctx, cp, p, command.Encode())
}

// FlushBelow makes the meters below a group report, and their projects' Ledgers, also of projects that have left the
// group. It covers at most kernel.MaxUpdatedKeys keys, where a project without keys counts as one; complete is false if
// there are more.
func FlushBelow(ctx context.Context, cp *kernel.Plane, group string) (complete bool, err error) {
	ids, err := cp.Store.ReportersBelow(ctx, group)
	if err != nil {
		return false, err
	}
	projects, complete, err := cp.Store.Reporters(ctx, ids)
	if err != nil {
		return false, err
	}
	return complete, kernel.Parallel(projects, func(p directory.Project) error {
		if _, err := FlushMeters(ctx, cp, &p); err != nil {
			return err
		}
		return cp.Store.ForwardUsage(ctx, &p)
	})
}

// flushOnce flushes meters and returns the total number of requests and leases that are still open.
func flushOnce(ctx context.Context, cp *kernel.Plane, p *directory.Project, meters []string) (uint64, error) {
	var open atomic.Uint64
	flush := keymeter.Flush{}
	err := kernel.Parallel(meters, func(meter string) error {
		reply, err := cp.Store.Objects.Call(ctx, abi.ClassKeyMeter, meter, p.Region, flush.Encode())
		if err != nil {
			return nil // not an error, because the meter will report later on its own
		}
		flushed, err := cp.Store.DeliverFlushed(ctx, p, reply)
		open.Add(flushed.Open)
		return err
	})
	return open.Load(), err
}

func ledgerReport(ctx context.Context, cp *kernel.Plane, p *directory.Project, command []byte) (report ledger.ReportReply, err error) {
	reply, err := cp.Store.Objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, command)
	if err != nil {
		return report, kernel.Unavailable(err)
	}
	return ledger.DecodeReportReply(reply)
}
