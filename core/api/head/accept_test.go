package head_test

import (
	"strings"
	"testing"

	"github.com/postern-ai/postern/core/api/head"
)

func spacePadded(text string, length int) string { return text + strings.Repeat(" ", length-len(text)) }

// htmlByAccept says for each Accept header whether it chooses HTML.
var htmlByAccept = map[string]bool{
	"":                                   false,
	"*/*":                                false,
	"text/html":                          true,
	"TEXT/Html":                          true,
	" text/html ; charset=utf-8 ":        true,
	"text/*":                             true,
	"text/plain":                         false,
	"text/htmlx":                         false,
	"application/json":                   false,
	"application/*":                      false,
	"text/html, application/json":        false,
	"text/html;q=0.9, application/json":  false,
	"text/html, application/json;q=0.9":  true,
	"text/html, application/*;q=0.9":     true,
	"text/html;q=0.5, */*;q=0.4":         true,
	"text/html;q=0.5, */*":               false,
	"*/*, text/html;q=0.5":               false,
	"*/*;q=0.1, text/*;q=0.2":            true,
	"text/html;q=0.2, text/*, */*;q=0.1": true,
	"text/*, text/html;q=0.1, */*;q=0.5": false,
	"text/html;q=0.9":                    true,
	"text/html;q=0":                      false,
	"text/html, application/json;q=0":    true,
	// Among equally specific ranges, the highest q applies.
	"text/html;q=0.1, text/html;q=0.8, text/html;q=0.2, */*;q=0.5": true,
	// Browsers send these headers.
	"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8":                                  true,
	"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8": true,
	// These headers test the grammar of q.
	"text/html;q=1.000, */*;q=0.999":               true,
	"text/html;q=0.002, */*;q=0.001":               true,
	"text/html;q=0.02, */*;q=0.01":                 true,
	"text/html;q=0.1, */*;q=0.09":                  true,
	"text/html;q=0.":                               false,
	"text/html;q=1.":                               true,
	"text/html;Q=0.2, */*;q=0.1":                   true,
	"text/html; level=1 ; q = 0.2 , */*;q=0.1":     true,
	"text/html;q=0.2;q=0, */*;q=0.1":               true,
	"text/html;q=1.001":                            false,
	"text/html;q=2":                                false,
	"text/html;q=0.0001":                           false,
	"text/html;q=0.5000":                           false,
	"text/html;q=-1":                               false,
	"text/html;q=":                                 false,
	"text/html;q":                                  false,
	"text/html;q=.5":                               false,
	"text/html;q=0./":                              false,
	"text/html;q=0.:":                              false,
	"text/html;q=00":                               false,
	"text/html;q=high, text/html;q=0.2":            true,
	"text/html;q=0.2, application/json;q=1.5":      true,
	",,;q=1, ;, text/html;;, =,/":                  true,
	"\"text/html,\", text/html":                    true,
	"*/html":                                       false,
	"*":                                            false,
	spacePadded("text/html", 4096):                 true,
	spacePadded("text/html", 4097):                 false,
	strings.Repeat(",", 4096):                      false,
	strings.Repeat("*/*,", 1020) + "text/html;q=1": false,
}

func TestPrefersHTML(t *testing.T) {
	for accept, want := range htmlByAccept {
		if got := head.PrefersHTML(accept); got != want {
			t.Errorf("PrefersHTML(%.100q) is %t", accept, got)
		}
	}
}
