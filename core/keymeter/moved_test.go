package keymeter_test

import (
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/calendar"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/keymeter"
)

// TestMovedMeter checks which rows of a meter may move to another deployment, and whose Ledgers the meter calls.
func TestMovedMeter(t *testing.T) {
	w, _ := funded(t, "wide", doc.KeyBudget{Budgeted: true, BudgetPico: 10, Cycle: calendar.Monthly}, 10, 10, 5)
	w.give("grp_2#requests", calendar.Monthly, 10)
	k := w.place("key_1", "wide", "root", "grp_2#requests", "proj_1")
	meter := abi.Row{Key: "h", Value: k.Rows["h"]}
	if err := keymeter.CheckMoved(meter, "proj_1"); err != nil {
		t.Error(err)
	}
	for _, row := range []abi.Row{{Key: "h", Value: []byte{99}}, {Key: "o/1"}, {Key: "unknown"}} {
		if keymeter.CheckMoved(row, "proj_1") == nil {
			t.Errorf("%q may move", row)
		}
		if nodes := keymeter.MovedNodes(row); len(nodes) > 0 {
			t.Errorf("%q has the nodes %q", row, nodes)
		}
	}
	if keymeter.CheckMoved(meter, "proj_2") == nil {
		t.Error("the meter of another project may move")
	}
	nodes := keymeter.MovedNodes(meter)
	if slices.Sort(nodes); !slices.Equal(nodes, []string{"grp_1", "grp_2", "root"}) {
		t.Errorf("the nodes are %q", nodes)
	}
}
