package conformance

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

type scoreboard struct {
	mu            sync.Mutex
	passed, total map[string]int
}

func (b *scoreboard) count(host string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.total == nil {
		b.passed, b.total = map[string]int{}, map[string]int{}
	}
	b.total[host]++
	if ok {
		b.passed[host]++
	}
}

// print writes to standard output, so `go test` in this directory shows the line even without -v.
func (b *scoreboard) print() {
	hosts := []string{"workerd", "wazero", "serve"}
	passed, total, each := 0, 0, []string{}
	for _, host := range hosts {
		passed, total, each = passed+b.passed[host], total+b.total[host], append(each, fmt.Sprint(host, " ", b.passed[host]))
	}
	fmt.Fprintf(os.Stdout, "fault tests: %d of %d passed (%s)\n", passed, total, strings.Join(each, ", "))
}

// rowInMode is a test of the scoreboard.
type rowInMode struct {
	row  *faultRow
	mode string
}

// run runs the rows on a host.
func (b *scoreboard) run(t *testing.T, host string, start func(*testing.T, *Upstream) *Runner) {
	var all []rowInMode
	for i := range faultRows {
		for _, mode := range faultRows[i].modes.list() {
			all = append(all, rowInMode{&faultRows[i], mode})
		}
	}
	inLanes(t, start, all, func(r *Runner, one rowInMode) {
		if one.row.name == trapRow && r.Native {
			return // Go does not trap
		}
		t.Run(one.row.name+"/"+one.mode, func(t *testing.T) {
			defer func() { b.count(host, !t.Failed()) }()
			for i := range callers {
				if callers[i].translated && (one.mode == "non-stream" || one.row.routing != "") {
					continue // skipped to save time, because the families without translation cover it
				}
				t.Run(callers[i].name, func(t *testing.T) { runRow(t, r, one.row, &callers[i], one.mode == "stream") })
			}
		})
	})
}
