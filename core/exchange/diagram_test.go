package exchange_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/exchange"
)

const (
	architecture = "../../docs/project/architecture.md"
	diagramHead  = "<!-- diagram: written by make generate from core/exchange/machine.go -->\n"
	diagramEnd   = "<!-- end of the diagram -->\n"
)

// TestDiagram compares the phase diagram with the table of rows.
func TestDiagram(t *testing.T) {
	text, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), diagramHead)
	_, after, ok := strings.Cut(rest, diagramEnd)
	if !ok {
		t.Fatalf("%s has no diagram", architecture)
	}
	want := before + diagramHead + "```mermaid\n" + diagram() + "```\n" + diagramEnd + after
	if want == string(text) {
		return
	}
	if !*rewrite {
		t.Fatalf("the diagram in %s differs from the table; run `make generate`", architecture)
	}
	if err := os.WriteFile(architecture, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// diagram draws the table for Mermaid. A box is a phase. A rounded box is a set of phases that several rows lead to.
// An arrow is labeled with its inputs. The last phase is not drawn as a target, because nearly every row may end the
// request.
func diagram() string {
	arrows, order := map[string][]string{}, []string(nil)
	draw := func(from, to, input string) {
		arrow := node(from) + ">" + node(to)
		if arrows[arrow] == nil {
			order = append(order, arrow)
		}
		arrows[arrow] = append(arrows[arrow], input)
	}
	next := exchange.Next()
	for i, row := range exchange.Rows() {
		if phase, input, _ := strings.Cut(row, "/"); input != "disconnect" && !strings.Contains(phase, ":") {
			for _, to := range grouped(next[i], "") {
				draw(phase, to, input)
			}
		}
	}
	for _, set := range exchange.SharedNext() {
		for _, to := range grouped(set.Phases, set.Name) {
			draw(set.Name, to, "")
		}
	}
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for _, set := range exchange.SharedNext() {
		b.WriteString("  " + node(set.Name) + "([" + set.Name + "])\n")
	}
	for _, arrow := range order {
		from, to, _ := strings.Cut(arrow, ">")
		label := strings.Join(arrows[arrow], ", ")
		if label != "" {
			label = "|" + label + "|"
		}
		b.WriteString("  " + from + " -->" + label + " " + to + "\n")
	}
	return b.String()
}

// node returns a Mermaid node for a name. The identifier has a prefix, because Mermaid reserves words such as "end".
func node(name string) string {
	return "p_" + strings.NewReplacer("-", "_", " ", "_").Replace(name) + labelOf(name)
}

func labelOf(name string) string {
	for _, set := range exchange.SharedNext() {
		if set.Name == name {
			return ""
		}
	}
	return "[" + name + "]"
}

// grouped replaces phases with the shared sets that they contain completely. It begins with the largest set. It does
// not use the set named except, and it leaves out "done".
func grouped(phases []string, except string) (names []string) {
	rest := slices.Clone(phases)
	sets := exchange.SharedNext()
	slices.Reverse(sets)
	for _, set := range sets {
		inside := func(p string) bool { return slices.Contains(phases, p) }
		left := func(p string) bool { return p != "done" && slices.Contains(rest, p) }
		if set.Name != except && len(set.Phases) <= len(phases) && !slices.ContainsFunc(set.Phases, func(p string) bool { return !inside(p) }) && slices.ContainsFunc(set.Phases, left) {
			names = append(names, set.Name)
			rest = slices.DeleteFunc(rest, func(p string) bool { return slices.Contains(set.Phases, p) })
		}
	}
	for _, p := range rest {
		if p != "done" {
			names = append(names, p)
		}
	}
	return names
}
