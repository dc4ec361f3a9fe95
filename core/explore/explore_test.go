package explore_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var out = flag.String("found", "", "a folder: counter-examples are written there, one file each")

func TestExplore(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			x := explore(s)
			t.Logf("%d states, %d edges, %d ends, %v; %v", len(x.nodes), len(x.edges), x.ends, time.Since(began).Round(time.Millisecond), s.alphabet)
			if unused := s.unused(); len(unused) > 0 {
				t.Errorf("never happened: %q", unused)
			}
			for i, f := range x.findings {
				t.Errorf("%s", f.what)
				if *out == "" {
					if i == 0 {
						t.Log("\n" + f.transcript)
					}
					continue
				}
				name := strings.Map(word, s.name+"-"+f.what)
				if err := os.WriteFile(filepath.Join(*out, name[:min(len(name), 120)]+".txt"), []byte(f.transcript), 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// word makes a file's name of a text.
func word(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}
